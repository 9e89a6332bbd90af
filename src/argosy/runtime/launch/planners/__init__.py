"""From a placement to the processes of this host. Pure."""
