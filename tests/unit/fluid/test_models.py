"""Whole models in the styles of 1.6 to 1.8: they build, train and evaluate."""

import numpy as np
import pytest

import paddle.fluid as fluid
from paddle.fluid.dygraph.base import to_variable
from paddle.fluid.dygraph.nn import FC, BatchNorm, Conv2D, Embedding, GRUUnit, Linear, Pool2D
from paddle.fluid.layer_helper import LayerHelper


@pytest.fixture(autouse=True)
def guard(fresh_programs):
    with fluid.dygraph.guard():
        np.random.seed(33)
        fluid.default_startup_program().random_seed = 33
        fluid.default_main_program().random_seed = 33
        yield


def digits(count=16):
    """Images of four classes: a bright quarter."""
    labels = np.arange(count) % 4
    images = np.random.normal(0, 0.1, [count, 1, 12, 12]).astype("float32")
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(label, 2)
        image[0, 6 * row : 6 * row + 6, 6 * column : 6 * column + 6] += 1.0
    return images, labels.reshape(-1, 1).astype("int64")


def fit(model, optimizer, steps, **minimize):
    """Train as 1.x scripts do; the losses and the last accuracy."""
    losses, accuracy = [], None
    for _ in range(steps):
        images, labels = digits()
        prediction = model(to_variable(images))
        label = to_variable(labels)
        label.stop_gradient = True
        loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
        accuracy = fluid.layers.accuracy(input=prediction, label=label)
        loss = model.scale_loss(loss)
        loss.backward()
        model.apply_collective_grads()
        optimizer.minimize(loss, **minimize)
        model.clear_gradients()
        losses.append(loss.numpy()[0])
    return losses, accuracy.numpy()[0]


class ConvPool(fluid.dygraph.Layer):
    def __init__(self, name_scope, num_filters):
        super().__init__(name_scope)
        self.conv = Conv2D(
            self.full_name(), num_filters=num_filters, filter_size=3, act="relu", use_cudnn=False
        )
        self.norm = BatchNorm(self.full_name(), num_filters)
        self.pool = Pool2D(self.full_name(), pool_size=2, pool_stride=2)

    def forward(self, x):
        return self.pool(self.norm(self.conv(x)))


class ScopedNet(fluid.dygraph.Layer):
    """1.6: every layer is given a scope, and learns its input at the first call."""

    def __init__(self, name_scope):
        super().__init__(name_scope)
        self.first = ConvPool(self.full_name(), 4)
        self.fc = FC(self.full_name(), 4, act="softmax")

    def forward(self, x):
        return self.fc(self.first(x))


def test_scoped_layers_and_an_optimizer_without_parameters():
    adam = fluid.optimizer.AdamOptimizer(learning_rate=0.01)
    net = fluid.dygraph.parallel.DataParallel(
        ScopedNet("net"), fluid.dygraph.parallel.prepare_context()
    )
    losses, accuracy = fit(net, adam, 30)
    assert losses[-1] < losses[0] / 4
    assert accuracy == 1.0
    assert net._layers.first.conv.weight.shape == [4, 1, 3, 3]
    assert len(net.parameters()) == 8


class Residual(fluid.dygraph.Layer):
    def __init__(self, width):
        super().__init__()
        self.conv = Conv2D(width, width, 3, padding=1, bias_attr=False)
        self.norm = BatchNorm(width, act=None)

    def forward(self, x):
        y = fluid.layers.elementwise_add(x=x, y=self.norm(self.conv(x)))
        return LayerHelper(self.full_name(), act="relu").append_activation(y)


