"""Layer: what golden cases cannot show."""

import pytest

import paddle
from argosy.foundation.errors import NotSupported


def test_loading_by_assignment_is_refused():
    layer = paddle.nn.Linear(2, 2)
    with pytest.raises(NotSupported, match="assign=True"):
        layer.load_state_dict(layer.state_dict(), assign=True)
