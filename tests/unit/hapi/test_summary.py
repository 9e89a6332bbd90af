"""summary and flops: what they refuse and leave behind. Tables are in conformance/test_model.py."""

from __future__ import annotations

import logging

import pytest

import paddle
from paddle.hapi.logger import setup_logger
from paddle.hapi.static_flops import Table

nn = paddle.nn


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({}, ValueError, "cannot be None at the same time"),
        ({"input_size": (-1, -1)}, ValueError, "only the dim of batch_size"),
        ({"input_size": (0, 4)}, ValueError, "greater than zero"),
        ({"input_size": (1, "2")}, TypeError, "integer"),
        ({"input_size": ["4"]}, AssertionError, "tuple or InputSpec"),
        ({"input": "4"}, ValueError, "unable to determine"),
    ],
)
def test_sizes_are_checked(given, error, told):
    with pytest.raises(error, match=told):
        paddle.summary(nn.Linear(4, 2), **given)


def test_a_summary_leaves_the_network_as_it_was(capsys):
    net = nn.Sequential(nn.Linear(4, 2), nn.Dropout())
    assert paddle.summary(net, (1, 4)) == {"total_params": 10, "trainable_params": 10}
    assert net.training
    assert not net[0]._forward_post_hooks
    net.eval()
    paddle.summary(net, (1, 4))
    assert not net.training


def test_inputs_of_a_summary_may_be_a_dict(capsys):
    class Named(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)
            self.fc.bias.stop_gradient = True

        def forward(self, given):
            return self.fc(given["a"] + given["b"])

    given = {"a": paddle.ones([1, 4]), "b": paddle.ones([1, 4])}
    assert paddle.summary(Named(), input=given)["trainable_params"] == 8


def test_counting_leaves_no_buffers(capsys):
    net = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 2))
    assert paddle.flops(net, [1, 4]) == 12
    assert not list(net.buffers())
    assert net.training
    assert paddle.flops(net, [1, 4]) == 12


def test_a_traced_network_is_counted_layer_by_layer(capsys):
    net = paddle.jit.to_static(nn.Sequential(nn.Linear(4, 2)))
    assert paddle.flops(net, [1, 4]) == 8


def test_only_networks_and_programs_are_counted():
    with pytest.warns(UserWarning, match="must be an instance"):
        assert paddle.flops(3, [1]) == -1


def test_rows_have_as_many_cells_as_heads():
    with pytest.raises(ValueError, match="2 cells"):
        Table(["a", "b"]).add_row([1])


def test_a_logger_writes_to_a_file(tmp_path):
    logger = setup_logger(str(tmp_path / "logs"), name="hapi.test")
    logger.info("ready")
    for handler in logger.handlers:
        handler.close()
    logging.Logger.manager.loggerDict.pop("hapi.test")
    assert (tmp_path / "logs" / "log.txt").read_text().endswith("hapi.test - INFO - ready\n")
