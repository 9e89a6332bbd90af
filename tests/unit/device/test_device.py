"""paddle.device on a machine without GPU."""

import pytest
import torch

import paddle
from argosy import device
from argosy.tensor.engine import defaults

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="describes a machine without GPU")


@pytest.fixture(autouse=True)
def fresh():
    yield
    defaults.reset()


def test_default_is_the_cpu():
    assert device.get_device() == "cpu"
    assert repr(device.set_device("cpu")) == "Place(cpu)"
    assert device.get_device(paddle.to_tensor([1.0])) == -1


@pytest.mark.parametrize("wanted", ["gpu", "gpu:1", 0, paddle.CUDAPlace(0)])
def test_missing_gpu_is_the_cpu_with_one_warning(wanted):
    with pytest.warns(UserWarning, match="running on the CPU instead"):
        assert device.set_device(wanted).is_cpu_place()
    device.set_device(wanted)
    assert device.get_device() == "cpu"


def test_unknown_device():
    with pytest.raises(ValueError, match="the device must be 'cpu'"):
        device.set_device("abacus")
    with pytest.raises(TypeError):
        device.get_device(3)


def test_guard_puts_the_device_back():
    before = defaults.is_place_chosen
    with device.device_guard("cpu"):
        assert defaults.is_place_chosen
    assert defaults.is_place_chosen == before


def test_nothing_to_count_or_wait_for():
    assert device.device_count() == device.cuda.device_count() == device.xpu.device_count() == 0
    assert (
        device.get_all_device_type()
        == device.get_available_device()
        == device.get_all_custom_device_type()
        == []
    )
    assert device.get_cudnn_version() is None
    assert not device.is_available()
    for wait in (
        device.synchronize,
        device.cuda.synchronize,
        device.xpu.synchronize,
        device.empty_cache,
    ):
        assert wait() is None


def test_builds():
    assert not any(
        [
            device.is_compiled_with_cuda(),
            device.is_compiled_with_xpu(),
            device.is_compiled_with_rocm(),
            device.is_compiled_with_cinn(),
            device.is_compiled_with_ipu(),
            device.is_compiled_with_custom_device("npu"),
        ]
    )
    assert device.is_compiled_with_distribute()


@pytest.mark.parametrize(
    "name", ["memory_allocated", "max_memory_reserved", "get_device_name", "get_device_properties"]
)
def test_questions_about_a_gpu_say_there_is_none(name):
    with pytest.raises(ValueError, match=f"paddle.device.cuda.{name}: no GPU"):
        getattr(device.cuda, name)()
