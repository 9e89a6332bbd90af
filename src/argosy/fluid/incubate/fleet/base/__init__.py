"""Role makers and what the Fleets of 1.x have in common."""
