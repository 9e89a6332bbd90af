"""Converting functions: Python control flow becomes calls that may record branches and loops."""
