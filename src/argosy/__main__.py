"""``python -m argosy``: the command ``argosy``."""

from argosy.command import script

if __name__ == "__main__":
    script()
