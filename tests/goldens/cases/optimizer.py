"""Optimizers: what 20 steps do to a small model, the state they leave, and the settings scripts
combine.

Trajectories allow 3e-6: differences of one ulp per step add up.
"""

from __future__ import annotations

import importlib

import numpy as np

from goldens.harness import Cases

cases = Cases("optimizer")

STEPS = 20
SHOWN = (0, 4, STEPS - 1)


def model(paddle, draw, dtype="float32", attrs=(None, None, None, None)):
    """Weights and biases of two layers, with fixed values."""
    shapes = ([3, 4], [4], [4, 2], [2])
    params = []
    for shape, attr in zip(shapes, attrs, strict=True):
        settings = {} if attr is None else attr(paddle)
        p = paddle.create_parameter(
            shape,
            dtype,
            attr=paddle.ParamAttr(**settings),
            default_initializer=paddle.nn.initializer.Constant(0.0),
        )
        p.set_value(draw.normal(*shape, dtype=dtype) * 0.5)
        params.append(p)
    return params


def loss_of(paddle, params, x, y):
    w1, b1, w2, b2 = params
    h = paddle.matmul(x, w1) + b1
    h = h + h * h * 0.05
    out = paddle.matmul(h, w2) + b2 - y
    return (out * out).mean()


def train(
    paddle, draw, make, *, steps=STEPS, dtype="float32", attrs=(None,) * 4, each=None, groups=None
):
    """Parameters after some of the steps, and the state in the end, keyed by position instead of
    name.
    """
    params = model(paddle, draw, dtype, attrs)
    optimizer = make(paddle, params if groups is None else groups(paddle, params))
    shown = []
    for step in range(steps):
        x = paddle.to_tensor(draw.normal(5, 3, dtype=dtype))
        y = paddle.to_tensor(draw.normal(5, 2, dtype=dtype))
        loss_of(paddle, params, x, y).backward()
        optimizer.step()
        optimizer.clear_grad()
        if each is not None:
            each(paddle, optimizer, step)
        if step in SHOWN:
            shown.append([p.numpy() for p in params])
    return {"params": shown, "state": renamed(optimizer.state_dict(), params)}


def renamed(state, params):
    out = {}
    for key, value in state.items():
        for i, p in enumerate(params):
            if key.startswith(p.name):
                key = f"p{i}{key[len(p.name) :]}"
        out[key] = value
    return out


def rule(kind, /, **settings):
    """``make`` for an optimizer class."""
    settings = {"learning_rate": 0.05, **settings}

    def make(paddle, parameters):
        chosen = {k: v(paddle) if callable(v) and k in LAZY else v for k, v in settings.items()}
        return getattr(paddle.optimizer, kind)(parameters=parameters, **chosen)

    return make


LAZY = ("learning_rate", "weight_decay", "grad_clip")  # settings that may be built from paddle


RULES = {
    "SGD": {},
    "Momentum": {"momentum": 0.8},
    "Adam": {},
    "AdamW": {},
    "Adamax": {},
    "Adagrad": {},
    "RMSProp": {"learning_rate": 0.01},
    "Adadelta": {"learning_rate": 1.0},
    "Lamb": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {"batch_num": 3},
    "Rprop": {"learning_rate": 0.01},
}

DECAYS = [name for name in RULES if name not in ("Lamb", "Rprop", "AdamW")]

L1 = lambda paddle: paddle.regularizer.L1Decay(0.05)  # noqa: E731
L2 = lambda paddle: paddle.regularizer.L2Decay(0.05)  # noqa: E731
GLOBAL_NORM = lambda paddle: paddle.nn.ClipGradByGlobalNorm(0.5)  # noqa: E731
SCHEDULE = lambda paddle: paddle.optimizer.lr.StepDecay(0.05, 4, 0.5)  # noqa: E731


def add(name, make, **kwargs):
    rtol = kwargs.pop("rtol", 3e-6)

    @cases.add(name, rtol=rtol)
    def run(paddle, draw):
        return train(paddle, draw, make, **kwargs)


def step_schedule(paddle, optimizer, step):
    optimizer._learning_rate.step()


for _name, _settings in RULES.items():
    add(f"{_name}-plain", rule(_name, **_settings))
    add(f"{_name}-clip", rule(_name, **_settings, grad_clip=GLOBAL_NORM))
    if _name != "Rprop":
        add(
            f"{_name}-schedule",
            rule(_name, **{**_settings, "learning_rate": SCHEDULE}),
            each=step_schedule,
        )
    add(f"{_name}-float64", rule(_name, **_settings), dtype="float64", steps=6, rtol=1e-7)
