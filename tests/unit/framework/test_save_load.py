"""paddle.save and paddle.load: round trips, atomic writing, the allow-list, torn files, errors."""

import collections
import io
import os
import pickle
import pickletools
import stat

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import CheckpointError, NotSupported, UsageError
from argosy.framework import io as files
from argosy.framework import pickles

X = np.arange(6, dtype="float32").reshape(2, 3)


def roundtrip(obj, **options):
    buffer = io.BytesIO()
    paddle.save(obj, buffer)
    buffer.seek(0)
    return paddle.load(buffer, **options)


def test_state_dict_round_trip(tmp_path):
    layer = paddle.nn.Linear(3, 2)
    path = str(tmp_path / "new" / "folder" / "m.pdparams")
    paddle.save(layer.state_dict(), path)
    state = paddle.load(path)
    assert {key: value.name for key, value in state.items()} == {
        "weight": layer.weight.name,
        "bias": layer.bias.name,
    }
    other = paddle.nn.Linear(3, 2)
    other.set_state_dict(state)
    np.testing.assert_array_equal(other.weight.numpy(), layer.weight.numpy())


def test_nested_round_trip_keeps_containers():
    t = paddle.to_tensor(X)
    back = roundtrip(
        {
            "a": [t, 1, "s"],
            "b": (t, None),
            "c": collections.OrderedDict(k=t),
            "d": {1.5, 2},
            "e": b"\x00\xff",
        }
    )
    assert type(back["c"]) is collections.OrderedDict
    assert back["d"] == {1.5, 2}
    assert back["e"] == b"\x00\xff"
    assert back["b"][1] is None
    for value in (back["a"][0], back["b"][0], back["c"]["k"]):
        np.testing.assert_array_equal(value.numpy(), X)


def test_arrays_beside_tensors_stay_arrays():
    back = roundtrip({"array": X, "tensor": paddle.to_tensor(X)})
    assert isinstance(back["array"], np.ndarray)
    assert isinstance(back["tensor"], paddle.Tensor)


def test_bfloat16_keeps_its_bits():
    t = paddle.to_tensor([1.0, -2.5, 3.140625], dtype="bfloat16")
    back = roundtrip({"w": t})["w"]
    assert back.dtype == paddle.bfloat16
    assert back.raw.tolist() == [1.0, -2.5, 3.140625]


def test_loaded_tensors_do_not_share_memory():
    t = paddle.to_tensor(X)
    back = roundtrip({"epoch": 1, "a": t, "b": t})
    back["a"].raw.zero_()
    np.testing.assert_array_equal(back["b"].numpy(), X)


def test_parameters_keep_no_gradient_flag():
    layer = paddle.nn.Linear(2, 2)
    assert roundtrip(layer.weight).stop_gradient


def test_writes_what_paddle_writes():
    """The opcodes are those of a plain dict of arrays: no class of ours is named in the file."""
    buffer = io.BytesIO()
    paddle.save({"epoch": 1, "w": paddle.to_tensor(X)}, buffer)
    texts = {arg for _, arg, _ in pickletools.genops(buffer.getvalue()) if isinstance(arg, str)}
    assert not [text for text in texts if "argosy" in text or "torch" in text]
    assert {"builtins", "tuple", "ndarray"} <= texts


def test_big_arrays_are_sliced_and_joined_for_old_protocols():
    arrays = {"w": X, "small": X[0], "n": {"w": 1}}
    sliced = files._slice_big(arrays, limit_bytes=16)
    assert [len(sliced[f"w@@.{i}"]) for i in range(2)] == [4, 2]
    assert sliced["UnpackBigParamInfor@@"] == {
        "w": {"OriginShape": (2, 3), "slices": ["w@@.0", "w@@.1"]}
    }
    files._join_slices(sliced, "the file")
    assert set(sliced) == set(arrays)
    np.testing.assert_array_equal(sliced["w"], X)


def test_binary_format_round_trip(tmp_path):
    for data in (X, np.float64(3.0), np.zeros((0, 4), "int32")):
        path = str(tmp_path / "t")
        paddle.save(paddle.to_tensor(data), path, use_binary_format=True)
        np.testing.assert_array_equal(paddle.load(path).numpy(), data)
        assert isinstance(paddle.load(path, return_numpy=True), np.ndarray)


def test_folder_of_variables(tmp_path):
    for name in ("fc.w_0", "part/fc.b_0"):
        paddle.save(paddle.to_tensor(X), str(tmp_path / "vars" / name), use_binary_format=True)
    loaded = paddle.load(str(tmp_path / "vars"))
    assert set(loaded) == {"fc.w_0", "part/fc.b_0"}
    np.testing.assert_array_equal(loaded["fc.w_0"], X)


def test_several_objects_in_one_buffer():
    buffer = io.BytesIO()
    paddle.save([1], buffer)
    paddle.save([2], buffer)
    buffer.seek(0)
    assert (paddle.load(buffer), paddle.load(buffer)) == ([1], [2])


# -- atomic writing


class Unpicklable:
    def __reduce__(self):
        raise RuntimeError("cannot be pickled")


def test_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "m.pd"
    paddle.save([1, 2], str(path))
    with pytest.raises(RuntimeError, match="cannot be pickled"):
        paddle.save([paddle.to_tensor(X), Unpicklable()], str(path))
    assert os.listdir(tmp_path) == ["m.pd"]
    assert paddle.load(str(path)) == [1, 2]


