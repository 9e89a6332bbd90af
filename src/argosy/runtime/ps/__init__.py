"""Parameter servers: tables of rows by id, on raw arrays."""
