"""``paddle.utils.cpp_extension.cpp_extension``: building operators, refused."""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.utils.cpp_extension.extension_utils import refused

__all__: list[str] = []

CUDA_HOME: str | None = None  # nothing is compiled, so no toolkit is looked for


class BuildExtension:
    """The build step of a package with operators; scripts make subclasses of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise refused("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> NoReturn:
        raise refused("BuildExtension.with_options")


def CppExtension(sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise refused("CppExtension")


def CUDAExtension(sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise refused("CUDAExtension")


def setup(**attr: Any) -> NoReturn:
    raise refused("setup")


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise refused("load")
