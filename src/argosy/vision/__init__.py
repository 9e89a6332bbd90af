"""Images: transforms, datasets, and how they are read from files."""

from argosy.vision import datasets, transforms
from argosy.vision.image import get_image_backend, image_load, set_image_backend

__all__ = ["set_image_backend", "get_image_backend", "image_load"]
