"""decorate: parameters in low precision, masters and gradients in float32."""

import pytest

import paddle


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = paddle.nn.Linear(3, 4)
        self.norm = paddle.nn.BatchNorm1D(4)
        self.last = paddle.nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


def decorated(**settings):
    net = Net()
    adam = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
    return paddle.amp.decorate(net, adam, level="O2", dtype="bfloat16", **settings)


def step(net, optimizer):
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        loss = net(paddle.randn([5, 3])).astype("float32").mean()
    loss.backward()
    optimizer.step()


def test_norms_stay_in_float32():
    net, adam = decorated()
    assert net.first.weight.dtype == paddle.bfloat16
    assert net.norm.weight.dtype == paddle.float32
    step(net, adam)
    masters = adam.state_dict()["master_weights"]
    assert set(masters) == {
        p.name for p in (net.first.weight, net.first.bias, net.last.weight, net.last.bias)
    }


def test_masters_can_be_turned_off():
    net, adam = decorated(master_weight=False)
    step(net, adam)
    assert "master_weights" not in adam.state_dict()


def test_excluded_layers():
    net = paddle.amp.decorate(
        Net(), level="O2", dtype="bfloat16", excluded_layers=[paddle.nn.Linear]
    )
    assert net.first.weight.dtype == paddle.float32
    net = Net()
    paddle.amp.decorate(net, level="O2", dtype="bfloat16", excluded_layers=net.last)
    assert net.first.weight.dtype == paddle.bfloat16
    assert net.last.weight.dtype == paddle.float32


def test_saved_in_another_dtype():
    net, _ = decorated(save_dtype="float32")
    state = net.state_dict()
    assert state["first.weight"].dtype == paddle.float32
    assert state["first.weight"].name == net.first.weight.name
    assert net.first.weight.dtype == paddle.bfloat16


def test_master_grad_sums_in_float32():
    net, adam = decorated(master_grad=True)
    weight = net.first.weight
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        for _ in range(2):
            net(paddle.randn([5, 3])).astype("float32").mean().backward()
    assert weight.main_grad.dtype == paddle.float32
    assert weight.grad is None
    before = weight.astype("float32").numpy().copy()
    adam.step()
    assert (weight.astype("float32").numpy() != before).any()
    adam.clear_grad()
    assert weight.main_grad is None


def test_level_o1_returns_what_it_got():
    net = Net()
    assert paddle.amp.decorate(net, level="O1", dtype="bfloat16") is net
    assert net.first.weight.dtype == paddle.float32


def test_lists_come_back_as_lists():
    nets = [Net(), Net()]
    adams = [paddle.optimizer.Adam(0.1, parameters=net.parameters()) for net in nets]
    models, optimizers = paddle.amp.decorate(nets, adams, level="O2", dtype="bfloat16")
    assert models is nets
    assert optimizers is adams
    assert all(adam._multi_precision for adam in adams)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"level": "O0"}, ValueError),
        ({"level": "O2", "dtype": "int8"}, ValueError),
        ({"level": "O2", "dtype": "bfloat16", "save_dtype": "int8"}, ValueError),
        ({"level": "O2", "dtype": "bfloat16", "optimizers": 3}, TypeError),
        ({"level": "O2", "dtype": "bfloat16", "optimizers": [3]}, RuntimeError),
        ({"level": "O2", "dtype": "bfloat16", "excluded_layers": [3]}, TypeError),
    ],
)
def test_wrong_settings(settings, error):
    with pytest.raises(error, match="decorate"):
        paddle.amp.decorate(Net(), **settings)
