"""Files of programs that mean harm: each hole by itself."""

from __future__ import annotations

import _strptime  # noqa: F401  which C code will ask for
import hashlib
import json
import os
from time import strptime

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import CheckpointError, ProgramError, UsageError
from argosy.static.files import programs
from argosy.static.lower import source
from argosy.static.lower.emitter import Emitter

MAGIC = b"argosy-program 1\n"


def sealed(tree) -> bytes:
    body = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def stored():
    """The JSON of a small program: relu of x, and a constant."""
    x = paddle.static.data("x", [2])
    main = paddle.static.default_main_program()
    paddle.nn.functional.relu(x) + paddle.full([2], 1.0)
    return json.loads(main.desc.serialize_to_string().split(b"\n", 2)[2])


def loaded(tree):
    return paddle.static.Program.parse_from_string(sealed(tree))


def operator(tree, op):
    return next(o for o in tree["blocks"][0]["ops"] if o["op"] == op)


HOSTILE_KEYS = [
    # a call with code in it, and an end that fits
    "**(__import__('os').mkdir('owned') or {})) if 1 else f0(x",
    "x=(open('owned','w'))",
    "approximate=__import__('os').mkdir('owned') or 'none', y",
    "__class__",
    "lambda",
    "",
    "out",
    "x y",
]


@pytest.mark.attack("code as the name of an operator's argument in a model file")
@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_a_key_of_an_argument_is_a_parameter_of_the_op(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree = stored()
    operator(tree, "relu")["kwargs"][key] = 1
    with pytest.raises(ProgramError, match=r"operator \d 'relu'.* has an argument"):
        paddle.static.Executor().run(loaded(tree), feed={"x": np.ones(2, "float32")})
    assert os.listdir() == []


@pytest.mark.attack(
    "code as the name of an operator's argument in a model file, past the check of files"
)
@pytest.mark.parametrize("key", HOSTILE_KEYS[:6])
def test_the_emitter_refuses_what_is_no_name(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = paddle.static.data("x", [2])
    y = paddle.nn.functional.relu(x)
    main = paddle.static.default_main_program()
    main.global_block().ops[0].kwargs[key] = 1
    with pytest.raises(ProgramError, match="no name of a parameter"):
        paddle.static.Executor().run(main, feed={"x": np.ones(2, "float32")}, fetch_list=[y])
    assert os.listdir() == []


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "v0 = c1.__class__",
        "v0 = open('owned', 'w')",
        "v0 = f1(*feeds)",
        "v0 = f1(**state)",
        "v0 = 'text'",
        "v0 = [v1 for v1 in feeds]",
        "v0 = lambda: 1",
        "v0 = f1(__init__=1)",
        "v0 = print",
        "v0 = __import__",
        "v0 = __builtins__",
        "v0 = feeds[0]",
        "for v0 in feeds: pass",
        "global v0",
    ],
)
def test_the_text_of_a_function_has_few_words(text):
    with pytest.raises(ProgramError):
        source.compiled(f"def run(feeds, state):\n    {text}\n", "<program>", {"c1": 1, "f1": int})


def test_a_function_has_no_builtins():
    run = source.compiled("def run(feeds, state):\n    return f1(2)\n", "<program>", {"f1": float})
    assert run((), ()) == 2.0
    # for the engine's own modules; the text has no word for it
    assert list(run.__builtins__) == ["__import__"]
    assert run.__builtins__["__import__"]("torch.linalg").__name__ == "torch"
    with pytest.raises(ImportError, match="may not import 'antigravity'"):
        run.__builtins__["__import__"]("antigravity")


def test_the_engine_can_load_its_modules_from_a_function():
    """C code imports through the builtins of the Python function that called it."""
    run = source.compiled(
        "def run(feeds, state):\n    return f1(c1, c2)\n",
        "<program>",
        {"f1": strptime, "c1": "7", "c2": "%d"},
    )
    assert run((), ()).tm_mday == 7


def test_text_of_a_program_is_constants_and_invented_names(tmp_path):
    """Names, messages and strings of a program do not reach its text."""
    nasty = "x'); import os; ("
    x = paddle.static.data(nasty, [None, 3])
    y = paddle.static.Print(paddle.einsum("ij->ji", x), message="'); import os; ('")
    main = paddle.static.default_main_program()
    again = paddle.static.Program.parse_from_string(main.desc.serialize_to_string())
    emitter = Emitter(
        again.global_block(),
        list(again.global_block().ops),
        [nasty],
        [y.name],
        paddle.CPUPlace().device,
    )
    lowered = emitter.emit()
    assert "import" not in lowered.source
    assert "'" not in lowered.source
    given = np.ones((2, 3), "float32")
    [value] = paddle.static.Executor().run(again, feed={nasty: given}, fetch_list=[y.name])
    assert value.shape == (3, 2)


