"""Real processes: the warm pool and the tests that need it."""
