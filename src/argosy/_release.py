"""The version of argosy: the one place where it stands. Both distributions are built from it."""

VERSION = "0.1.0"
