"""What a DistributedStrategy asks for, as a plan: pure."""
