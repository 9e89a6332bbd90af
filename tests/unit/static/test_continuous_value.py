"""``static.nn.continuous_value_model``."""

import numpy as np
import pytest

import paddle
from paddle import static

pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.mark.parametrize("is_kept", [True, False])
def test_shows_and_clicks_become_logarithms_and_their_counts_come_back(is_kept):
    x = static.data("x", [2, 4], "float32")
    x.stop_gradient = False
    counts = static.data("counts", [2, 2], "float32")
    y = static.nn.continuous_value_model(x, counts, is_kept)
    (grad,) = static.gradients([paddle.sum(y * 3.0)], [x])
    assert list(y.shape) == [2, 4 if is_kept else 2]
    feed = {
        "x": np.array([[1.0, 0.5, 7.0, 8.0], [0.0, 2.0, 9.0, 10.0]], "float32"),
        "counts": np.array([[5.0, 6.0], [3.0, 4.0]], "float32"),
    }
    out, back = static.Executor().run(feed=feed, fetch_list=[y, grad])
    shows, clicks = np.log(feed["x"][:, 0] + 1), np.log(feed["x"][:, 1] + 1)
    columns = [shows, clicks - shows] if is_kept else []
    expected = np.stack([*columns, feed["x"][:, 2], feed["x"][:, 3]], 1)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    # as Paddle 2.6.2: the counts stand where the gradients of the first columns would
    assert back.tolist() == [[5.0, 6.0, 3.0, 3.0], [3.0, 4.0, 3.0, 3.0]]
