"""Model before 2.0: the network is the Model."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from goldens import model_runs
from paddle.incubate.hapi.loss import CrossEntropy, Loss, SoftmaxWithCrossEntropy
from paddle.incubate.hapi.metrics import Accuracy
from paddle.incubate.hapi.model import Input, Model


class Net(Model):
    def __init__(self):
        super().__init__()
        self.net = model_runs.network(paddle)

    def forward(self, x):
        return self.net(x)


def prepared():
    net = Net()
    sgd = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    inputs = [Input([None, model_runs.WIDTH], "float32", name="x")]
    labels = [Input([None, 1], "int64", name="y")]
    net.prepare(sgd, SoftmaxWithCrossEntropy(), Accuracy(), inputs, labels)
    return net


@pytest.mark.parametrize("mode", ["dygraph", "static"])
def test_it_trains_as_the_model_over_a_network_does(mode, fresh_programs):
    data = model_runs.dataset(paddle, 6)

    def told(model):
        model.fit(data, batch_size=2, epochs=2, shuffle=False, verbose=0)
        return model.evaluate(data, batch_size=2, verbose=0)

    now = model_runs.in_mode(paddle, mode, lambda: told(model_runs.model(paddle, 0.5, "SGD")))
    before = model_runs.in_mode(paddle, mode, lambda: told(prepared()))
    assert before["loss"] == pytest.approx(now["loss"], rel=1e-6)
    assert before["acc"] == now["acc_top1"]


def test_labels_need_no_description(tmp_path):
    net = Net()
    sgd = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    net.prepare(sgd, SoftmaxWithCrossEntropy(average=False), inputs=Input([None, 4], name="x"))
    net.fit(model_runs.dataset(paddle, 4), batch_size=2, verbose=0)
    x = np.ones((2, 4), "float32")
    (before,) = net.test_batch([x])
    net.save(str(tmp_path / "net"))
    net.train_batch([x], [np.zeros((2, 1), "int64")])
    assert not np.allclose(net.test_batch([x])[0], before)
    net.load(str(tmp_path / "net"))
    np.testing.assert_array_equal(net.test_batch([x])[0], before)


def test_a_loss_takes_lists_and_gives_means_or_sums():
    scores = paddle.to_tensor([[1.0, 2.0], [3.0, 1.0]])
    labels = paddle.to_tensor([[0], [1]])
    (mean,) = SoftmaxWithCrossEntropy()(scores, labels)
    (total,) = CrossEntropy(average=False)([paddle.nn.functional.softmax(scores)], [labels])
    assert float(total) == pytest.approx(2 * float(mean), rel=1e-6)


def test_what_is_not_ready_says_so():
    with pytest.raises(AssertionError, match="prepare"):
        Net().fit(model_runs.dataset(paddle, 2))
    with pytest.raises(TypeError, match="sub classes of 'Loss'"):
        Net().prepare(loss_function=paddle.nn.CrossEntropyLoss())
    with pytest.raises(NotImplementedError):
        Loss()([1.0], [1.0])
