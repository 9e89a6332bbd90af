"""Losses, and what metrics count."""
