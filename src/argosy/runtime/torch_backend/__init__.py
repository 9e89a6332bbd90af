"""The backend ``argosy`` of torch.distributed."""
