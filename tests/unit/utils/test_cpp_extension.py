"""Operators of C++: packages that name them can be imported, building one is refused."""

import importlib

import pytest

from argosy.foundation.errors import NotSupported


@pytest.fixture
def cpp_extension():
    with pytest.warns(UserWarning, match=r"operators of C\+\+ are not supported"):
        module = importlib.reload(importlib.import_module("argosy.utils.cpp_extension"))
    return module


def test_a_package_may_derive_its_build_step(cpp_extension):
    class Build(cpp_extension.BuildExtension):
        pass

    with pytest.raises(NotSupported, match="PyLayer"):
        Build()
    with pytest.raises(NotSupported, match="with_options"):
        Build.with_options(no_python_abi_suffix=True)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("CppExtension", [["relu.cc"]]),
        ("CUDAExtension", [["relu.cu"]]),
        ("load", ["relu", ["relu.cc"]]),
        ("setup", []),
        ("load_op_meta_info_and_register_op", ["librelu.so"]),
        ("parse_op_info", ["relu"]),
        ("get_build_directory", []),
    ],
)
def test_nothing_is_built_or_loaded(cpp_extension, name, args):
    with pytest.raises(NotSupported, match=rf"cpp_extension\.{name}: operators of C\+\+"):
        getattr(cpp_extension, name)(*args)