class ResidualNet(fluid.dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.stem = Conv2D(1, 6, 3, stride=2, padding=1, act="relu")
        self.blocks = [self.add_sublayer(f"block_{i}", Residual(6)) for i in range(2)]
        self.pool = Pool2D(pool_size=3, pool_type="avg", pool_stride=3)
        bound = 1.0 / np.sqrt(24.0)
        initializer = fluid.initializer.Uniform(-bound, bound)
        self.out = Linear(
            24, 4, act="softmax", param_attr=fluid.param_attr.ParamAttr(initializer=initializer)
        )

    def forward(self, x):
        y = self.stem(x)
        for block in self.blocks:
            y = block(y)
        return self.out(fluid.layers.reshape(self.pool(y), shape=[-1, 24]))


def test_residual_net_with_a_schedule_and_decay():
    net = ResidualNet()
    momentum = fluid.optimizer.Momentum(
        learning_rate=fluid.layers.piecewise_decay(boundaries=[20], values=[0.1, 0.01]),
        momentum=0.9,
        regularization=fluid.regularizer.L2Decay(1e-4),
        parameter_list=net.parameters(),
    )
    wrapped = fluid.dygraph.parallel.DataParallel(net, None)
    losses, accuracy = fit(wrapped, momentum, 30)
    assert losses[-1] < losses[0] / 4
    assert accuracy == 1.0
    assert momentum._global_learning_rate().numpy()[0] == pytest.approx(0.01)
    before = net.blocks[0].norm._mean.numpy()
    wrapped.eval()
    images, labels = digits()
    prediction = wrapped(to_variable(images))
    assert (np.argmax(prediction.numpy(), 1) == labels[:, 0]).all()
    assert (net.blocks[0].norm._mean.numpy() == before).all()


def test_gradients_clipped_in_minimize():
    net = fluid.dygraph.DataParallel(ResidualNet(), None)
    sgd = fluid.optimizer.SGD(1.0, parameter_list=net.parameters())
    before = [p.numpy() for p in net.parameters() if p.trainable]
    fit(net, sgd, 1, grad_clip=fluid.dygraph_grad_clip.GradClipByGlobalNorm(1e-3))
    after = [p.numpy() for p in net.parameters() if p.trainable]
    moved = np.sqrt(sum(((a - b) ** 2).sum() for a, b in zip(after, before, strict=True)))
    assert moved == pytest.approx(1e-3, rel=1e-2)
    assert sgd._grad_clip is None


def test_clip_by_value_of_the_older_module():
    assert (
        fluid.dygraph_grad_clip.GradClipByValue(-0.5).min,
        fluid.dygraph_grad_clip.GradClipByValue(-0.5).max,
    ) == (
        -0.5,
        0.5,
    )
    both = fluid.dygraph_grad_clip.GradClipByValue(-0.25, 0.5)
    assert (both.min, both.max) == (-0.25, 0.5)


class Reader(fluid.dygraph.Layer):
    """Sums digits modulo 3 along a sequence, with a GRU of the old kind."""

    def __init__(self, width):
        super().__init__()
        self.table = Embedding("reader", size=[3, 3 * width], is_sparse=True)
        self.unit = GRUUnit(size=3 * width)
        self.out = Linear(width, 3)
        self.width = width

    def forward(self, ids):
        hidden = fluid.layers.fill_constant([ids.shape[0], self.width], "float32", 0.0)
        for i in range(ids.shape[1]):
            word = fluid.layers.slice(ids, axes=[1], starts=[i], ends=[i + 1])
            projected = fluid.layers.reshape(self.table(word), [-1, 3 * self.width])
            hidden, _, _ = self.unit(projected, hidden)
        return self.out(hidden)


def test_recurrent_reader_learns():
    model = Reader(16)
    adam = fluid.optimizer.Adam(0.02, parameter_list=model.parameters())
    ids = np.random.randint(0, 3, [64, 3])
    label = to_variable(ids.sum(1, keepdims=True) % 3)
    losses = []
    for _ in range(60):
        losses.append(
            fluid.layers.mean(
                fluid.layers.softmax_with_cross_entropy(model(to_variable(ids)), label)
            )
        )
        losses[-1].backward()
        adam.minimize(losses[-1])
        model.clear_gradients()
    assert float(losses[-1]) < 0.3 < float(losses[0])


def test_helper_computes_operators_in_dygraph():
    with fluid.dygraph.guard():
        helper = LayerHelper("fc")
        x = fluid.dygraph.to_variable(np.ones([2, 3], "float32"))
        x.stop_gradient = False
        out = helper.create_variable_for_type_inference("float32")
        helper.append_op("scale", {"X": [x]}, {"Out": [out]}, {"scale": 2.0})
        fluid.layers.reduce_sum(out).backward()
        np.testing.assert_array_equal(x.gradient(), np.full([2, 3], 2.0))
