"""A server process: its tables behind an Arrow Flight service."""
