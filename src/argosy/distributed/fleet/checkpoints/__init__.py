"""Checkpoints of runs: what a job that is started again goes on from."""
