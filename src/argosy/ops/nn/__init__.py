"""What layers of networks compute."""
