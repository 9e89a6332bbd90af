"""The examples in docstrings give what they say."""

import doctest
import importlib
import pkgutil
import warnings

import numpy as np
import pytest

import argosy
import paddle

# fluid has examples that need its guard; running a module as a script is not an example
SKIPPED = ("__main__",)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some packages say at the import what they refuse
    MODULES = [
        info.name
        for info in pkgutil.walk_packages(argosy.__path__, "argosy.")
        if not info.name.endswith(SKIPPED)
    ]


# what only some users install
EXTRAS = ("ray",)


def load(name):
    """The module; None if it needs a package that only some users install, and it is not there."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in EXTRAS:
            return None
        raise


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("fresh_programs")
def test_examples_of(name, monkeypatch):
    monkeypatch.setenv("CPU_NUM", "1")
    module = load(name)
    if module is None:
        pytest.skip(f"{name} needs a package that is not installed")
    paddle.seed(0)
    result = doctest.testmod(
        module,
        extraglobs={"paddle": paddle, "np": np},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    count = sum(
        len(test.examples) > 0
        for module in filter(None, map(load, MODULES))
        for test in finder.find(module)
    )
    assert count > 100
