"""A program as bytes, and back: data only, nothing that could run when it is read.

    argosy-program 1\n          what the file is, and the version of the layout
    <sha256 of the rest>\n      so that a torn or changed file is noticed
    JSON                        {"seed", "blocks": [{"parent", "vars": [...], "ops": [...]}],
    "extra": {...}}

In JSON, a value without a form of its own is a list whose first item names its kind: ``["ref",
"x"]``, ``["dtype", "float32"]``, ``["list", ...]``, ``["tuple", ...]``, ``["slice", start, stop,
step]``, ``["block", index, results]``, ``["array", dtype, shape, base64]``. Ops are named as in the
op table.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, NotSupported, UsageError
from argosy.static.files.decode import Node, add_variable, operator_of, parsed
from argosy.static.files.paddle import read as paddle_files
from argosy.static.files.verify import verify_loaded
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Number, Operator, Ref, SubBlock
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Kind, Parameter, Variable, offset_samples

_MAGIC = b"argosy-program 1\n"
_DEEPEST_BLOCK = 32  # branches and loops inside of one another
_PROTOBUF = b"\x0a"  # the first field of Paddle's ProgramDesc, its blocks
_JSON = b"{"  # what Paddle 3 writes by default


class ForeignProgram(NotSupported, CheckpointError):
    """A program in a format of Paddle's that is not read."""


def dumps(program: Program, extra: dict[str, Any] | None = None) -> bytes:
    """Serialise ``program``, with ``extra`` plain data beside it."""
    blocks = [
        {
            "parent": block.parent_idx,
            "vars": [_packed_variable(v) for v in block.vars.values()],
            "ops": [_packed_operator(o) for o in block.ops if not o.is_mark],
        }
        for block in program.blocks
    ]
    body = json.dumps(
        {"seed": program.random_seed, "blocks": blocks, "extra": extra or {}}
    ).encode()
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def loads(data: bytes, source: str) -> tuple[Program, dict[str, Any]]:
    """Read what ``dumps`` or Paddle wrote, with what stands beside it; ``source`` names it in
    messages.
    """
    if not isinstance(data, bytes):
        raise UsageError(f"{source} must be bytes, but is a {type(data).__name__}")
    if not data.startswith(_MAGIC):
        return _foreign(data, source)
    digest, _, body = data[len(_MAGIC) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise CheckpointError(
            f"{source} is damaged or cut short: its checksum does not fit its contents"
        )
    root = parsed(body, source).fields(("seed", "blocks", "extra"))
    program = Program()
    program.is_loaded = True
    program.seed = root["seed"].integer()
    _fill(program, root["blocks"])
    verify_loaded(program, source)
    return program, {key: node.value for key, node in root["extra"].entries().items()}


def refuse_json(path: str) -> None:
    """Raise if a program of Paddle 3 stands where there is no ``path``."""
    other = os.path.splitext(path)[0] + ".json"
    if os.path.isfile(other):
        with open(other, "rb") as file:
            loads(file.read(1), repr(other))


def _foreign(data: bytes, source: str) -> tuple[Program, dict[str, Any]]:
    if data.startswith(_JSON):
        raise ForeignProgram(
            f"{source} is a program in the JSON of Paddle 3, which is not read here; save it "
            "there again with the environment variable FLAGS_enable_pir_api=0, as .pdmodel"
        )
    if not data.startswith(_PROTOBUF):
        raise CheckpointError(f"{source} is not a program that argosy or Paddle saved")
    program, feeds, fetches = paddle_files.loads(data, source)
    return program, {"feeds": feeds, "fetches": fetches} if feeds or fetches else {}


def extra_names(program: Program, extra: dict[str, Any], key: str, source: str) -> list[str]:
    """The list of variables of ``program`` that stands under ``key`` beside it."""
    node = Node(extra.get(key), source, key=f"extra.{key}")
    known = program.global_block().vars
    for item in node.items():
        if item.name() not in known:
            raise item.refused("the name of a variable of the program")
    return node.names()


def _fill(program: Program, node: Node) -> None:
    blocks = [item.fields(("parent", "vars", "ops")) for item in node.items()]
    if not blocks:
        raise node.refused("a list of one block or more")
    depths: list[int] = []
    for index, fields in enumerate(blocks):  # a block stands behind the one around it
        parent = fields["parent"].integer(*((0, index - 1) if index else (-1, -1)))
        depths.append(depths[parent] + 1 if index else 0)
        if depths[-1] > _DEEPEST_BLOCK:
            raise fields["parent"].refused(f"a block at most {_DEEPEST_BLOCK - 1} deep")
    program.blocks = [Block(program, i, fields["parent"].value) for i, fields in enumerate(blocks)]
    for block, fields in zip(program.blocks, blocks, strict=True):
        _fill_block(block, fields)


def _fill_block(block: Block, fields: dict[str, Node]) -> None:
    for node in fields["vars"].items():
        add_variable(block, node)
    for name in {name for v in block.vars.values() for name in v.lod_names if name in block.vars}:
        block.vars[name].define(Kind(*offset_samples()))
    block.ops = [operator_of(block, node) for node in fields["ops"].items()]


def _packed_variable(variable: Variable) -> dict[str, Any]:
    packed = {
        "name": variable.name,
        "shape": list(variable.shape),
        "dtype": dtypes.name_of(variable.raw.dtype),
        "persistable": bool(variable.persistable),
        "stop_gradient": variable.stop_gradient,
        "is_data": bool(variable.is_data),
        "lod": list(variable.lod_names),
    }
    if isinstance(variable, Parameter):
        packed["parameter"] = {
            "rate": float(variable.optimize_attr["learning_rate"]),
            "need_clip": bool(variable.need_clip),
        }
    return packed


def _packed_operator(operator: Operator) -> dict[str, Any]:
    try:
        args, kwargs = (
            [_packed(a) for a in operator.args],
            {k: _packed(v) for k, v in operator.kwargs.items()},
        )
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
