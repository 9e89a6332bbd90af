"""Running on several processes: raw torch tensors, no knowledge of the face."""
