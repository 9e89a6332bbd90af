"""Small trainings with Fleet that real Paddle and argosy run alike: two workers, each on its half
of every batch.

``DYGRAPH`` and ``PROGRAMS`` name them. Where Paddle's dygraph leaves a switch to the script (merged
gradients, recomputation, LAMB), the script does by hand what the switch means; the tests turn the
switch on instead.
"""

import itertools

import numpy as np

STEPS, ROWS, WIDTHS = 8, 12, (6, 8, 5, 3)
PARAMETERS = ["w0", "b0", "w1", "b1", "w2", "b2"]


def values():
    draw = np.random.RandomState(7)
    found = {}
    for i, (rows, columns) in enumerate(itertools.pairwise(WIDTHS)):
        found[f"w{i}"] = draw.normal(0.0, 0.5, (rows, columns)).astype("float32")
        found[f"b{i}"] = draw.normal(0.0, 0.1, (columns,)).astype("float32")
    return found


def batches():
    draw = np.random.RandomState(11)
    for _ in range(STEPS):
        yield (
            draw.normal(size=(ROWS, WIDTHS[0])).astype("float32"),
            draw.randint(0, WIDTHS[-1], (ROWS, 1)),
        )


def schedule(paddle):
    lr = paddle.optimizer.lr
    return lr.LinearWarmup(lr.StepDecay(0.2, 2, 0.5), 3, 0.05, 0.2)


def rules(paddle):
    """Optimizers by name: from a learning rate or schedule, and what says which parameters."""
    o, nn = paddle.optimizer, paddle.nn
    decay = paddle.regularizer.L2Decay(0.01)
    return {
        "sgd": lambda **own: o.SGD(0.2, **own),
        "momentum": lambda **own: o.Momentum(0.1, 0.9, **own),
        "decayed": lambda **own: o.Momentum(0.1, 0.9, weight_decay=decay,
        grad_clip=nn.ClipGradByGlobalNorm(0.3), **own),
        "adam": lambda **own: o.Adam(0.02, grad_clip=nn.ClipGradByNorm(0.2), **own),
        "plain_adam": lambda **own: o.Adam(0.02, **own),
        "adamw": lambda **own: o.AdamW(schedule(paddle), weight_decay=0.1,
        grad_clip=nn.ClipGradByGlobalNorm(0.3), **own),
        "scheduled": lambda **own: o.SGD(schedule(paddle), **own),
        "lamb": lambda **own: o.Lamb(
            0.02, lamb_weight_decay=0.05,
            exclude_from_weight_decay_fn=lambda p: p.name.startswith("b"), epsilon=1e-8, **own
        ),
    }  # fmt: skip


def advance(optimizer):
    rate = optimizer._learning_rate
    if hasattr(rate, "step"):
        rate.step()


# name -> rule, switches of the strategy, what the script does itself in Paddle
DYGRAPH = {
    "plain": ("sgd", {}, ""),
    "decayed": ("decayed", {}, ""),
    "adam": ("adam", {}, ""),
    "scheduled": ("adamw", {}, ""),
    "buckets": ("momentum", {"fuse_grad_size_in_MB": 1, "last_comm_group_size_MB": 1}, ""),
    "unused": ("momentum", {"find_unused_parameters": True}, "skips"),
    "sharding": ("adamw", {"hybrid_configs": {"dp_degree": 1, "sharding_degree": 2}}, ""),
    "merged": ("momentum", {}, "merges"),
    "recomputed": ("adam", {}, "recomputes"),
    "lamb": ("lamb", {}, ""),
}
MERGE = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": True}}
MERGE_SUM = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 3, "avg": False}}
LARS = {
    "lars": True,
    "lars_configs": {
        "lars_coeff": 0.05,
        "lars_weight_decay": 0.02,
        "epsilon": 1e-6,
        "exclude_from_weight_decay": ["b"],
    },
}
# names that end so; "w" would exclude all matrices if it were looked for anywhere, as lars does
LAMB = {
    "lamb": True,
    "lamb_configs": {
        "lamb_weight_decay": 0.05,
        "exclude_from_weight_decay": ["b0", "b1", "b2", "w"],
    },
}
LOCAL = {"localsgd": True, "localsgd_configs": {"k_steps": 3, "begin_step": 2}}
ADAPTIVE = {
    "adaptive_localsgd": True,
    "adaptive_localsgd_configs": {"init_k_steps": 2, "begin_step": 1},
}
PROGRAMS = {
    "program_plain": ("adam", {}),
    "program_decayed": ("decayed", {}),
    "program_scheduled": ("scheduled", {}),
    "program_recomputed": ("momentum", {"recompute": True}),
    "program_merged": ("momentum", MERGE),
    "program_merged_sum": ("sgd", MERGE_SUM),
    "program_lars": ("momentum", LARS),
    "program_lamb": ("plain_adam", LAMB),
    "program_merged_recomputed": ("adam", {**MERGE, "recompute": True}),
    "program_localsgd": ("momentum", LOCAL),
    "program_adaptive_localsgd": ("scheduled", ADAPTIVE),
}