@pytest.mark.attack("a model file that names an op with a Python function")
def test_py_func_cannot_come_from_a_file():
    tree = stored()
    operator(tree, "relu").update(op=None, type="py_func", kwargs={"func": "os.system"})
    with pytest.raises(ProgramError, match="is of no type that a file may have"):
        loaded(tree)


def test_no_op_of_the_table_takes_a_function_or_a_path():
    """What a file can name is the op table: tensors, numbers, and words that choose between ways to
    compute.
    """
    import inspect

    from argosy.ops import table

    for name in table.names():
        for parameter in table.get(name).signature.parameters.values():
            assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD, name
            assert "Callable" not in str(parameter.annotation), name
            assert not any(
                word in parameter.name for word in ("file", "func", "callback", "dirname")
            ), name


# -- sizes and references
# ---------------------------------------------------------------------------------------------


@pytest.mark.attack("a model file whose constant has 10^12 elements")
def test_a_huge_constant_is_refused():
    tree = stored()
    operator(tree, "full")["args"][0] = ["list", 10**12]
    with pytest.raises(
        ProgramError,
        match=r"operator \d 'fill_constant'.* would make 4000000000000 bytes; 17179869184 are",
    ):
        loaded(tree)


@pytest.mark.attack("a model file whose optimizer state is smaller than its parameters")
@pytest.mark.parametrize("rule", ["Adam", "AdamW", "Momentum", "SGD", "Adagrad"])
def test_updates_of_a_file_fit_their_parameters(rule):
    """torch's fused kernels compare no sizes: these would write over the memory of others."""
    x = paddle.static.data("x", [None, 300])
    loss = paddle.static.nn.fc(x, 200).mean()
    getattr(paddle.optimizer, rule)(0.1).minimize(loss)
    main, exe = paddle.static.default_main_program(), paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    update = next(
        o for o in main.global_block().ops if o.role == "optimize" and o.op.traits.mutates
    )
    tree = json.loads(main.desc.serialize_to_string().split(b"\n", 2)[2])
    args = next(o for o in tree["blocks"][0]["ops"] if o["op"] == update.op.name)["args"]
    last = max(
        i
        for i, a in enumerate(args)
        if isinstance(a, list) and a[0] == "list" and len(a) > 1
        if update.op.params[i] not in update.op.traits.alike
    )
    args[last][1:] = reversed(args[last][1:])  # of the weight in place of the bias
    feed = {"x": np.ones((2, 300), "float32")}
    exe.run(main, feed=feed)
    with pytest.raises(ProgramError, match="must be like the parameters"):
        exe.run(loaded(tree), feed=feed)
    args[last][1:] = reversed(args[last][1:])
    for index, name in enumerate(update.op.params):
        if name in update.op.traits.alike:
            right = args[index]
            for wrong in (args[2], [*right[:-1]]):
                args[index] = wrong
                with pytest.raises(ProgramError, match="must hold one number for each"):
                    exe.run(loaded(tree), feed=feed)
            args[index] = right


def looping():
    x = paddle.static.data("x", [1])
    paddle.static.nn.while_loop(lambda i: i < 3.0, lambda i: [i + 1.0], [x * 1.0])
    paddle.static.nn.cond(x.sum() > 0, lambda: x + 1.0, lambda: x - 1.0)
    return json.loads(
        paddle.static.default_main_program().desc.serialize_to_string().split(b"\n", 2)[2]
    )


def special(tree, kind):
    return next(o for o in tree["blocks"][0]["ops"] if o["type"] == kind)


def change_parent(tree):
    tree["blocks"][1]["parent"] = 2


def run_own_block(tree):
    special(tree, "while")["kwargs"]["sub_block"][1] = 0


def run_block_out_of_range(tree):
    special(tree, "while")["kwargs"]["sub_block"][1] = 99


def run_block_of_another(tree):
    special(tree, "cond")["kwargs"]["branches"][1][1] = special(tree, "while")["kwargs"][
        "sub_block"
    ][1]


def run_block_twice(tree):
    branches = special(tree, "cond")["kwargs"]["branches"]
    branches[1] = branches[2]


def forget_captured(tree):
    special(tree, "cond")["args"][1] = ["list"]


def drop_branch(tree):
    del special(tree, "cond")["kwargs"]["branches"][-1]


def name_nobody(tree):
    tree["blocks"][0]["ops"][0]["args"][0] = ["ref", "nobody"]


def declare_twice(tree):
    tree["blocks"][0]["vars"].append(tree["blocks"][0]["vars"][0])


def hide_outer(tree):
    tree["blocks"][1]["vars"].append(tree["blocks"][0]["vars"][0])


def nest_deep(tree):
    for _ in range(2000):
        tree["blocks"].append({"parent": len(tree["blocks"]) - 1, "vars": [], "ops": []})


