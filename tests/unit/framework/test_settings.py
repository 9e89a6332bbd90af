"""Seeds, flags, modes, limits of number types."""

import numpy as np
import pytest
import torch

from argosy import framework
from argosy.foundation import process_state
from argosy.foundation.errors import NotSupported
from argosy.framework import _flags, mode


def draw():
    return torch.rand(3).tolist()


def test_seed_repeats_and_returns_the_generator():
    generator = framework.seed(7)
    assert generator.initial_seed() == 7
    first = draw()
    framework.seed(7)
    assert draw() == first
    framework.seed(8)
    assert draw() != first


def test_rng_state_goes_back():
    framework.seed(1)
    state = framework.get_rng_state()
    assert len(state) == 1
    assert state[0].current_seed() == 1
    first = draw()
    framework.set_rng_state(state)
    assert draw() == first
    with pytest.raises(ValueError, match="2 states for 1 generators"):
        framework.set_rng_state(state * 2)


def test_cuda_rng_state_without_gpu():
    if torch.cuda.is_available():
        pytest.skip("has a GPU")
    assert framework.get_cuda_rng_state() == []
    framework.set_cuda_rng_state([])


def test_generator_state():
    generator = framework.Generator("cpu").manual_seed(3)
    state = generator.get_state()
    first = generator.random()
    generator.set_state(state)
    assert generator.random() == first
    with pytest.raises(TypeError):
        generator.set_state(3)


@pytest.fixture
def flags(monkeypatch):
    _flags.flags.reset()
    before = torch.backends.cudnn.deterministic
    yield monkeypatch
    torch.backends.cudnn.deterministic = before
    _flags.flags.reset()


def test_flags_are_kept(flags):
    assert framework.get_flags("FLAGS_eager_delete_tensor_gb") == {
        "FLAGS_eager_delete_tensor_gb": 0.0
    }
    framework.set_flags(
        {"FLAGS_eager_delete_tensor_gb": 1, "FLAGS_allocator_strategy": "naive_best_fit"}
    )
    both = framework.get_flags(["FLAGS_eager_delete_tensor_gb", "FLAGS_allocator_strategy"])
    assert both == {
        "FLAGS_eager_delete_tensor_gb": 1.0,
        "FLAGS_allocator_strategy": "naive_best_fit",
    }


def test_flags_start_from_the_environment(flags):
    flags.setenv("FLAGS_benchmark", "true")
    flags.setenv("FLAGS_call_stack_level", "2")
    flags.setenv("FLAGS_of_something_else", "x")
    assert framework.get_flags(["FLAGS_benchmark", "FLAGS_call_stack_level"]) == {
        "FLAGS_benchmark": True,
        "FLAGS_call_stack_level": 2,
    }


def test_bad_flag_in_the_environment_warns(flags):
    flags.setenv("FLAGS_benchmark", "perhaps")
    with pytest.warns(UserWarning, match="FLAGS_benchmark=perhaps has no effect"):
        assert framework.get_flags("FLAGS_benchmark") == {"FLAGS_benchmark": False}


def test_flag_with_a_counterpart_sets_it(flags):
    framework.set_flags({"FLAGS_cudnn_deterministic": True})
    assert torch.backends.cudnn.deterministic


def test_wrong_flags(flags):
    with pytest.raises(ValueError, match="Did you mean 'FLAGS_benchmark'"):
        framework.set_flags({"FLAGS_benchmrk": 1})
    with pytest.raises(ValueError):
        framework.get_flags("FLAGS_nope")
    with pytest.raises(TypeError):
        framework.set_flags(["FLAGS_benchmark"])
    with pytest.raises(TypeError):
        framework.get_flags(3)
    with pytest.raises(RuntimeError, match="holds a bool"):
        framework.set_flags({"FLAGS_benchmark": "yes"})
    with pytest.raises(NotSupported):
        framework.set_flags({"FLAGS_set_to_1d": True})
    framework.set_flags({"FLAGS_set_to_1d": False})


def test_mode_without_the_static_layer(monkeypatch):
    monkeypatch.setattr(mode, "switch", mode._Switch())
    assert framework.in_dynamic_mode()
    framework.disable_static()
    with pytest.raises(NotSupported, match="static layer"):
        framework.enable_static()
    assert framework.in_dynamic_mode()


def test_mode_with_a_static_layer(monkeypatch):
    switch = mode._Switch()
    monkeypatch.setattr(mode, "switch", switch)
    calls = []
    switch.install(lambda: calls.append("on"), lambda: calls.append("off"))
    framework.enable_static()
    framework.enable_static()
    assert not framework.in_dynamic_mode()
    assert not framework.in_pir_mode()
    assert not framework.in_dynamic_or_pir_mode()
    framework.disable_static()
    assert framework.in_dynamic_mode()
    assert calls == ["on", "off"]


def test_number_limits():
    assert repr(framework.iinfo("int8")) == "paddle.iinfo(min=-128, max=127, bits=8, dtype=int8)"
    info = framework.finfo("float16")
    assert (info.max, info.eps, info.bits, info.dtype) == (65504.0, 2**-10, 16, "float16")
    assert framework.finfo("complex64").dtype == "float32"
    assert repr(framework.finfo("bfloat16")).startswith(
        "paddle.finfo(min=-3.38953e+38, max=3.38953e+38, eps=0.0078125"
    )
    with pytest.raises(ValueError):
        framework.iinfo("float32")
    with pytest.raises(ValueError):
        framework.finfo(np.int8)


def test_a_generator_switches_between_states():
    generator = framework.seed(5)
    begin = generator.get_state()
    assert str(begin).split()[:3] == ["-1", "5", "0"]
    assert str(begin) == str(generator.get_state())
    first = [generator.random() for _ in range(2)]
    assert str(begin) != str(generator.get_state())
    own = generator.get_state_index()
    other = generator.register_state_index(begin)
    assert (own, other, generator.get_state_index()) == (0, 1, 1)
    assert generator.random() == first[0]
    generator.set_state_index(own)
    framework.set_rng_state([begin], "cpu")
    generator.set_state_index(other)
    assert generator.random() == first[1]
    generator.set_state_index(own)
    assert generator.random() == first[0]
    with pytest.raises(ValueError, match="there are 2 states"):
        generator.set_state_index(2)
    process_state.reset(["states of random generators"])
