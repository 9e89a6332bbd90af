"""Schedules and whole scripts of ``paddle.fluid``, built from one text by Paddle 1.8.5 and by
argosy, whose losses are compared.
"""

import zlib

import numpy as np

STEPS = 20
RATES = {}
TRAINING = {}


def _rng(step):
    return np.random.RandomState(zlib.crc32(f"step{step}".encode()))


RATES["exponential"] = lambda f: f.layers.exponential_decay(0.5, 3, 0.5)
RATES["exponential_stairs"] = lambda f: f.layers.exponential_decay(0.5, 3, 0.5, staircase=True)
RATES["natural_exp"] = lambda f: f.layers.natural_exp_decay(0.5, 3, 0.5)
RATES["inverse_time"] = lambda f: f.layers.inverse_time_decay(0.5, 3, 0.5, staircase=True)
RATES["polynomial"] = lambda f: f.layers.polynomial_decay(0.5, 3, 0.01, 2.0)
RATES["polynomial_cycle"] = lambda f: f.layers.polynomial_decay(0.5, 3, 0.01, cycle=True)
RATES["piecewise"] = lambda f: f.layers.piecewise_decay([2, 5], [0.5, 0.25, 0.125])
RATES["noam"] = lambda f: f.layers.noam_decay(16, 3)
RATES["cosine"] = lambda f: f.layers.cosine_decay(0.5, 2, 4)
RATES["warmup"] = lambda f: f.layers.linear_lr_warmup(0.5, 4, 0.1, 0.5)
RATES["warmup_of_decay"] = lambda f: f.layers.linear_lr_warmup(
    f.layers.exponential_decay(0.5, 2, 0.5), 3, 0.0, 0.5
)


