"""Collective communication between the processes of a job."""
