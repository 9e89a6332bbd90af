"""Examples are the same in every run, and an example may be slow where the machine is."""

from hypothesis import settings

settings.register_profile("argosy", derandomize=True, deadline=None, database=None)
settings.load_profile("argosy")
