"""Fleet: one interface to distributed training."""