def test_failed_rename_leaves_nothing(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        paddle.save([1], str(tmp_path / "m.pd"))
    assert os.listdir(tmp_path) == []


def test_save_keeps_links_and_permissions(tmp_path):
    real = tmp_path / "real.pd"
    paddle.save([1], str(real))
    real.chmod(0o640)
    (tmp_path / "link.pd").symlink_to(real)
    paddle.save([2], str(tmp_path / "link.pd"))
    assert (tmp_path / "link.pd").is_symlink()
    assert paddle.load(str(real)) == [2]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_save_to_a_device():
    paddle.save([1], os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


# -- what load refuses


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


class Config:
    def __init__(self, lr):
        self.lr = lr


def test_refuses_a_global_by_name(tmp_path):
    path = tmp_path / "evil.pd"
    path.write_bytes(pickle.dumps({"w": Evil()}))
    with pytest.raises(CheckpointError, match=rf"{path.name}.*asks for \w+\.system"):
        paddle.load(str(path))


@pytest.mark.parametrize(
    "payload",
    [
        b"cbuiltins\neval\n(S'__import__(\"os\")'\n}tR.",
        b"c_codecs\nencode\n(V00\nVhex\ntR.",
        b"cbuiltins\ngetattr\n.",
        b"\x80\x04\x8c\x05numpy\x8c\x04load\x93.",
    ],
    ids=["eval", "codec", "getattr", "numpy.load"],
)
def test_refuses_what_paddle_never_writes(payload):
    with pytest.raises(CheckpointError):
        paddle.load(io.BytesIO(payload))


def test_reads_the_eval_that_paddle_writes_for_static_tensors():
    class Static:
        def __reduce__(self):
            return eval, ("data", {"data": X})

    buffer = io.BytesIO(pickle.dumps([Static()]))
    np.testing.assert_array_equal(paddle.load(buffer)[0].numpy(), X)


def test_reads_both_spellings_of_numpy():
    data = pickle.dumps({"w": X}, protocol=2)
    old, new = b"numpy.core.multiarray", b"numpy._core.multiarray"
    for wanted, other in ((old, new), (new, old)):
        text = data.replace(b"c" + other, b"c" + wanted)
        np.testing.assert_array_equal(paddle.load(io.BytesIO(text))["w"].numpy(), X)


def test_classes_can_be_admitted():
    buffer = io.BytesIO()
    paddle.save({"config": Config(0.5)}, buffer)
    buffer.seek(0)
    with pytest.raises(CheckpointError, match="add_safe_globals"):
        paddle.load(buffer)
    assert buffer.tell() == 0
    with pickles.safe_globals([Config]):
        assert paddle.load(buffer)["config"].lr == 0.5
    buffer.seek(0)
    with pytest.raises(CheckpointError):
        paddle.load(buffer)


@pytest.mark.parametrize("kept", [1, 20, 150, -1])
def test_torn_file_says_so(tmp_path, kept):
    path = tmp_path / "m.pd"
    paddle.save({"w": paddle.to_tensor(X)}, str(path))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=r"m\.pd' is (cut short|damaged)"):
        paddle.load(str(path))


def test_empty_and_foreign_files(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"hello, this is no checkpoint at all")
    (tmp_path / "short").write_bytes(b"\0\0")
    with pytest.raises(ValueError, match="is empty"):
        paddle.load(str(tmp_path / "empty"))
    for name in ("text", "short"):
        with pytest.raises(CheckpointError, match=name):
            paddle.load(str(tmp_path / name))


def test_torn_binary_tensor(tmp_path):
    path = tmp_path / "t.bin"
    paddle.save(paddle.to_tensor(X), str(path), use_binary_format=True)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(
        CheckpointError, match="cut short: 24 bytes were expected where 21 are left"
    ):
        paddle.load(str(path))


# -- wrong calls


def test_missing_file_is_a_value_error_with_hints(tmp_path):
    paddle.save([1], str(tmp_path / "model.pdparams"))
    with pytest.raises(ValueError, match=r"give the full file name, such as .*model\.pdparams"):
        paddle.load(str(tmp_path / "model"))
    with pytest.raises(ValueError, match=r"Did you mean 'model.pdparams'"):
        paddle.load(str(tmp_path / "modle.pdparams"))
    with pytest.raises(ValueError, match="There is no folder"):
        paddle.load(str(tmp_path / "nowhere" / "m"))


@pytest.mark.parametrize("path", ["", "folder/", 3, None])
def test_save_refuses_paths(path):
    with pytest.raises(ValueError):
        paddle.save([1], path)


def test_save_refuses_a_folder(tmp_path):
    with pytest.raises(UsageError, match="dirname/filename"):
        paddle.save([1], str(tmp_path))


@pytest.mark.parametrize(
    "options", [{"protocol": 5}, {"protocol": 1}, {"protocol": "4"}, {"foo": 1}]
)
def test_save_refuses_options(options):
    with pytest.raises(ValueError):
        paddle.save([1], io.BytesIO(), **options)


def test_options_that_are_not_supported():
    with pytest.raises(NotSupported):
        paddle.save({}, io.BytesIO(), safetensors=True)
    with pytest.raises(NotImplementedError):
        paddle.save([1], io.BytesIO(), use_binary_format=True)
    with pytest.raises(NotSupported):
        paddle.load("x", model_filename="m")
    with pytest.raises(ValueError, match=r"no option 'return_nump'\. Did you mean 'return_numpy'"):
        paddle.load("x", return_nump=True)


def test_layer_is_refused():
    with pytest.raises(ValueError, match=r"holds a Linear; save its state_dict"):
        paddle.save({"model": paddle.nn.Linear(2, 2)}, io.BytesIO())


def test_the_class_of_parameters_is_where_libraries_extend_it():
    assert isinstance(paddle.nn.Linear(1, 1).weight, paddle.framework.io.EagerParamBase)
