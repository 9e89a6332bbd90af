"""auto_cast: what is computed in which dtype."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import paddle
from paddle.amp.auto_cast import amp_state


def tensors():
    return paddle.ones([2, 2]), paddle.ones([2, 2])


def test_white_black_and_promoted_ops():
    x, y = tensors()
    with paddle.amp.auto_cast(dtype="bfloat16"):
        product = paddle.matmul(x, y)
        assert product.dtype == paddle.bfloat16
        assert (x @ y).dtype == paddle.bfloat16
        assert product.exp().dtype == paddle.float32
        assert paddle.nn.functional.softmax(product).dtype == paddle.float32
        assert (product + product).dtype == paddle.bfloat16
        assert (product + x).dtype == paddle.float32
        assert paddle.concat([product, x]).dtype == paddle.float32
    assert paddle.matmul(x, y).dtype == paddle.float32


def test_level_o2_keeps_more_in_low_precision():
    x, y = tensors()
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2"):
        product = paddle.matmul(x, y)
        assert product.exp().dtype == paddle.bfloat16
        assert (product + x).dtype == paddle.float32
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2", use_promote=False):
        assert (product + x).dtype == paddle.bfloat16


def test_level_od_lowers_only_the_white_list():
    x, y = tensors()
    with paddle.amp.auto_cast(dtype="bfloat16", level="OD"):
        product = paddle.matmul(x, y)
        assert product.dtype == paddle.bfloat16
        assert (product + product).dtype == paddle.float32


def test_level_o0_and_disabled_change_nothing():
    x, y = tensors()
    for settings in ({"level": "O0"}, {"enable": False}):
        with paddle.amp.auto_cast(dtype="bfloat16", **settings):
            assert paddle.matmul(x, y).dtype == paddle.float32
            assert not paddle.amp.is_autocast_enabled()


def test_custom_lists_go_by_op_type():
    x, y = tensors()
    with paddle.amp.auto_cast(
        dtype="bfloat16", custom_white_list={"exp"}, custom_black_list=["matmul_v2", "matmul"]
    ):
        assert x.exp().dtype == paddle.bfloat16
        assert paddle.matmul(x, y).dtype == paddle.float32


def test_gradients_return_in_the_parameters_dtype():
    layer = paddle.nn.Linear(3, 2)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        loss = layer(paddle.ones([4, 3])).mean()
    assert loss.dtype == paddle.float32
    loss.backward()
    assert layer.weight.grad.dtype == paddle.float32
    assert layer.weight.grad.tolist() == [[0.5, 0.5]] * 3


def test_nested_blocks_replace_each_other():
    x, y = tensors()
    with paddle.amp.auto_cast(dtype="bfloat16"):
        with paddle.amp.auto_cast(enable=False, dtype="bfloat16"):
            assert paddle.matmul(x, y).dtype == paddle.float32
        with paddle.amp.auto_cast(dtype="bfloat16", custom_black_list=["matmul", "matmul_v2"]):
            assert paddle.matmul(x, y).dtype == paddle.float32
        assert paddle.matmul(x, y).dtype == paddle.bfloat16


def test_double_is_left_alone():
    x = paddle.ones([2, 2], "float64")
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert paddle.matmul(x, x).dtype == paddle.float64


def test_casting_inside_is_obeyed():
    x, _ = tensors()
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2", use_promote=False):
        assert x.astype("float32").dtype == paddle.float32


def test_batch_norm_keeps_its_statistics_in_float32():
    norm = paddle.nn.BatchNorm1D(3)
    x = paddle.randn([8, 3])
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2"):
        out = norm(paddle.matmul(x, paddle.ones([3, 3])))
    assert out.dtype == paddle.bfloat16
    assert norm._mean.dtype == paddle.float32


def test_as_decorator():
    @paddle.amp.auto_cast(dtype="bfloat16")
    def product(x, y):
        return paddle.matmul(x, y)

    assert product(*tensors()).dtype == paddle.bfloat16


def test_block_ends_on_error():
    with pytest.raises(ZeroDivisionError), paddle.amp.auto_cast(dtype="bfloat16"):
        raise ZeroDivisionError
    assert not paddle.amp.is_autocast_enabled()


def test_float16_on_cpu_warns_once_and_changes_nothing(amp_state):
    amp_state.has_warned = False
    x, y = tensors()
    block = paddle.amp.auto_cast()
    with pytest.warns(UserWarning, match="makes no effect on CPU"):
        block.__enter__()
    assert paddle.matmul(x, y).dtype == paddle.float32
    block.__exit__(None, None, None)
    with paddle.amp.auto_cast():  # a second warning would be an error here
        assert paddle.matmul(x, y).dtype == paddle.float32


def test_what_is_in_force():
    assert paddle.amp.get_autocast_dtype() == "float16"
    with paddle.amp.auto_cast(dtype=paddle.bfloat16):
        assert paddle.amp.is_autocast_enabled()
        assert paddle.amp.get_autocast_dtype() == "bfloat16"
    assert paddle.amp.is_bfloat16_supported()
    assert not paddle.amp.is_float16_supported("cpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": "O3"}, "level should be O0, OD, O1 or O2"),
        ({"dtype": "int8"}, "dtype should be 'float16' or 'bfloat16', but received 'int8'"),
        (
            {"dtype": "bfloat16", "custom_white_list": ["exp"], "custom_black_list": ["exp"]},
            "overlap",
        ),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message), paddle.amp.auto_cast(**settings):
        pass


def test_the_state_is_what_the_innermost_block_was_asked_for():
    assert amp_state() is None
    with paddle.amp.auto_cast(dtype="bfloat16", custom_black_list=["exp"]):
        with paddle.amp.auto_cast(enable=False):
            assert amp_state()["enable"] is False
        assert amp_state()["dtype"] == "bfloat16"
        assert amp_state()["custom_black_list"] == ["exp"]
    with pytest.raises(ValueError, match="level"), paddle.amp.auto_cast(level="O3"):
        pass
    assert amp_state() is None


class _Casts(TorchDispatchMode):
    """Counts the casts to bfloat16 of tensors of one shape."""

    def __init__(self, shape):
        super().__init__()
        self.num_casts = 0
        self._shape = shape

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if (
            func is torch.ops.aten._to_copy.default
            and kwargs.get("dtype") is torch.bfloat16
            and list(args[0].shape) == self._shape
        ):
            self.num_casts += 1
        return func(*args, **kwargs)


def test_a_weight_is_cast_once_per_step():
    layer = paddle.nn.Linear(3, 3)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    x = paddle.ones([2, 3])
    for _ in range(2):
        with _Casts([3, 3]) as casts:
            with paddle.amp.auto_cast(dtype="bfloat16"):
                loss = layer(layer(layer(x))).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        assert casts.num_casts == 1


def test_a_weight_that_was_written_to_is_cast_again():
    layer = paddle.nn.Linear(2, 1, bias_attr=False)
    x = paddle.ones([1, 2])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        for value in (1.0, 2.0):
            layer.weight.set_value(paddle.full([2, 1], value))
            out = layer(x)
            assert float(out) == 2 * value
            out.sum().backward()
        with paddle.no_grad():
            assert layer(x).stop_gradient
        assert not layer(x).stop_gradient
    assert layer.weight.grad.numpy().ravel().tolist() == [2.0, 2.0]
    assert layer.weight.grad.dtype == paddle.float32
