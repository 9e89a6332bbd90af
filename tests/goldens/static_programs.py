"""Training programs whose losses are compared with real Paddle's: built from one text, by either
implementation.

Each function builds a program in the current guard and returns its loss, other variables to fetch
and a function from the step to feeds.
"""

from __future__ import annotations

import numpy as np

STEPS = 20


def _rng(step: int) -> np.random.RandomState:
    return np.random.RandomState(1000 + step)


def mlp(paddle):
    x = paddle.static.data("x", [None, 8], "float32")
    y = paddle.static.data("y", [None, 1], "int64")
    hidden = paddle.static.nn.fc(x, 16, activation="relu")
    hidden = paddle.static.nn.fc(hidden, 12, activation="tanh")
    logits = paddle.static.nn.fc(hidden, 3)
    loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(logits, y))
    share = paddle.static.accuracy(paddle.nn.functional.softmax(logits), y)

    def feed(step):
        rng = _rng(step)
        data = rng.randn(6, 8).astype("float32")
        return {"x": data, "y": (data[:, :3].argmax(1)).astype("int64")[:, None]}

    return loss, [share], feed


def lenet(paddle):
    image = paddle.static.data("image", [None, 1, 12, 12], "float32")
    label = paddle.static.data("label", [None, 1], "int64")
    x = paddle.static.nn.conv2d(image, 4, 3, padding=1, act="relu")
    x = paddle.nn.functional.max_pool2d(x, 2, 2)
    x = paddle.static.nn.conv2d(x, 6, 3, bias_attr=False)
    x = paddle.static.nn.batch_norm(x, act="relu")
    x = paddle.nn.functional.avg_pool2d(x, 2, 2)
    x = paddle.static.nn.layer_norm(paddle.static.nn.fc(x, 16))
    scores = paddle.static.nn.fc(x, 5, activation="softmax")
    loss = paddle.nn.functional.cross_entropy(scores, label, use_softmax=False)

    def feed(step):
        rng = _rng(step)
        return {
            "image": rng.randn(5, 1, 12, 12).astype("float32"),
            "label": rng.randint(0, 5, (5, 1)).astype("int64"),
        }

    return loss, [paddle.static.accuracy(scores, label, k=2)], feed


def word2vec(paddle):
    names = ["first", "second", "third", "next"]
    words = [paddle.static.data(name, [None, 1], "int64") for name in names]
    vectors = [
        paddle.static.nn.embedding(word, [20, 6], param_attr=paddle.ParamAttr(name="shared_w"))
        for word in words[:3]
    ]
    joined = paddle.concat([paddle.reshape(v, [-1, 6]) for v in vectors], axis=1)
    hidden = paddle.static.nn.fc(joined, 10, activation="sigmoid")
    scores = paddle.static.nn.fc(hidden, 20, activation="softmax")
    loss = paddle.mean(
        paddle.nn.functional.cross_entropy(scores, words[3], use_softmax=False, reduction="none")
    )

    def feed(step):
        rng = _rng(step)
        return {name: rng.randint(0, 20, (7, 1)).astype("int64") for name in names}

    return loss, [], feed


def ctr(paddle):
    dense = paddle.static.data("dense", [None, 4], "float32")
    slots = [paddle.static.data(f"slot{i}", [None, 1], "int64") for i in range(3)]
    label = paddle.static.data("click", [None, 1], "int64")
    vectors = [
        paddle.reshape(
            paddle.static.nn.embedding(
                slot, [30, 4], param_attr=paddle.ParamAttr(name=f"table{i}")
            ),
            [-1, 4],
        )
        for i, slot in enumerate(slots)
    ]
    hidden = paddle.concat([*vectors, dense], axis=1)
    for width in (16, 8):
        hidden = paddle.static.nn.fc(hidden, width, activation="relu")
    scores = paddle.static.nn.fc(hidden, 2, activation="softmax")
    loss = paddle.mean(
        paddle.nn.functional.cross_entropy(scores, label, use_softmax=False, reduction="none")
    )
    total, recent, _ = paddle.static.auc(scores, label, slide_steps=2)

    def feed(step):
        rng = _rng(step)
        fed = {f"slot{i}": rng.randint(0, 30, (8, 1)).astype("int64") for i in range(3)}
        return {
            "dense": rng.rand(8, 4).astype("float32"),
            "click": rng.randint(0, 2, (8, 1)).astype("int64"),
            **fed,
        }

    return loss, [total, recent], feed


def small(paddle):
    """A program whose parameters have known values: row i of the weight is i."""
    x = paddle.static.data("x", [None, 3], "float32")
    weight = np.repeat(np.arange(3, dtype="float32")[:, None], 2, 1)
    attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(weight))
    return paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 2, weight_attr=attr))


def sgd(paddle):
    return paddle.optimizer.SGD(learning_rate=0.1)


def momentum(paddle):
    schedule = paddle.optimizer.lr.StepDecay(0.1, step_size=5, gamma=0.5)
    clip = paddle.nn.ClipGradByGlobalNorm(0.5)
    return paddle.optimizer.Momentum(schedule, 0.9, weight_decay=0.01, grad_clip=clip)


def adam(paddle):
    return paddle.optimizer.Adam(learning_rate=0.01, grad_clip=paddle.nn.ClipGradByNorm(0.3))


def adagrad(paddle):
    return paddle.optimizer.Adagrad(
        learning_rate=0.05, weight_decay=paddle.regularizer.L1Decay(0.001)
    )


CASES = {
    "mlp_sgd": (mlp, sgd),
    "mlp_momentum": (mlp, momentum),
    "mlp_adam": (mlp, adam),
    "lenet_momentum": (lenet, momentum),
    "lenet_adam": (lenet, adam),
    "word2vec_sgd": (word2vec, sgd),
    "ctr_adam": (ctr, adam),
    "ctr_adagrad": (ctr, adagrad),
}


def train(paddle, case, initial=None):
    """Run a case; returns what was fetched at each step, the first values of the parameters and the
    last ones.

    ``initial`` gives first values in place of those of the startup program.
    """
    build, make_optimizer = CASES[case]
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        loss, others, feed = build(paddle)
        optimizer = make_optimizer(paddle)
        optimizer.minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    scope = (
        paddle.static.global_scope().__class__()
        if initial is not None
        else paddle.static.global_scope()
    )
    with paddle.static.scope_guard(scope):
        exe.run(startup)
        names = [p.name for p in main.all_parameters()]
        for name, value in (initial or {}).items():
            scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
        first = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
        fetched = []
        for step in range(STEPS):
            values = exe.run(main, feed=feed(step), fetch_list=[loss, *others])
            fetched.append([float(np.asarray(v).reshape(-1)[0]) for v in values])
            if callable(getattr(optimizer, "_learning_rate", None)):
                optimizer._learning_rate.step()
        last = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
    return np.array(fetched), first, last
