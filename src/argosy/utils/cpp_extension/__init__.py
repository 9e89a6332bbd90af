"""``paddle.utils.cpp_extension``: operators of C++, which are not supported.

Packages name these functions in modules that they always import, and most of their users never
build an operator. So the import only warns; building or loading is the error.
"""

from __future__ import annotations

import warnings

from argosy.utils.cpp_extension.cpp_extension import (
    BuildExtension,
    CppExtension,
    CUDAExtension,
    load,
    setup,
)
from argosy.utils.cpp_extension.extension_utils import (
    get_build_directory,
    load_op_meta_info_and_register_op,
    parse_op_info,
)

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "get_build_directory",
    "load",
    "load_op_meta_info_and_register_op",
    "parse_op_info",
    "setup",
]

warnings.warn(
    "paddle.utils.cpp_extension: operators of C++ are not supported; what builds or loads one "
    "raises an error",
    stacklevel=2,
)
