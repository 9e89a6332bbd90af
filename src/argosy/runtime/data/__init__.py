"""Training data in the multi-slot text format: reading, parsing, shuffling, batching. Raw NumPy;
knows no face.
"""
