"""A worker's side: one client for all servers, and pulls and pushes by mode."""
