"""The ways in which the ranks of a group exchange tensors."""