@pytest.mark.parametrize(
    "change",
    [
        change_parent,
        run_own_block,
        run_block_out_of_range,
        run_block_of_another,
        run_block_twice,
        forget_captured,
        drop_branch,
        name_nobody,
        declare_twice,
        hide_outer,
        nest_deep,
    ],
)
def test_references_that_lead_nowhere_are_refused(change):
    tree = looping()
    loaded(tree)
    change(tree)
    with pytest.raises((CheckpointError, ProgramError)):
        loaded(tree)


def test_an_op_of_another_kind_does_not_pass_for_a_backward():
    tree = stored()
    operator(tree, "relu")["type"] = "backward"
    with pytest.raises(ProgramError, match="has the type of an operator of its own kind"):
        loaded(tree)


# -- JSON
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"[" * 100_000, "no JSON that can be read"),
        (b'{"seed": 1, "seed": 2, "blocks": [], "extra": {}}', "names an entry twice"),
        (b'{"seed": ' + b"9" * 5000 + b', "blocks": [], "extra": {}}', "no JSON that can be read"),
        (
            b'{"seed": 99999999999999999999999, "blocks": [], "extra": {}}',
            "seed must be an integer from",
        ),
        (b'{"seed": NaN, "blocks": [], "extra": {}}', "seed must be an integer"),
        (b'{"seed": true, "blocks": [], "extra": {}}', "seed must be an integer"),
        (b'{"seed": 0, "blocks": [], "extra": {}}', "blocks must be a list of one block or more"),
        (b'{"seed": 0, "blocks": {}, "extra": {}}', "blocks must be a list, but is a dict"),
        (b'{"seed": 0, "blocks": [7], "extra": {}}', r"blocks\[0\] must be an object"),
        (
            b'{"seed": 0, "blocks": [{"parent": 0, "vars": [], "ops": []}], "extra": {}}',
            r"blocks\[0\].parent must be",
        ),
        (b'{"seed": 0, "blocks": []}', "extra is missing"),
        (b"\xff\xfe", "no JSON that can be read"),
        (b"null", "must be an object"),
    ],
)
def test_json_is_read_strictly(body, match):
    with pytest.raises(CheckpointError, match=match):
        loaded(body)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([], "begins with the kind"),
        (["os.system", "true"], "must be one of list, tuple"),
        (["ref"], "a ref of 1 items"),
        (["ref", "a\nb"], "without control characters"),
        (["ref", "a" * 1001], "a name of 1 to 1000"),
        (["ref", "\ud800"], "must be text"),
        (["dtype", "object"], "must be one of bool"),
        (["array", "|O", [1], "AAAAAAAAAAA="], "must be one of"),
        (["array", "<f4", [2**40], ""], "the shape of an array of 0 bytes"),
        (["array", "<f4", [1], "####"], "bytes in base64"),
        (["slice", 0, [], 1], "an integer"),
        (["block", -1, []], "an integer from 1"),
        ({"a": 1}, "a list"),
        (2**64, "an integer from"),
    ],
)
def test_values_are_read_strictly(value, match):
    tree = stored()
    operator(tree, "relu")["args"][0] = value
    with pytest.raises(CheckpointError, match=rf"blocks\[0\].ops\[\d\].args\[0\].*{match}"):
        loaded(tree)


def test_values_nest_at_most_so_deep():
    value = ["list"]
    for _ in range(200):
        value = ["list", value]
    tree = stored()
    operator(tree, "relu")["args"][0] = value
    with pytest.raises(CheckpointError, match="at most 64 values deep"):
        loaded(tree)


def test_odd_values_that_scripts_record_come_back():
    x = paddle.static.data("x", [None, 4])
    y = paddle.clip(x, -float("inf"), float("inf"))[:, ::2]
    z = y * paddle.to_tensor(np.array([1.0, 2.0], "float32"))
    main = paddle.static.default_main_program()
    again = paddle.static.Program.parse_from_string(main.desc.serialize_to_string())
    feed = {"x": np.arange(8, dtype="float32").reshape(2, 4)}
    exe = paddle.static.Executor()
    np.testing.assert_array_equal(
        exe.run(again, feed=feed, fetch_list=[z.name])[0],
        exe.run(main, feed=feed, fetch_list=[z])[0],
    )


def test_a_file_does_not_seed_the_process():
    main = paddle.static.default_main_program()
    main.random_seed = 7
    data = main.desc.serialize_to_string()
    paddle.disable_static()
    paddle.seed(1)
    expected = paddle.rand([3]).tolist()
    paddle.seed(1)
    assert paddle.static.Program.parse_from_string(data).random_seed == 7
    assert paddle.rand([3]).tolist() == expected
    paddle.enable_static()


