"""Every golden case of ``paddle.fluid`` gives what real Paddle 1.8.5 gave: values, dtypes, shapes,
gradients, names, errors.
"""

import builtins
import functools
import importlib
import pkgutil

import numpy as np
import pytest

import paddle.fluid as fluid
from goldens import cases_fluid as families
from goldens import harness

FAMILIES = [info.name for info in pkgutil.iter_modules(families.__path__)]
ALL = [
    pytest.param(family, name, id=f"{family}-{name}")
    for family in FAMILIES
    for name in importlib.import_module(f"goldens.cases_fluid.{family}").cases.items
]


@functools.cache
def _stored(family):
    return harness.load(family)


@pytest.mark.parametrize(("family", "name"), ALL)
@pytest.mark.filterwarnings("ignore")
def test_equals_paddle(family, name):
    cases = importlib.import_module(f"goldens.cases_fluid.{family}").cases
    case = cases.items[name]
    arrays, index = _stored(cases.family)
    with fluid.dygraph.guard(), np.errstate(all="ignore"):
        if case.raises:
            with pytest.raises(getattr(builtins, index[name]["raises"])):
                case.run(fluid, harness.Draw(name))
            return
        problems = harness.compare(case, case.run(fluid, harness.Draw(name)), arrays, index[name])
    assert not problems, "\n".join(problems)


def test_covers_enough():
    assert len(ALL) >= 130
