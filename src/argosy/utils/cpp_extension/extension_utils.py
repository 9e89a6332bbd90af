"""``paddle.utils.cpp_extension.extension_utils``: loading a library of operators, refused."""

from __future__ import annotations

from typing import NoReturn

from argosy.foundation.errors import NotSupported

__all__: list[str] = []


def refused(call: str) -> NotSupported:
    """The error of every function here."""
    return NotSupported(
        f"paddle.utils.cpp_extension.{call}: operators of C++ are not supported.\n"
        "  Write a paddle.autograd.PyLayer, or an extension with torch.utils.cpp_extension that "
        "works on raw tensors."
    )


def load_op_meta_info_and_register_op(lib_filename: str) -> NoReturn:
    raise refused("load_op_meta_info_and_register_op")


def parse_op_info(op_name: str) -> NoReturn:
    raise refused("parse_op_info")


def get_build_directory(verbose: bool = False) -> NoReturn:
    raise refused("get_build_directory")


def _import_module_from_library(
    module_name: str, build_directory: str, verbose: bool = False
) -> NoReturn:
    raise refused("load")


def _jit_compile(file_path: str, verbose: bool = False) -> NoReturn:
    raise refused("load")