for _name in DECAYS:
    add(f"{_name}-decay-float", rule(_name, **RULES[_name], weight_decay=0.05))
    add(f"{_name}-decay-L1", rule(_name, **RULES[_name], weight_decay=L1))
for _name in ("SGD", "Momentum", "Adam"):
    add(f"{_name}-decay-int", rule(_name, **RULES[_name], weight_decay=1), steps=5)
    add(f"{_name}-decay-L2", rule(_name, **RULES[_name], weight_decay=L2))
    add(
        f"{_name}-decay-and-clip",
        rule(_name, **RULES[_name], weight_decay=0.05, grad_clip=GLOBAL_NORM),
    )

add("Momentum-nesterov", rule("Momentum", use_nesterov=True, weight_decay=0.01))
add("Momentum-zero", rule("Momentum", momentum=0.0))
add("Momentum-multi-tensor", rule("Momentum", use_multi_tensor=True))
add("Adam-amsgrad", rule("Adam", amsgrad=True))
add("Adam-betas", rule("Adam", beta1=0.5, beta2=0.9, epsilon=1e-3))
add("Adam-beta-zero", rule("Adam", beta1=0.0, beta2=0.9))
add("Adam-multi-tensor", rule("Adam", use_multi_tensor=True))
add("Adam-named", rule("Adam", name="mine"), steps=3)
add("AdamW-decay", rule("AdamW", weight_decay=0.3))
add("AdamW-no-decay", rule("AdamW", weight_decay=0.0))
add("AdamW-amsgrad", rule("AdamW", amsgrad=True, weight_decay=0.1))
add("Adamax-epsilon", rule("Adamax", epsilon=0.1))
add("Adagrad-initial", rule("Adagrad", initial_accumulator_value=0.5))
add("RMSProp-momentum", rule("RMSProp", learning_rate=0.01, momentum=0.9, rho=0.9))
add("RMSProp-centered", rule("RMSProp", learning_rate=0.01, centered=True, epsilon=1e-3))
add("Lamb-always-adapt", rule("Lamb", always_adapt=True, lamb_weight_decay=0.0))
add("Lamb-no-decay", rule("Lamb", lamb_weight_decay=0.0))
add("NAdam-momentum-decay", rule("NAdam", momentum_decay=0.1))
add("RAdam-small-beta2", rule("RAdam", beta2=0.9))
add("ASGD-one", rule("ASGD", batch_num=1))
add(
    "Rprop-range",
    rule("Rprop", learning_rate=0.01, learning_rate_range=(0.005, 0.02), etas=(0.4, 1.5)),
)
add("clip-by-value", rule("Adam", grad_clip=lambda paddle: paddle.nn.ClipGradByValue(0.05)))
add("clip-by-norm", rule("SGD", grad_clip=lambda paddle: paddle.nn.ClipGradByNorm(0.1)))


@cases.add("AdamW-decay-fun", rtol=3e-6)
def _(paddle, draw):
    chosen = []

    def make(paddle, params):
        chosen.extend(p.name for p in params[::2])
        return paddle.optimizer.AdamW(
            0.05,
            parameters=params,
            weight_decay=0.3,
            apply_decay_param_fun=lambda name: name in chosen,
        )

    return train(paddle, draw, make)


@cases.add("Lamb-exclude", rtol=3e-6)
def _(paddle, draw):
    def make(paddle, params):
        excluded = {p.name for p in params[1::2]}
        return paddle.optimizer.Lamb(
            0.05,
            parameters=params,
            lamb_weight_decay=0.1,
            exclude_from_weight_decay_fn=lambda p: p.name in excluded,
        )

    return train(paddle, draw, make)


def lars(**settings):
    def make(paddle, params):
        rules = importlib.import_module("paddle.incubate.optimizer")
        return rules.LarsMomentumOptimizer(0.1, 0.9, parameter_list=params, **settings)

    return make


add("Lars", lars(lars_coeff=0.1))
add("Lars-epsilon", lars(lars_coeff=0.1, epsilon=0.01, lars_weight_decay=0.01))
add("Lars-no-decay", lars(lars_weight_decay=0.0), steps=5)