@pytest.mark.parametrize("names", [None, "x", [7], ["nobody"], [["x"]]])
def test_what_a_model_feeds_and_fetches_are_its_variables(names):
    x = paddle.static.data("x", [2])
    y = paddle.nn.functional.relu(x)
    exe = paddle.static.Executor()
    own = programs.dumps(x.block.program, {"feeds": ["x"], "fetches": [y.name]})
    tree = json.loads(own.split(b"\n", 2)[2])
    for key in ("feeds", "fetches"):
        changed = {**tree, "extra": {**tree["extra"], key: names}}
        with pytest.raises(CheckpointError, match=f"extra.{key}"):
            paddle.static.load_inference_model(
                None, exe, model_filename=sealed(changed), params_filename=b""
            )


# -- names that are paths
# ---------------------------------------------------------------------------------------------

OUTSIDE = ["../outside", "/{folder}/outside", "a/../../outside", "..", "C:\\outside"]


def kept(name):
    block = paddle.static.default_main_program().global_block()
    variable = block.create_var(name=name, shape=[2], dtype="float32", persistable=True)
    paddle.static.global_scope().var(name).get_tensor().set(np.ones(2, "float32"))
    return variable


@pytest.mark.attack("a variable whose name leads out of the model's folder")
@pytest.mark.parametrize("pattern", OUTSIDE)
def test_names_of_variables_stay_in_their_folder(pattern, tmp_path):
    name = pattern.format(folder=str(tmp_path).lstrip("/"))
    inner = tmp_path / "model"
    inner.mkdir()
    fine = kept("fine")
    exe = paddle.static.Executor()
    paddle.static.save_vars(exe, str(tmp_path), vars=[fine])
    (tmp_path / "fine").rename(tmp_path / "outside")
    before = (tmp_path / "outside").read_bytes()
    paddle.static.global_scope().find_var("fine").get_tensor().set(np.zeros(2, "float32"))
    hostile = kept(name)
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        paddle.static.save_vars(exe, str(inner), vars=[fine, hostile])
    assert os.listdir(inner) == []
    assert (tmp_path / "outside").read_bytes() == before
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        paddle.static.load_vars(exe, str(inner), vars=[hostile])
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        paddle.static.load_program_state(str(inner), var_list=[hostile])
    paddle.static.save_vars(exe, str(inner), vars=[fine])
    for call in (paddle.fluid.io.save_persistables, paddle.fluid.io.load_persistables):
        with pytest.raises(CheckpointError, match="leads out of the folder"):
            call(exe, str(inner), paddle.static.default_main_program())


@pytest.mark.attack("a model file with a variable whose name leads out of the model's folder")
def test_a_model_of_a_folder_reads_files_of_that_folder(tmp_path):
    x = paddle.static.data("x", [2])
    w = paddle.static.create_parameter([2], "float32", name="w")
    y = x * w
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    folder = tmp_path / "model"
    paddle.fluid.io.save_inference_model(str(folder), ["x"], [y], exe)
    (folder / "w").rename(tmp_path / "w")
    own = programs.dumps(x.block.program, {"feeds": ["x"], "fetches": [y.name]})
    body = own.split(b"\n", 2)[2]
    (folder / "__model__").write_bytes(sealed(body.replace(b'"w"', b'"../w"')))
    with pytest.raises(CheckpointError, match=r"'\.\./w' leads out of the folder"):
        paddle.fluid.io.load_inference_model(str(folder), exe)


@pytest.mark.parametrize("device", ["meta", "hpu", "privateuseone:0", "os", 7])
def test_values_stay_on_known_places(device):
    tree = stored()
    operator(tree, "relu").update(op="to_device", args=[["ref", "x"], device])
    with pytest.raises(ProgramError, match="a file may name cpu and cuda only"):
        loaded(tree)


@pytest.mark.parametrize(
    "change",
    [
        {"op": "cast", "args": [["ref", "x"], ["dtype", "float8_e5m2"]]},
    ],
)
def test_what_has_no_array_is_refused_as_a_fetch(change):
    tree = stored()
    operator(tree, "relu").update(change)
    name = tree["blocks"][0]["ops"][0]["out"][1]
    with pytest.raises(UsageError, match=r"Executor.run: a fetch is"):
        paddle.static.Executor().run(
            loaded(tree), feed={"x": np.ones(2, "float32")}, fetch_list=[name], use_prune=True
        )


def test_errors_of_ops_at_run_are_ours():
    """Whatever an op raises about what a file gives it is told with the operator."""
    tree = stored()
    operator(tree, "add")["args"][1] = "text"
    program = loaded(tree)
    name = operator(tree, "add")["out"][1]
    with pytest.raises(UsageError, match=r"Executor.run: operator \d 'elementwise_add'"):
        paddle.static.Executor().run(program, feed={"x": np.ones(2, "float32")}, fetch_list=[name])