def run_rate(fluid, name):
    """The rate of each of 8 runs, the counter, and what SGD makes of them."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        w = fluid.layers.create_parameter(
            [1], "float32", name="w", default_initializer=fluid.initializer.Constant(1.0)
        )
        loss = fluid.layers.reduce_sum(w * 1.0)
        test = main.clone(for_test=True)
        rate = RATES[name](fluid)
        fluid.optimizer.SGD(rate).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.core.Scope()):
        exe.run(startup)
        rows = []
        for _ in range(8):
            exe.run(test, fetch_list=[loss.name])  # does not count
            rows.append(
                [
                    float(np.asarray(v).reshape(-1)[0])
                    for v in exe.run(main, fetch_list=[rate, "@LR_DECAY_COUNTER@", loss])
                ]
            )
    return np.array(rows)


def training(name):
    def register(build):
        TRAINING[name] = build
        return build

    return register


@training("mlp")
def mlp(fluid):
    x = fluid.layers.data(name="x", shape=[8], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="int64")
    hidden = fluid.layers.fc(input=x, size=16, act="relu")
    hidden = fluid.layers.fc(input=hidden, size=12, act="tanh")
    scores = fluid.layers.fc(input=hidden, size=3, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=scores, label=y))
    share = fluid.layers.accuracy(input=scores, label=y)
    rate = fluid.layers.piecewise_decay([5, 12], [0.1, 0.05, 0.01])
    fluid.optimizer.MomentumOptimizer(
        rate, 0.9, regularization=fluid.regularizer.L2Decay(0.01)
    ).minimize(loss)

    def feed(rng):
        data = rng.randn(6, 8).astype("float32")
        return {"x": data, "y": data[:, :3].argmax(1).astype("int64")[:, None]}

    return [loss, share], feed


@training("lenet")
def lenet(fluid):
    image = fluid.data("image", [None, 1, 12, 12])
    label = fluid.data("label", [None, 1], "int64")
    x = fluid.nets.simple_img_conv_pool(
        image, filter_size=3, num_filters=4, pool_size=2, pool_stride=2, act="relu"
    )
    x = fluid.layers.conv2d(x, 6, 3, bias_attr=False)
    x = fluid.layers.batch_norm(x, act="relu")
    x = fluid.layers.pool2d(x, 2, "avg", 1)
    scores = fluid.layers.fc(fluid.layers.fc(x, 16, act="sigmoid"), 5, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(scores, label))
    clip = fluid.clip.GradientClipByGlobalNorm(0.5)
    fluid.optimizer.AdamOptimizer(0.01, epsilon=1e-3, grad_clip=clip).minimize(loss)

    def feed(rng):
        return {
            "image": rng.randn(5, 1, 12, 12).astype("float32"),
            "label": rng.randint(0, 5, (5, 1)).astype("int64"),
        }

    return [loss, fluid.layers.accuracy(scores, label, k=2)], feed


@training("word2vec")
def word2vec(fluid):
    names = ["first", "second", "third", "next"]
    words = [fluid.layers.data(name=name, shape=[1], dtype="int64") for name in names]
    vectors = [
        fluid.layers.embedding(
            input=word, size=[20, 6], is_sparse=False, param_attr=fluid.ParamAttr(name="shared_w")
        )
        for word in words[:3]
    ]
    hidden = fluid.layers.fc(
        input=fluid.layers.concat(input=vectors, axis=1), size=10, act="sigmoid"
    )
    scores = fluid.layers.fc(input=hidden, size=20, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=scores, label=words[3]))
    fluid.optimizer.SGD(learning_rate=fluid.layers.exponential_decay(0.5, 4, 0.8)).minimize(loss)

    def feed(rng):
        return {name: rng.randint(0, 20, (7, 1)).astype("int64") for name in names}

    return [loss], feed


@training("ctr")
def ctr(fluid):
    dense = fluid.layers.data("dense", [4], dtype="float32")
    slots = [fluid.layers.data(f"slot{i}", [1], dtype="int64") for i in range(3)]
    click = fluid.layers.data("click", [1], dtype="int64")
    init = fluid.initializer.Uniform(-0.1, 0.1)
    vectors = [
        fluid.layers.embedding(
            s,
            [30, 4],
            is_sparse=True,
            param_attr=fluid.ParamAttr(name=f"table{i}", initializer=init),
        )
        for i, s in enumerate(slots)
    ]
    hidden = fluid.layers.concat(vectors + [dense], axis=1)
    for size in (8, 4):
        hidden = fluid.layers.fc(
            hidden,
            size,
            act="relu",
            param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=0.3)),
        )
    predict = fluid.layers.fc(hidden, 2, act="softmax")
    cost = fluid.layers.cross_entropy(input=predict, label=click)
    loss = fluid.layers.reduce_mean(cost)
    auc, batch_auc, _ = fluid.layers.auc(
        input=predict, label=click, num_thresholds=2**8, slide_steps=3
    )
    fluid.optimizer.Adam(learning_rate=0.02).minimize(loss)

    def feed(rng):
        fed = {f"slot{i}": rng.randint(0, 30, (8, 1)).astype("int64") for i in range(3)}
        for ids in fed.values():
            # behind the largest row of a gradient Paddle reads memory that is not its own
            ids[3] = 29
        fed["dense"] = rng.randn(8, 4).astype("float32")
        fed["click"] = (fed["slot0"] % 2).astype("int64")
        return fed

    return [loss, auc, batch_auc], feed


def _rule(name, make):
    @training("rule_" + name)
    def build(fluid):
        x = fluid.layers.data("x", [5])
        y = fluid.layers.data("y", [1])
        attr = fluid.ParamAttr(learning_rate=0.5, regularizer=fluid.regularizer.L1Decay(0.01))
        out = fluid.layers.fc(fluid.layers.fc(x, 4, act="tanh", bias_attr=attr), 1)
        loss = fluid.layers.mean(fluid.layers.square_error_cost(out, y))
        make(fluid).minimize(loss)

        def feed(rng):
            data = rng.randn(6, 5).astype("float32")
            return {"x": data, "y": data.sum(1, keepdims=True)}

        return [loss], feed


def _clipped(fluid):
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(0.3))
    return fluid.optimizer.SGD(0.1)


_rule("sgd_value", lambda f: f.optimizer.SGD(0.1, grad_clip=f.clip.GradientClipByValue(0.05)))
_rule("sgd_norm", lambda f: f.optimizer.SGD(0.1, grad_clip=f.clip.GradientClipByNorm(0.1)))
_rule("sgd_set_clip", _clipped)
_rule(
    "sgd_need_clip",
    lambda f: f.optimizer.SGD(
        0.1, grad_clip=f.clip.GradientClipByGlobalNorm(0.1, need_clip=lambda p: ".w" in p.name)
    ),
)
_rule(
    "momentum",
    lambda f: f.optimizer.Momentum(
        0.05, 0.8, use_nesterov=True, regularization=f.regularizer.L2Decay(0.1)
    ),
)
_rule("lars", lambda f: f.optimizer.LarsMomentum(0.5, 0.8))
_rule("adagrad", lambda f: f.optimizer.AdagradOptimizer(0.1, initial_accumulator_value=0.1))
_rule(
    "adam",
    lambda f: f.optimizer.Adam(0.05, epsilon=0.01, regularization=f.regularizer.L2Decay(0.1)),
)
_rule("adamax", lambda f: f.optimizer.AdamaxOptimizer(0.05))
_rule("rmsprop", lambda f: f.optimizer.RMSProp(0.01, momentum=0.5, centered=True))
_rule("lamb", lambda f: f.optimizer.LambOptimizer(0.02, lamb_weight_decay=0.1))


def run_average(fluid):
    """A parameter and its moving average after 5 steps; Paddle's changes when it is applied, so
    once only.
    """
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        w = fluid.layers.create_parameter(
            [2], "float32", name="w", default_initializer=fluid.initializer.Constant(1.0)
        )
        loss = fluid.layers.reduce_sum(w * w)
        fluid.optimizer.SGD(0.1).minimize(loss)
        average = fluid.optimizer.ExponentialMovingAverage(0.5)
        average.update()
    exe = fluid.Executor(fluid.CPUPlace())
    scope = fluid.core.Scope()
    with fluid.scope_guard(scope):
        exe.run(startup)
        for _ in range(5):
            exe.run(main)
        with average.apply(exe):
            inside = np.array(scope.find_var("w").get_tensor())
        return np.concatenate([inside, np.array(scope.find_var("w").get_tensor())])


def train(fluid, name, initial=None):
    """Fetched numbers of every step, and first and last values of the parameters."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        fetches, feed = TRAINING[name](fluid)
    exe = fluid.Executor(fluid.CPUPlace())
    scope = fluid.core.Scope()

    def values():
        return {
            p.name: np.array(scope.find_var(p.name).get_tensor()) for p in main.all_parameters()
        }

    with fluid.scope_guard(scope):
        exe.run(startup)
        for key, value in (initial or {}).items():
            scope.find_var(key).get_tensor().set(value, fluid.CPUPlace())
        first, rows = values(), []
        for step in range(STEPS):
            out = exe.run(main, feed=feed(_rng(step)), fetch_list=fetches)
            assert all(np.asarray(v).shape == (1,) for v in out), name
            rows.append([float(np.asarray(v)[0]) for v in out])
        return np.array(rows), first, values()
