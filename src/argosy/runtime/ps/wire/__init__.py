"""What servers and workers say to each other, and who may speak."""
