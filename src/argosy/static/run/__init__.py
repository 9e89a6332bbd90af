"""Runs of lowered programs: the Executor, readers, datasets."""
