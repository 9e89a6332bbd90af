"""Jobs of 1.x with parameter servers."""
