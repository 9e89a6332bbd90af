"""Ops on images."""

from argosy.ops.images import image, resize, vision
