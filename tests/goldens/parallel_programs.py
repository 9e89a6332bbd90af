"""Programs that run on two CPU places in golden data of Paddle 1.8.5. Works on Python 3.7."""

import numpy as np

STEPS, ROWS = 10, 8
CASES = ("sgd", "momentum", "adam", "one", "reduce", "customized", "batch_norm", "scheduled")


def _optimizer(fluid, case):
    if case == "momentum":
        return fluid.optimizer.Momentum(
            0.1,
            0.9,
            regularization=fluid.regularizer.L2Decay(0.01),
            grad_clip=fluid.clip.GradientClipByGlobalNorm(0.3),
        )
    if case in ("adam", "reduce"):
        return fluid.optimizer.Adam(0.02)
    if case == "scheduled":
        return fluid.optimizer.SGD(fluid.layers.piecewise_decay([3, 6], [0.3, 0.1, 0.03]))
    return fluid.optimizer.SGD(0.2)


def build(fluid, case):
    """A classifier; returns the loss."""
    x = fluid.data("x", [None, 5])
    y = fluid.data("y", [None, 1], "int64")
    hidden = fluid.layers.fc(x, 6, act="tanh")
    if case == "batch_norm":
        hidden = fluid.layers.batch_norm(
            hidden, moving_mean_name="mean", moving_variance_name="variance"
        )
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(fluid.layers.fc(hidden, 3), y))
    _optimizer(fluid, case).minimize(loss)
    return loss


def _strategy(fluid, case):
    strategy = fluid.BuildStrategy()
    scales = fluid.BuildStrategy.GradientScaleStrategy
    if case in ("one", "customized"):
        strategy.gradient_scale_strategy = scales.One if case == "one" else scales.Customized
    if case == "reduce":
        strategy.reduce_strategy = fluid.BuildStrategy.ReduceStrategy.Reduce
    return strategy


def train(fluid, case, first=None):
    """Train from the values ``first``, or from random ones; returns the losses of each place and
    step, first and last values.

    Values are those of parameters and of the statistics of batch normalisation. CPU_NUM must be 2.
    """
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = build(fluid, case)
    scope = fluid.core.Scope()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup, scope=scope)
    names = sorted(p.name for p in main.global_block().all_parameters())
    for name, value in (first or {}).items():
        scope.find_var(name).get_tensor().set(value, fluid.CPUPlace())
    start = _values(scope, names)
    parallel = fluid.ParallelExecutor(
        use_cuda=False,
        loss_name=loss.name,
        main_program=main,
        build_strategy=_strategy(fluid, case),
        scope=scope,
    )
    losses = []
    for step in range(STEPS):
        rng = np.random.RandomState(step)
        feed = {
            "x": rng.normal(size=(ROWS, 5)).astype("float32"),
            "y": rng.randint(0, 3, (ROWS, 1)).astype("int64"),
        }
        if case == "customized":
            feed[loss.name + "@GRAD"] = np.array([0.2, 0.7], "float32")
        losses.append(parallel.run([loss.name], feed=feed)[0])
    if hasattr(parallel, "close"):
        parallel.close()
    return np.array(losses), start, _values(scope, names)


def _values(scope, names):
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}