ATTRS = {
    "rate": ((lambda p: {"learning_rate": 0.1}), None, (lambda p: {"learning_rate": 3.0}), None),
    "L1": ((lambda p: {"regularizer": p.regularizer.L1Decay(0.1)}), None, None, None),
    "L2": ((lambda p: {"regularizer": p.regularizer.L2Decay(0.1)}), None, None, None),
    "frozen": ((lambda p: {"trainable": False}), None, None, None),
    "no-clip": (None, (lambda p: {"need_clip": False}), None, (lambda p: {"need_clip": False})),
}
for _name in ("SGD", "Momentum", "Adam", "AdamW", "RMSProp"):
    for _attr, _attrs in ATTRS.items():
        _extra = {"grad_clip": GLOBAL_NORM} if _attr == "no-clip" else {}
        add(
            f"attr-{_attr}-{_name}",
            rule(_name, **{**RULES[_name], **_extra}, weight_decay=0.02),
            attrs=_attrs,
            rtol=5e-5,
        )


def two_groups(**second):
    def groups(paddle, params):
        chosen = {k: v(paddle) if callable(v) else v for k, v in second.items()}
        return [{"params": params[:2]}, {"params": params[2:], **chosen}]

    return groups


GROUPS = {
    "rate": two_groups(learning_rate=0.1),
    "decay": two_groups(weight_decay=0.3),
    "decay-none": two_groups(weight_decay=None),
    "clip": two_groups(grad_clip=lambda paddle: paddle.nn.ClipGradByNorm(0.05)),
}
for _name in ("SGD", "Momentum", "Adam", "Adagrad"):
    for _group, _groups in GROUPS.items():
        _settings = {**RULES[_name], "weight_decay": 0.02, "grad_clip": GLOBAL_NORM}
        add(f"group-{_group}-{_name}", rule(_name, **_settings), groups=_groups)
add("group-rate-AdamW", rule("AdamW", weight_decay=0.1), groups=GROUPS["rate"])
add("group-decay-AdamW", rule("AdamW", weight_decay=0.1), groups=GROUPS["decay"])
add("group-momentum", rule("Momentum"), groups=two_groups(momentum=0.5, use_nesterov=True))
add("group-betas-Adam", rule("Adam"), groups=two_groups(beta1=0.5, beta2=0.9, epsilon=0.1))
add("group-betas-AdamW", rule("AdamW"), groups=two_groups(beta1=0.5, beta2=0.9, epsilon=0.1))
add(
    "group-rho-RMSProp",
    rule("RMSProp", learning_rate=0.01),
    groups=two_groups(rho=0.8, centered=True),
)
add(
    "group-attr-replaced",
    rule("SGD", weight_decay=0.1),
    groups=two_groups(learning_rate=0.5),
    attrs=ATTRS["L1"],
)


def once(paddle, draw, params, batch=5):
    loss = loss_of(
        paddle,
        params,
        paddle.to_tensor(draw.normal(batch, 3)),
        paddle.to_tensor(draw.normal(batch, 2)),
    )
    loss.backward()
    return loss