def strategy_of(fleet, switches):
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    return strategy


def attribute(paddle, name):
    return paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Assign(values()[name]))


def layer(paddle):
    nn = paddle.nn

    class Classifier(nn.Layer):
        """With ``recompute``, the middle is computed again in backward; ``skips`` leaves it out on
        odd steps.
        """

        def __init__(self):
            super().__init__()
            self.recompute, self.skips, self.step = None, False, 0
            for i, (rows, columns) in enumerate(itertools.pairwise(WIDTHS)):
                made = nn.Linear(
                    rows, columns, attribute(paddle, f"w{i}"), attribute(paddle, f"b{i}")
                )
                setattr(self, f"linear{i}", made)

        def middle(self, hidden):
            return nn.functional.tanh(self.linear1(hidden))

        def forward(self, x):
            hidden = nn.functional.tanh(self.linear0(x))
            self.step += 1
            if self.skips and self.step % 2:
                return self.linear2(hidden[:, :5])
            hidden = (
                self.middle(hidden)
                if self.recompute is None
                else self.recompute(self.middle, hidden, use_reentrant=False)
            )
            return self.linear2(hidden)

    return Classifier()


def train_layer(paddle, fleet, name, rank, world_size, switches=None, by_hand=None, rule=None):
    """Losses of this worker and last parameters. Tests may give other switches, rule and what the
    script does itself.
    """
    planned_rule, planned, does = DYGRAPH.get(name, (rule, {}, ""))
    does = does if by_hand is None else by_hand
    fleet.init(
        is_collective=True, strategy=strategy_of(fleet, planned if switches is None else switches)
    )
    plain = layer(paddle)
    plain.skips = does == "skips"
    plain.recompute = fleet.utils.recompute if does == "recomputes" else None
    optimizer = rules(paddle)[rule or planned_rule](parameters=plain.parameters())
    model = fleet.distributed_model(plain)
    inner = optimizer
    optimizer = fleet.distributed_optimizer(optimizer)
    losses = []
    for number, (x, y) in enumerate(batches()):
        x, y = paddle.to_tensor(x[rank::world_size]), paddle.to_tensor(y[rank::world_size])
        if does == "merges":
            losses.append(_merge(paddle, model, x, y, optimizer, number % 2 == 1))
        else:
            loss = paddle.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step(**({"loss": loss} if does == "gives the loss" else {}))
            optimizer.clear_grad()
            losses.append(float(loss))
        advance(inner)
    return {"losses": np.array(losses), **{p.name: p.numpy() for p in plain.parameters()}}


def _merge(paddle, model, x, y, optimizer, is_last):
    """Half of a merged update."""
    if is_last:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        (loss / 2).backward()
        optimizer.step()
        optimizer.clear_grad()
        return float(loss)
    with model.no_sync():
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        (loss / 2).backward()
    return float(loss)


def train_program(paddle, fleet, name, rank, world_size, prepare=None, extra=None):
    """The same as a program. ``prepare`` is called with the programs before they run; ``extra``
    switches are added.
    """
    rule, switches = PROGRAMS[name]
    static, tanh = paddle.static, paddle.nn.functional.tanh
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        hidden, y, points = (
            static.data("x", [None, WIDTHS[0]]),
            static.data("y", [None, 1], "int64"),
            [],
        )
        for i, columns in enumerate(WIDTHS[1:]):
            attributes = {
                "weight_attr": attribute(paddle, f"w{i}"),
                "bias_attr": attribute(paddle, f"b{i}"),
            }
            hidden = static.nn.fc(hidden, columns, **attributes)
            if i < 2:
                hidden = tanh(hidden)
                points.append(hidden.name)
        loss = paddle.nn.functional.cross_entropy(hidden, y)
        if switches.get("recompute"):
            switches = {**switches, "recompute_configs": {"checkpoints": points}}
        inner = rules(paddle)[rule]()
        optimizer = fleet.distributed_optimizer(
            inner, strategy_of(fleet, {**switches, **(extra or {})})
        )
        optimizer.minimize(loss, startup)
    if prepare is not None:
        prepare(main, startup)
    scope, exe, losses = static.Scope(), static.Executor(paddle.CPUPlace()), []
    with static.scope_guard(scope):
        exe.run(startup)
        for x, y in batches():
            [found] = exe.run(
                main, feed={"x": x[rank::world_size], "y": y[rank::world_size]}, fetch_list=[loss]
            )
            losses.append(float(np.ravel(found)[0]))
            advance(inner)
        last = {n: np.array(scope.find_var(n).get_tensor()) for n in PARAMETERS}
    return {"losses": np.array(losses), **last}
