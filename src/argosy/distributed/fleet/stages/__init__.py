"""What a plan does to models and optimizers: of Layers, of torch and of programs."""
