"""From a program to one Python function over torch tensors."""
