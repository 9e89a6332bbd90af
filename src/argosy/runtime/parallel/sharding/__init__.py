"""Gradients, optimizer state and parameters split over ranks."""
