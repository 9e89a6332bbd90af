"""Every golden case of one op, recorded into a program: values, dtypes and gradients equal real
Paddle 3.3.1's.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import DtypeError, ProgramError
from argosy.tensor.engine import wrap
from goldens import cases as families
from goldens import harness


def _op_cases():
    for info in pkgutil.iter_modules(families.__path__):
        for name, case in importlib.import_module(f"goldens.cases.{info.name}").cases.items.items():
            if not case.raises and case.run.__qualname__.startswith("Cases.op."):
                yield pytest.param(info.name, name, id=f"{info.name}-{name}")


ALL = list(_op_cases())

# The face reads these arguments as numbers, so a program cannot take them from a variable.
NEEDS_VALUES = {"common-pad by tensor", "common-interpolate by tensor"}

# Paddle checks these dtypes while a program is recorded, and not when it computes at once.
REFUSED = {
    *("loss-mse_int", "loss-hinge_layer"),
    *(f"reduction-{op}_{kind}" for op in ("std", "var") for kind in ("int32", "int64")),
    *(f"reduction-{op}_{kind}_axis" for op in ("std", "var") for kind in ("int32", "int64")),
}


@functools.cache
def _stored(family):
    return harness.load(family)


def _run_recorded(paddle, fn, arrays, grad):
    """As ``harness.run_op``, through a program."""
    feed, leaves = {}, []

    def variable(a):
        if isinstance(a, list):
            return [variable(v) for v in a]
        if not isinstance(a, np.ndarray):
            return a
        name = f"input{len(feed)}"
        feed[name] = a
        out = paddle.static.data(name, a.shape, str(a.dtype))
        if grad and a.dtype.kind in "fc":
            out.stop_gradient = False
            leaves.append(out)
        return out

    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        out = fn(paddle, *[variable(a) for a in arrays])
        # The weights need shapes, which values decide here and there.
        is_known = not any(-1 in t.shape for t in harness._tensors(out))
        total = _weighted_sum(paddle, out) if grad and is_known else None
        grads = paddle.static.gradients(total, leaves) if total is not None else None
    main.verify()
    fetches = [harness._tensors(out), [g for g in grads or () if g is not None]]
    fetched = paddle.static.Executor().run(main, feed, fetches, return_numpy=False)
    found = (wrap(value.raw_tensor()) for value in fetched)  # bfloat16 is no dtype of NumPy's
    result = {"out": _filled(out, found)}
    if total is not None:
        result["grad"] = [None if g is None else next(found) for g in grads]
    return result


def _weighted_sum(paddle, out):
    rng = np.random.RandomState(7)
    terms = []
    for t in harness._tensors(out):
        weight = rng.uniform(0.5, 1.5, [int(n) for n in t.shape])
        if "float" in str(t.dtype) and not t.stop_gradient:
            terms.append((t * paddle.to_tensor(weight).astype(t.dtype)).sum())
        elif "complex" in str(t.dtype) and not t.stop_gradient:
            terms.append(
                (paddle.as_real(t) * paddle.to_tensor(weight.astype("float32")).unsqueeze(-1)).sum()
            )
    return (
        functools.reduce(lambda a, b: a + b, [t.astype("float64") for t in terms])
        if terms
        else None
    )


def _filled(out, found):
    if isinstance(out, (list, tuple)):
        return [_filled(v, found) for v in out]
    if isinstance(out, dict):
        return {k: _filled(out[k], found) for k in sorted(out)}
    return next(found) if hasattr(out, "stop_gradient") else out


@pytest.mark.parametrize(("family", "name"), ALL)
@pytest.mark.filterwarnings("ignore")
def test_recorded_op_equals_paddle(family, name, monkeypatch):
    case = importlib.import_module(f"goldens.cases.{family}").cases.items[name]
    arrays, index = _stored(family)
    monkeypatch.setattr(harness, "run_op", _run_recorded)
    paddle.enable_static()
    try:
        with np.errstate(all="ignore"):
            result = case.run(paddle, harness.Draw(name))
    except ProgramError:
        assert f"{family}-{name}" in NEEDS_VALUES
        return
    except DtypeError:
        assert f"{family}-{name}" in REFUSED
        return
    finally:
        paddle.disable_static()
    # Autograd tells only at run time that nothing flows: a program has zeros then.
    for i, grad in enumerate(result.get("grad", ())):
        if (
            grad is not None
            and index[name].get(f"/grad/{i}", "None") == "None"
            and not np.any(grad.numpy())
        ):
            result["grad"][i] = None
    expected = index[name]
    if all(grad is None for grad in result.get("grad", ())):
        result.pop("grad", None)
        expected = {path: dtype for path, dtype in expected.items() if not path.startswith("/grad")}
    problems = harness.compare(case, result, arrays, expected)
    assert not problems, "\n".join(problems)


# Calls that are right only for the size that the case has, or whose result has another rank or
# fewer elements for it:
# a program declares what holds for a large batch.
NEEDS_SIZE = {
    "common-temporal_shift",
    "common-temporal_shift nhwc",
    "common-temporal_shift ratio",
    "creation-diag_matrix_-1",
    "creation-diag_matrix_0",
    "indexing-get_beyond",
    "indexing-get_mask_and_int",
    "indexing-get_mask_array",
    "indexing-get_mask_matrix",
    "indexing-get_mask_rows",
    "indexing-iterate",
    "linalg-diagonal",
    "manipulation-slice_beyond",
    "manipulation-squeeze_all",
    "manipulation-squeeze_empty_list",
    "manipulation-squeeze_list",
    "manipulation-squeeze_one",
    "manipulation-squeeze_tuple",
    "manipulation-tensor_split_beyond",
    "manipulation-unbind",
    "manipulation-unstack",
    *(  # as many rows as there are ids
        f"geometric-segment_{how}{kind}"
        for how in ("sum", "mean", "max", "min")
        for kind in ("", "_ties", "_int")
    ),
}


def _batched_cases():
    """Cases with one array of at least two dimensions."""
    for param in ALL:
        family, name = param.values
        case = importlib.import_module(f"goldens.cases.{family}").cases.items[name]
        make = dict(zip(case.run.__code__.co_freevars, case.run.__closure__, strict=True))[
            "inputs"
        ].cell_contents
        arrays = make(harness.Draw(name))
        only = arrays[0] if isinstance(arrays, tuple) and len(arrays) == 1 else arrays
        if (
            isinstance(only, np.ndarray)
            and only.ndim > 1
            and len(only)
            and param.id not in NEEDS_SIZE
        ):
            yield param


@pytest.mark.parametrize(("family", "name"), list(_batched_cases()))
@pytest.mark.filterwarnings("ignore")
def test_an_unknown_first_dimension_is_inferred(family, name, monkeypatch):
    """With one input whose first dimension is unknown, the shapes declared for the results are
    those of a run, or -1.
    """

    def run(paddle, fn, arrays, grad):
        [array] = arrays
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            out = fn(paddle, paddle.static.data("x", [None, *array.shape[1:]], str(array.dtype)))
        variables = harness._tensors(out)
        for variable, value in zip(
            variables, paddle.static.Executor().run(main, {"x": array}, variables), strict=True
        ):
            assert len(variable.shape) == value.ndim
            assert all(n in (-1, m) for n, m in zip(variable.shape, value.shape, strict=True))
        return None

    case = importlib.import_module(f"goldens.cases.{family}").cases.items[name]
    monkeypatch.setattr(harness, "run_op", run)
    paddle.enable_static()
    try:
        with np.errstate(all="ignore"):
            case.run(paddle, harness.Draw(name))
    except DtypeError:
        assert f"{family}-{name}" in REFUSED
    finally:
        paddle.disable_static()
