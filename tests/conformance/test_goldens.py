"""Every golden case gives what real Paddle 3.3.1 gave: values, dtypes, shapes, gradients, classes
of errors.
"""

import builtins
import functools
import importlib
import pkgutil

import numpy as np
import pytest

import paddle
from goldens import cases as families
from goldens import harness

FAMILIES = [info.name for info in pkgutil.iter_modules(families.__path__)]
ALL = [
    pytest.param(family, name, id=f"{family}-{name}")
    for family in FAMILIES
    for name in importlib.import_module(f"goldens.cases.{family}").cases.items
]


@functools.cache
def _stored(family):
    return harness.load(family)


@pytest.mark.parametrize(("family", "name"), ALL)
@pytest.mark.filterwarnings("ignore")
def test_equals_paddle(family, name):
    case = importlib.import_module(f"goldens.cases.{family}").cases.items[name]
    arrays, index = _stored(family)
    draw = harness.Draw(name)
    if case.raises:
        with pytest.raises(getattr(builtins, index[name]["raises"])):
            case.run(paddle, draw)
        return
    with np.errstate(all="ignore"):
        problems = harness.compare(case, case.run(paddle, draw), arrays, index[name])
    assert not problems, "\n".join(problems)


def test_covers_enough():
    assert len(ALL) >= 350


def test_stays_small():
    assert sum(path.stat().st_size for path in harness.DATA.glob("*.npz")) < 10 * 2**20
