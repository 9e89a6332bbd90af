"""Jobs that are handed to a cluster's scheduler instead of being started here."""
