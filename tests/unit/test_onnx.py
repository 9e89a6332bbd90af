"""``paddle.onnx``."""

import pytest

import paddle
from argosy.foundation.errors import NotSupported


def test_the_call_says_what_to_do_instead():
    with pytest.raises(NotSupported, match=r"paddle\.jit\.save") as caught:
        paddle.onnx.export(paddle.nn.Linear(1, 1), "model")
    assert isinstance(caught.value, ImportError)  # as Paddle without its converter
