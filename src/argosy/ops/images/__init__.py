"""Ops on images."""
