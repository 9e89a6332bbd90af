"""Store what Paddle's files say of each type of operator: slots, attributes, their kinds and
defaults.

PATH_TO_PADDLE_2.6.2_VENV/bin/python tests/goldens/make_operator_protos.py first
PATH_TO_PADDLE_1.8.5_VENV/bin/python tests/goldens/make_operator_protos.py more

The first call writes ``static/files/paddle/operators.txt``; the second adds the types that were
given up later, which are read and not written.
"""

import functools
import json
import re
import sys
from pathlib import Path

try:
    from paddle.base import core
    from paddle.base.framework import OpProtoHolder
except ImportError:
    from paddle.fluid import core
    from paddle.fluid.framework import OpProtoHolder

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "src" / "argosy" / "static" / "files" / "paddle" / "operators.txt"

KINDS = """
    INT FLOAT STRING INTS FLOATS STRINGS BOOLEAN BOOLEANS BLOCK LONG BLOCKS LONGS FLOAT64S VAR
    VARS FLOAT64 SCALAR SCALARS
""".split()  # noqa: SIM905
# Operators of gradients, of passes, of other devices and of several processes.
LEFT_OUT = re.compile(
    r".*_grad|.*_grad2|.*_p|.*_xpu|.*_mkldnn|.*(fus|quant|push|pull|nccl|heter|hccl|bkcl).*|c_.*|"
    r"view_.*|as_strided|tensor_unfold|"  # programs have no kernels for views
    r"(send|recv|partial|distributed|dist|fake|moe|listen|fetch_b|prefetch|checkpoint|gen)_?.*"
)
# What an operator has in each of its types, and what says how it runs.
GENERAL = frozenset(
    """
    op_role op_role_var op_namescope op_callstack op_device with_quant_attr use_mkldnn use_cudnn
    use_quantizer mkldnn_data_type is_test_mkldnn
    """.split()  # noqa: SIM905
)


def default(kind, value):
    if value is not None and kind.startswith("FLOAT"):
        value = [round_f(v) for v in value] if isinstance(value, list) else round_f(value)
    return "" if value is None else "=" + json.dumps(value, separators=(",", ":"))


def round_f(value):
    return float(f"{value:.7g}")


def line(name, proto):
    try:
        defaults = core.get_op_attrs_default_value(name.encode())
    except Exception:  # a type without defaults
        defaults = {}
    attrs = []
    for attr in proto.attrs:
        if attr.name in GENERAL or getattr(attr, "extra", False):
            continue
        value = defaults.get(attr.name)
        kind = KINDS[attr.type]
        if not isinstance(value, (bool, int, float, str, list, type(None))):
            value = None
        mark = "^" * getattr(attr, "support_tensor", False)
        attrs.append(f"{attr.name}:{kind}{mark}{default(kind, value)}")
    known = {attr.name for attr in proto.attrs}
    attrs += [
        f"{key}:{kind_of(value)}~{default(kind_of(value), value)[1:]}"
        for key, value in sorted(extra_attrs(name).items())
        if key not in known and key not in GENERAL
    ]
    inputs = [
        s.name + "*" * s.duplicable + "?" * s.dispensable
        for s in proto.inputs
        if not getattr(s, "extra", False)
    ]
    outputs = [
        s.name + "*" * s.duplicable + "?" * s.dispensable + "+" * getattr(s, "extra", False)
        for s in proto.outputs
    ]
    version = versions().get(name, 0)
    title = f"{name}@{version}" if version else name
    return "\t".join([title, " ".join(inputs), " ".join(outputs), *attrs])


@functools.lru_cache(maxsize=None)  # noqa: UP033  Paddle 1.8 runs on older Pythons
def versions():
    """The versions of types, as a saved program has them; 1.8.5 has none."""
    try:
        import paddle

        paddle.enable_static()
        x = paddle.static.data("x", [1])
        data = paddle.static.serialize_program([x], [x + 1.0])
        from paddle.base.proto import framework_pb2
    except (AttributeError, ImportError):
        return {}
    pairs = framework_pb2.ProgramDesc.FromString(data).op_version_map.pair
    return {pair.op_name: pair.op_version.version for pair in pairs}


def extra_attrs(name):
    """Attributes that say how an operator runs, or that only training reads: not in files for
    inference.
    """
    read = getattr(core, "get_op_extra_attrs", None)
    found = {} if read is None else read(name)
    return {k: v for k, v in found.items() if isinstance(v, (bool, int, float, str, list))}


def kind_of(value):
    if isinstance(value, list):
        return kind_of(value[0] if value else 0) + "S"
    names = {bool: "BOOLEAN", int: "INT", float: "FLOAT", str: "STRING"}
    return names[type(value)]


def main():
    protos = OpProtoHolder.instance().op_proto_map
    names = [n for n in sorted(protos) if not LEFT_OUT.fullmatch(n)]
    if sys.argv[1] == "first":
        lines = [line(n, protos[n]) for n in names]
    else:
        lines = PATH.read_text().splitlines()
        lines = [text for text in lines if not text.startswith("-")]
        known = {text.split("\t")[0].partition("@")[0] for text in lines}
        lines += ["-" + line(n, protos[n]) for n in names if n not in known]
    PATH.write_text("\n".join(lines) + "\n")
    print(len(lines), "types,", PATH.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main()
