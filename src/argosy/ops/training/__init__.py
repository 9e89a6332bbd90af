"""What a training step does with gradients and parameters."""