@cases.add("minimize", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    loss = once(paddle, draw, params)
    ops, pairs = adam.minimize(loss)
    return {
        "params": params,
        "ops": len(ops),
        "grads": [g for _, g in pairs],
        "same": [p is q for (p, _), q in zip(pairs, params, strict=True)],
    }


@cases.add("minimize-some", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    for _ in range(3):
        adam.minimize(once(paddle, draw, params), parameters=params[:1])
        adam.clear_grad()
    once(paddle, draw, params)
    adam.step()
    return {"params": params, "state": renamed(adam.state_dict(), params)}


@cases.add("apply-gradients", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Momentum(0.1, parameters=params, weight_decay=0.1)
    for _ in range(2):
        grads = [paddle.to_tensor(draw.normal(*p.shape)) for p in params]
        adam.apply_gradients(list(zip(params, grads, strict=True)))
    return {"params": params, "state": renamed(adam.state_dict(), params)}


@cases.add("step-after-clear-grad", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    once(paddle, draw, params)
    adam.step()
    adam.clear_grad()
    grads = [p.grad for p in params]
    adam.step()
    return {"params": params, "grads": grads, "state": renamed(adam.state_dict(), params)}


@cases.add("step-after-clear-grad-to-none", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    once(paddle, draw, params)
    adam.step()
    adam.clear_grad(set_to_zero=False)
    grads = [p.grad for p in params]
    adam.step()
    return {"params": params, "grads": grads, "state": renamed(adam.state_dict(), params)}


@cases.add("step-without-gradients")
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    adam.step()
    adam.clear_grad()
    return {"params": params, "grads": [p.grad for p in params], "keys": len(adam.state_dict())}


@cases.add("gradients-come-and-go", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params, weight_decay=0.1)
    for step in range(6):
        chosen = params if step % 2 else params[:2]
        sum((p * p * draw.normal(*p.shape)).sum() for p in chosen).backward()
        adam.step()
        adam.clear_grad(set_to_zero=step < 3)
    return {"params": params, "state": renamed(adam.state_dict(), params)}


@cases.add("freeze-midway", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    for step in range(6):
        params[0].stop_gradient = step in (2, 3)
        once(paddle, draw, params)
        adam.step()
        adam.clear_grad()
    return {"params": params, "state": renamed(adam.state_dict(), params)}


@cases.add("set-lr", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    sgd = paddle.optimizer.SGD(0.1, parameters=params)
    rates = []
    for step in range(4):
        once(paddle, draw, params)
        sgd.set_lr(0.5 / (step + 1))
        sgd.step()
        sgd.clear_grad()
        rates.append(sgd.get_lr())
    return {"params": params, "rates": rates}


@cases.add("accumulated-gradients", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    sgd = paddle.optimizer.Momentum(0.1, parameters=params)
    for step in range(6):
        once(paddle, draw, params)
        if step % 3 == 2:
            sgd.step()
            sgd.clear_gradients()
    return {"params": params}


def resume(name, /, **settings):
    @cases.add(f"resume-{name}", rtol=3e-6)
    def run(paddle, draw):
        """Save after 5 steps, restart the names, load into a new model and optimizer, go on."""

        with paddle.utils.unique_name.guard():
            params = model(paddle, draw)
            optimizer = rule(name, **settings)(paddle, params)
            for _ in range(5):
                once(paddle, draw, params)
                optimizer.step()
                optimizer.clear_grad()
            state = {
                k: v if isinstance(v, dict) else v.numpy()
                for k, v in optimizer.state_dict().items()
            }
            values = [p.numpy() for p in params]
        with paddle.utils.unique_name.guard():
            again = model(paddle, draw)
            for p, v in zip(again, values, strict=True):
                p.set_value(v)
            optimizer = rule(name, **settings)(paddle, again)
            optimizer.set_state_dict(state)
            waiting = sorted(optimizer.state_dict())
            for _ in range(3):
                once(paddle, draw, again)
                optimizer.step()
                optimizer.clear_grad()
            return {"waiting": waiting, "params": again, "state": optimizer.state_dict()}


for _name in ("Momentum", "Adam", "AdamW", "Adamax", "Lamb", "RMSProp", "NAdam", "ASGD"):
    resume(_name, **RULES[_name])
resume("SGD", learning_rate=SCHEDULE)


@cases.add("load-after-steps", rtol=3e-6)
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(0.1, parameters=params)
    once(paddle, draw, params)
    adam.step()
    state = {
        k: paddle.to_tensor(v.numpy() * (1.0 if "pow" in k else 0.5))
        for k, v in adam.state_dict().items()
    }
    adam.set_state_dict(state)
    adam.clear_grad()
    once(paddle, draw, params)
    adam.step()
    return {"params": params, "state": renamed(adam.state_dict(), params)}


@cases.add("second-optimizer-keys")
def _(paddle, draw):
    params = model(paddle, draw)
    first = paddle.optimizer.Adam(0.1, parameters=params)
    second = paddle.optimizer.Adam(0.1, parameters=params)
    before = [len(first.state_dict()), len(second.state_dict())]
    once(paddle, draw, params)
    first.step()
    second.step()
    return {
        "before": before,
        "first": list(renamed(first.state_dict(), params)),
        "second": list(renamed(second.state_dict(), params)),
    }


@cases.add("scheduler-state")
def _(paddle, draw):
    params = model(paddle, draw)
    adam = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.5, 2), parameters=params)
    state = adam.state_dict()
    adam._learning_rate.step()
    adam._learning_rate.step()
    moved = adam.get_lr()
    adam.set_state_dict(state)
    return {"state": state, "moved": moved, "restored": adam.get_lr()}


SPARSE = {
    "SGD": {},
    "Momentum": {},
    "Adam": {},
    "Adam-lazy": {"lazy_mode": True},
    "Adagrad": {},
    "RMSProp": {"learning_rate": 0.01},
    "SGD-clip": {"grad_clip": GLOBAL_NORM},
    "Adam-clip": {"grad_clip": GLOBAL_NORM, "lazy_mode": True},
    "SGD-decay": {"weight_decay": 0.1},
}


def add_sparse(name, settings):
    @cases.add(f"sparse-{name}", rtol=3e-6)
    def run(paddle, draw):
        table = paddle.nn.Embedding(7, 3, sparse=True)
        table.weight.set_value(draw.normal(7, 3))
        optimizer = rule(name.split("-")[0], **settings)(paddle, table.parameters())
        for _ in range(5):
            # Sorted, because Paddle's CPU kernels lose rows of an unsorted gradient without
            # repeats.
            ids = paddle.to_tensor(np.sort(draw.integers(4, high=7)))
            (table(ids) * paddle.to_tensor(draw.normal(4, 3))).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
        return {"weight": table.weight, "state": renamed(optimizer.state_dict(), [table.weight])}


for _name, _settings in SPARSE.items():
    add_sparse(_name, _settings)


def add_lbfgs(name, **settings):
    @cases.add(f"LBFGS-{name}", rtol=1e-4)
    def run(paddle, draw):
        """Curvature divides by small differences of gradients, so rounding shows earlier."""
        params = model(paddle, draw)
        x, y = paddle.to_tensor(draw.normal(5, 3)), paddle.to_tensor(draw.normal(5, 2))
        lbfgs = paddle.optimizer.LBFGS(max_iter=3, parameters=params, **settings)

        def closure():
            lbfgs.clear_grad()
            loss = loss_of(paddle, params, x, y)
            loss.backward()
            return loss

        losses = [lbfgs.step(closure) for _ in range(2)]
        state = lbfgs.state_dict()["state"]
        return {
            "losses": losses,
            "params": params,
            "counts": [state["func_evals"], state["n_iter"]],
            "keys": sorted(state),
        }


add_lbfgs("plain", learning_rate=0.1)
add_lbfgs("wolfe", line_search_fn="strong_wolfe")
add_lbfgs("short-history", learning_rate=0.1, history_size=2)


def add_wrapper(name, wrap):
    @cases.add(name, rtol=3e-6)
    def run(paddle, draw):
        incubate = importlib.import_module("paddle.incubate")
        params = model(paddle, draw)
        sgd = paddle.optimizer.SGD(0.02, parameters=params)
        return wrap(paddle, draw, incubate, params, sgd)


def look_ahead(paddle, draw, incubate, params, sgd):
    wrapper = incubate.LookAhead(sgd, alpha=0.3, k=3)
    shown = []
    for _ in range(7):
        once(paddle, draw, params)
        wrapper.step()
        wrapper.clear_grad()
        shown.append([p.numpy() for p in params])
    return {"params": shown, "state": renamed(wrapper.state_dict(), params)}


def averaged(paddle, draw, incubate, params, sgd):
    average = incubate.ModelAverage(
        0.5, parameters=params, min_average_window=2, max_average_window=4
    )
    shown = []
    for step in range(9):
        once(paddle, draw, params)
        sgd.step()
        average.step()
        sgd.clear_grad()
        if step % 2 == 0:
            with average.apply():
                shown.append([p.numpy() for p in params])
    with average.apply(need_restore=False):
        pass
    kept = [p.numpy() for p in params]
    average.restore()
    return {
        "averages": shown,
        "kept": kept,
        "params": params,
        "state": renamed(average.state_dict(), params),
    }


add_wrapper("LookAhead", look_ahead)
add_wrapper("ModelAverage", averaged)


@cases.add("regularizer-strings")
def _(paddle, draw):
    l1, l2 = paddle.regularizer.L1Decay(0.5), paddle.regularizer.L2Decay(0.25)
    x = paddle.to_tensor(np.array([-2.0, 0.0, 3.0], "float32"))
    return {
        "l1": len(str(l1)),
        "same": [str(l1) == "L1Decay, coeff=0.500000", str(l2) == "L2Decay, coeff=0.250000"],
        "x": x,
    }


def weight(paddle):
    return [paddle.create_parameter([2], "float32")]


ERRORS = {
    "no-parameters": lambda p: p.optimizer.SGD(0.1),
    "one-tensor": lambda p: p.optimizer.SGD(0.1, parameters=weight(p)[0]),
    "dict": lambda p: p.optimizer.SGD(0.1, parameters={"params": weight(p)}),
    "integer-rate": lambda p: p.optimizer.Adam(1, parameters=weight(p)),
    "no-rate": lambda p: p.optimizer.SGD(None, parameters=weight(p)),
    "no-rate-adam": lambda p: p.optimizer.Adam(None, parameters=weight(p)),
    "clip-type": lambda p: p.optimizer.SGD(0.1, parameters=weight(p), grad_clip=0.5),
    "group-without-params": lambda p: p.optimizer.SGD(0.1, parameters=[{"param": weight(p)}]),
    "group-set": lambda p: p.optimizer.SGD(0.1, parameters=[{"params": set(weight(p))}]),
    "group-twice": lambda p: (
        lambda w: p.optimizer.SGD(0.1, parameters=[{"params": w}, {"params": w}])
    )(weight(p)),
    "adam-beta1": lambda p: p.optimizer.Adam(0.1, beta1=1.0, parameters=weight(p)),
    "adam-beta2": lambda p: p.optimizer.Adam(0.1, beta2=-0.1, parameters=weight(p)),
    "adam-epsilon": lambda p: p.optimizer.Adam(0.1, epsilon=-1e-3, parameters=weight(p)),
    "adam-none": lambda p: p.optimizer.Adam(0.1, beta1=None, parameters=weight(p)),
    "adamw-decay": lambda p: p.optimizer.AdamW(0.1, parameters=weight(p), weight_decay="0.1"),
    "momentum-none": lambda p: p.optimizer.Momentum(0.1, momentum=None, parameters=weight(p)),
    "rmsprop-rho": lambda p: p.optimizer.RMSProp(0.1, rho=-0.5, parameters=weight(p)),
    "rmsprop-none": lambda p: p.optimizer.RMSProp(0.1, rho=None, parameters=weight(p)),
    "adadelta-none": lambda p: p.optimizer.Adadelta(0.1, rho=None, parameters=weight(p)),
    "asgd-batch": lambda p: p.optimizer.ASGD(0.1, batch_num=0, parameters=weight(p)),
    "rprop-range": lambda p: p.optimizer.Rprop(100.0, parameters=weight(p)),
    "rprop-etas": lambda p: p.optimizer.Rprop(0.1, etas=(1.5, 2.0), parameters=weight(p)),
    "set-lr-type": lambda p: p.optimizer.SGD(0.1, parameters=weight(p)).set_lr("0.1"),
    "set-lr-scheduled": lambda p: p.optimizer.SGD(
        p.optimizer.lr.StepDecay(0.1, 3), parameters=weight(p)
    ).set_lr(0.1),
    "set-scheduler-type": lambda p: p.optimizer.SGD(0.1, parameters=weight(p)).set_lr_scheduler(
        0.1
    ),
    "minimize-type": lambda p: p.optimizer.SGD(0.1, parameters=weight(p)).minimize(0.1),
    "regularizer-none": lambda p: p.regularizer.L2Decay(None),
    "base-class": lambda p: base_step(p),
    "state-of-another": lambda p: foreign_state(p),
    "state-without-scheduler": lambda p: p.optimizer.SGD(
        p.optimizer.lr.StepDecay(0.1, 3), parameters=weight(p)
    ).set_state_dict({}),
    "sparse-decay": lambda p: sparse_decay(p),
    "lbfgs-minimize": lambda p: p.optimizer.LBFGS(parameters=weight(p)).minimize(p.ones([1])),
}


def base_step(paddle):
    w = weight(paddle)
    w[0].sum().backward()
    paddle.optimizer.Optimizer(0.1, parameters=w).step()


def foreign_state(paddle):
    w = weight(paddle)
    w[0].sum().backward()
    first, second = (paddle.optimizer.Adam(0.1, parameters=w) for _ in range(2))
    first.step()
    second.set_state_dict(first.state_dict())
    second.step()


def sparse_decay(paddle):
    table = paddle.nn.Embedding(4, 2, sparse=True)
    adam = paddle.optimizer.Adam(0.1, parameters=table.parameters(), weight_decay=0.1)
    table(paddle.to_tensor([1, 2])).sum().backward()
    adam.step()


for _name, _call in ERRORS.items():
    cases.error(f"error-{_name}", _call)
