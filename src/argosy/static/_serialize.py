"""A program as bytes, and back: data only, nothing that could run when it is read.

    argosy-program 1\n          what the file is, and the version of the layout
    <sha256 of the rest>\n      so that a torn or changed file is noticed
    JSON                        {"seed", "blocks": [{"parent", "vars": [...], "ops": [...]}], "extra": {...}}

In JSON, a value without a form of its own is a list whose first item names its kind: ``["ref", "x"]``, ``["dtype", "float32"]``,
``["list", ...]``, ``["tuple", ...]``, ``["slice", start, stop, step]``, ``["block", index, results]``, ``["array", dtype, shape, base64]``. Ops are named as in the op table.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, NotSupported
from argosy.ops import table
from argosy.static._block import Block
from argosy.static._operator import Number, Operator, Ref, SubBlock
from argosy.static._program import Program
from argosy.static._variable import Parameter, Variable, offset_samples, samples

_MAGIC = b"argosy-program 1\n"
_PROTOBUF = b"\x0a"  # the first field of Paddle's ProgramDesc, its blocks


class ForeignProgram(NotSupported, CheckpointError):
    """A program that real Paddle wrote."""


def dumps(program: Program, extra: dict[str, Any] | None = None) -> bytes:
    """Serialise ``program``, with ``extra`` plain data beside it."""
    blocks = [
        {
            "parent": block.parent_idx,
            "vars": [_packed_variable(v) for v in block.vars.values()],
            "ops": [_packed_operator(o) for o in block.ops],
        }
        for block in program.blocks
    ]
    body = json.dumps({"seed": program.random_seed, "blocks": blocks, "extra": extra or {}}).encode()
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def loads(data: bytes, source: str) -> tuple[Program, dict[str, Any]]:
    """Read what ``dumps`` wrote; ``source`` names it in messages."""
    if not data.startswith(_MAGIC):
        if data.startswith(_PROTOBUF):
            raise ForeignProgram(
                f"{source} is a program of real Paddle (protobuf), which argosy does not read; "
                "of Paddle's own files those with parameters can be read: build the program and load its variables"
            )
        raise CheckpointError(f"{source} is not a program that argosy saved")
    digest, _, body = data[len(_MAGIC) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise CheckpointError(f"{source} is damaged or cut short: its checksum does not fit its contents")
    stored = json.loads(body)
    program = Program()
    program.random_seed = stored["seed"]
    program.blocks = [Block(program, i, block["parent"]) for i, block in enumerate(stored["blocks"])]
    for block, packed in zip(program.blocks, stored["blocks"], strict=True):
        for variable in packed["vars"]:
            _unpack_variable(block, variable)
        for name in {name for v in block.vars.values() for name in v._lod if name in block.vars}:
            block.vars[name]._t, block.vars[name]._alt = offset_samples()
        block.ops = [_unpacked_operator(block, operator, source) for operator in packed["ops"]]
    return program, stored["extra"]


def _packed_variable(variable: Variable) -> dict[str, Any]:
    packed = {
        "name": variable.name,
        "shape": list(variable.shape),
        "dtype": dtypes.name_of(variable._t.dtype),
        "persistable": variable.persistable,
        "stop_gradient": variable.stop_gradient,
        "is_data": variable.is_data,
        "lod": list(variable._lod),
    }
    if isinstance(variable, Parameter):
        packed["parameter"] = {"rate": float(variable.optimize_attr["learning_rate"]), "need_clip": variable.need_clip}
    return packed


def _unpack_variable(block: Block, packed: dict[str, Any]) -> None:
    own = packed.pop("parameter", None)
    if own is None:
        lod = tuple(packed.pop("lod"))
        block.create_var(**packed)._lod = lod
        return
    first, _ = samples(packed["shape"], dtypes.to_torch(packed["dtype"]))
    parameter = block._add(Parameter(block, packed["name"], first, not packed["stop_gradient"]))
    parameter.optimize_attr = {"learning_rate": own["rate"]}
    parameter.need_clip = own["need_clip"]


def _packed_operator(operator: Operator) -> dict[str, Any]:
    try:
        args, kwargs = [_packed(a) for a in operator.args], {k: _packed(v) for k, v in operator.kwargs.items()}
    except NotSupported as error:
        raise NotSupported(f"saving a program: {operator.describe()}: {error}") from error
    return {
        "type": operator.type,
        "op": None if operator.op is None else operator.op.name,
        "args": args,
        "kwargs": kwargs,
        "out": _packed(operator.out),
        "role": operator.role,
        "name_scope": operator.name_scope,
        "where": operator.where,
        "device": operator.device,
    }


def _unpacked_operator(block: Block, packed: dict[str, Any], source: str) -> Operator:
    name = packed["op"]
    if name is not None and name not in table.names():
        raise CheckpointError(f"{source} uses the op {name!r}, which this version does not have")
    return Operator(
        block,
        packed["type"],
        None if name is None else table.get(name),
        tuple(_unpacked(a) for a in packed["args"]),
        {k: _unpacked(v) for k, v in packed["kwargs"].items()},
        _unpacked(packed["out"]),
        packed["role"],
        packed["name_scope"],
        packed["where"],
        packed["device"],
    )


def _packed(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Ref):
        return ["ref", value.name]
    if isinstance(value, Number):
        return ["number", value.name, value.scale]
    if isinstance(value, SubBlock):
        return ["block", value.index, list(value.results)]
    if isinstance(value, (list, tuple)):
        return ["list" if isinstance(value, list) else "tuple", *[_packed(v) for v in value]]
    if isinstance(value, torch.dtype):
        return ["dtype", dtypes.name_of(value)]
    if isinstance(value, torch.device):
        return ["device"]
    if isinstance(value, slice):
        return ["slice", value.start, value.stop, value.step]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        raw = np.ascontiguousarray(value)
        return ["array", raw.dtype.str, list(value.shape), base64.b64encode(raw.tobytes()).decode()]
    raise NotSupported(f"an attribute of type {type(value).__name__} has no form in a file")


def _unpacked(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, items = value[0], value[1:]
    if kind == "list":
        return [_unpacked(v) for v in items]
    if kind == "tuple":
        return tuple(_unpacked(v) for v in items)
    if kind == "array":
        dtype, shape, text = items
        return np.frombuffer(base64.b64decode(text), np.dtype(dtype)).reshape(shape).copy()
    return _READERS[kind](*items)


_READERS: dict[str, Any] = {
    "ref": Ref,
    "number": Number,
    "dtype": dtypes.to_torch,
    "device": lambda: torch.device("cpu"),  # any: a run puts its own in place
    "slice": slice,
    "block": lambda index, results: SubBlock(index, tuple(results)),
    "ellipsis": lambda: Ellipsis,
    "complex": complex,
}
