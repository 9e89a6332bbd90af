"""Tools for parameter servers: ``python -m argosy.ps inspect``."""
