"""What a job is doing, what slows it, why it died: seen from the launcher and from outside."""
