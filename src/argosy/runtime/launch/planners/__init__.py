"""From a roster to the processes of this host. Pure."""
