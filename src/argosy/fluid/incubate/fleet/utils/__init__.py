"""Tools of the Fleet of 1.x: file systems and metrics over workers."""
