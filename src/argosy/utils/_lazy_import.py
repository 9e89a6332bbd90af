"""Optional dependencies."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["try_import"]


def try_import(module_name: str, err_msg: str | None = None) -> ModuleType:
    """Import a module, or raise ImportError with ``err_msg`` or with how to install it."""
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        package = {"cv2": "opencv-python", "PIL": "Pillow", "sklearn": "scikit-learn"}.get(
            module_name, module_name
        )
        raise ImportError(
            err_msg
            or f"Failed importing {module_name}. It is an optional dependency: `pip install "
            f"{package}`."
        ) from error
