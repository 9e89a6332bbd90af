"""The promise as a command: a job that is killed ends as if nothing had happened."""
