"""Commands that look at a job from another terminal, while it runs or afterwards."""
