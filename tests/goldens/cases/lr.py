"""Learning-rate schedulers: curves of 30 epochs, jumps with step(epoch), state dicts, errors."""

from __future__ import annotations

import math

from goldens.harness import Cases

cases = Cases("lr")

EPOCHS = 30

SETTINGS = {
    "noam": lambda lr: lr.NoamDecay(d_model=64, warmup_steps=10),
    "noam-scaled": lambda lr: lr.NoamDecay(d_model=16, warmup_steps=3, learning_rate=2.0),
    "piecewise": lambda lr: lr.PiecewiseDecay([3, 6, 9], [0.1, 0.2, 0.3, 0.4]),
    "piecewise-resumed": lambda lr: lr.PiecewiseDecay(
        [3, 6, 9], [0.1, 0.2, 0.3, 0.4], last_epoch=5
    ),
    "natural-exp": lambda lr: lr.NaturalExpDecay(0.5, gamma=0.1),
    "inverse-time": lambda lr: lr.InverseTimeDecay(0.5, gamma=0.1),
    "polynomial": lambda lr: lr.PolynomialDecay(0.5, decay_steps=20),
    "polynomial-power": lambda lr: lr.PolynomialDecay(0.5, decay_steps=7, end_lr=0.01, power=2.0),
    "polynomial-cycle": lambda lr: lr.PolynomialDecay(
        0.5, decay_steps=7, end_lr=0.01, power=0.5, cycle=True
    ),
    "warmup": lambda lr: lr.LinearWarmup(0.5, warmup_steps=10, start_lr=0.0, end_lr=0.5),
    "warmup-then-noam": lambda lr: lr.LinearWarmup(
        lr.NoamDecay(8, 5), warmup_steps=4, start_lr=0.1, end_lr=0.5
    ),
    "warmup-then-step": lambda lr: lr.LinearWarmup(
        lr.StepDecay(0.5, 3), warmup_steps=5, start_lr=0.0, end_lr=0.5
    ),
    "warmup-then-cosine": lambda lr: lr.LinearWarmup(
        lr.CosineAnnealingDecay(0.5, 9), 5, start_lr=0.0, end_lr=0.5
    ),
    "exponential": lambda lr: lr.ExponentialDecay(0.5, gamma=0.9),
    "multi-step": lambda lr: lr.MultiStepDecay(0.5, milestones=[2, 5, 11], gamma=0.8),
    "multi-step-default": lambda lr: lr.MultiStepDecay(0.5, milestones=[2, 5, 11]),
    "step": lambda lr: lr.StepDecay(0.5, step_size=5, gamma=0.8),
    "step-integer-rate": lambda lr: lr.StepDecay(1, step_size=5),
    "lambda": lambda lr: lr.LambdaDecay(0.5, lr_lambda=lambda x: 0.95**x),
    "multiplicative": lambda lr: lr.MultiplicativeDecay(0.5, lr_lambda=lambda x: 0.9 + x * 0.001),
    "cosine": lambda lr: lr.CosineAnnealingDecay(0.5, T_max=10),
    "cosine-floor": lambda lr: lr.CosineAnnealingDecay(0.5, T_max=4, eta_min=0.1),
    "cosine-resumed": lambda lr: lr.CosineAnnealingDecay(0.5, T_max=10, last_epoch=3),
    "one-cycle": lambda lr: lr.OneCycleLR(1.0, total_steps=40),
    "one-cycle-linear": lambda lr: lr.OneCycleLR(
        0.5, 35, divide_factor=5, phase_pct=0.2, anneal_strategy="linear"
    ),
    "one-cycle-three-phase": lambda lr: lr.OneCycleLR(
        0.5, 31, end_learning_rate=0.01, three_phase=True
    ),
    "cyclic": lambda lr: lr.CyclicLR(0.1, 0.5, step_size_up=4),
    "cyclic-uneven": lambda lr: lr.CyclicLR(
        0.1, 0.5, step_size_up=3, step_size_down=6, mode="triangular2"
    ),
    "cyclic-exp": lambda lr: lr.CyclicLR(0.1, 0.5, step_size_up=4, mode="exp_range", exp_gamma=0.9),
    "cyclic-own-scale": lambda lr: lr.CyclicLR(
        0.1, 0.5, 4, scale_fn=lambda x: 0.95**x, scale_mode="iterations"
    ),
    "linear": lambda lr: lr.LinearLR(0.5, total_steps=12),
    "linear-down": lambda lr: lr.LinearLR(0.5, total_steps=9, start_factor=1.0, end_factor=0.1),
    "warm-restarts": lambda lr: lr.CosineAnnealingWarmRestarts(0.5, T_0=7),
    "warm-restarts-longer": lambda lr: lr.CosineAnnealingWarmRestarts(
        0.5, T_0=3, T_mult=2, eta_min=0.01
    ),
}


def curve(scheduler, steps=EPOCHS):
    rates = []
    for _ in range(steps):
        rates.append(float(scheduler()))
        scheduler.step()
    return rates


def add(name, make):
    @cases.add(f"curve-{name}", rtol=1e-12)
    def run(paddle, draw):
        scheduler = make(paddle.optimizer.lr)
        return {"rates": curve(scheduler), "epoch": scheduler.last_epoch, "base": scheduler.base_lr}

    @cases.add(f"jump-{name}", rtol=1e-12)
    def jump(paddle, draw):
        scheduler = make(paddle.optimizer.lr)
        rates = []
        for epoch in (4, 0, 9, 10, 2, 17):
            scheduler.step(epoch)
            rates.append(float(scheduler()))
        scheduler.step()
        return {"rates": [*rates, float(scheduler())], "epoch": scheduler.last_epoch}

    @cases.add(f"resume-{name}", rtol=1e-12)
    def resume(paddle, draw):
        first, second = make(paddle.optimizer.lr), make(paddle.optimizer.lr)
        curve(first, 6)
        state = first.state_dict()
        keys = sorted(state)
        second.set_state_dict(state)
        return {"keys": keys, "last_lr": state["last_lr"], "rates": curve(second, 8)}


for _name, _make in SETTINGS.items():
    add(_name, _make)


PLATEAUS = {
    "default": {"patience": 2},
    "max": {"mode": "max", "factor": 0.5, "patience": 1},
    "absolute": {"patience": 1, "threshold": 0.3, "threshold_mode": "abs"},
    "max-absolute": {"mode": "MAX", "patience": 1, "threshold": 0.3, "threshold_mode": "ABS"},
    "cooldown": {"patience": 1, "cooldown": 3, "min_lr": 0.01, "factor": 0.3},
    "epsilon": {"patience": 0, "factor": 0.9, "epsilon": 0.03},
}


def add_plateau(name, settings):
    @cases.add(f"plateau-{name}", rtol=1e-12)
    def run(paddle, draw):
        scheduler = paddle.optimizer.lr.ReduceOnPlateau(0.5, **settings)
        rates = []
        for i in range(EPOCHS):
            metric = 1.0 + math.cos(i * 0.7) * 0.8 / (1 + i * 0.1)
            scheduler.step(metric if i % 2 else paddle.to_tensor(metric, dtype="float64"))
            rates.append(scheduler())
        state = scheduler.state_dict()
        return {
            "rates": rates,
            "keys": sorted(state),
            "best": state["best"],
            "bad": state["num_bad_epochs"],
        }


for _name, _settings in PLATEAUS.items():
    add_plateau(_name, _settings)


@cases.add("own-scheduler", rtol=1e-12)
def _(paddle, draw):
    class Own(paddle.optimizer.lr.LRScheduler):
        def get_lr(self):
            return self.base_lr * 0.5 ** (self.last_epoch // 4)

    scheduler = Own(0.25)
    return {"rates": curve(scheduler), "state": scheduler.state_dict()}


@cases.add("optimizer-follows", rtol=1e-12)
def _(paddle, draw):
    scheduler = paddle.optimizer.lr.StepDecay(0.5, 2)
    w = paddle.create_parameter([2], "float32")
    optimizer = paddle.optimizer.SGD(scheduler, parameters=[w])
    rates = []
    for _ in range(5):
        rates.append(optimizer.get_lr())
        scheduler.step()
    optimizer.set_lr_scheduler(paddle.optimizer.lr.ExponentialDecay(0.3, 0.5))
    return [*rates, optimizer.get_lr()]


ERRORS = {
    "negative-rate": lambda lr: lr.StepDecay(-0.1, 3),
    "rate-type": lambda lr: lr.StepDecay("0.1", 3),
    "noam-d-model": lambda lr: lr.NoamDecay(0, 3),
    "piecewise-empty": lambda lr: lr.PiecewiseDecay([], [0.1]),
    "piecewise-short": lambda lr: lr.PiecewiseDecay([1, 2], [0.1, 0.2]),
    "natural-exp-gamma": lambda lr: lr.NaturalExpDecay(0.1, -1.0),
    "exponential-gamma": lambda lr: lr.ExponentialDecay(0.1, 1.5),
    "polynomial-steps": lambda lr: lr.PolynomialDecay(0.1, 0),
    "polynomial-power": lambda lr: lr.PolynomialDecay(0.1, 5, power=0.0),
    "warmup-order": lambda lr: lr.LinearWarmup(0.1, 5, 0.5, 0.1),
    "warmup-type": lambda lr: lr.LinearWarmup("a", 5, 0.0, 0.1),
    "milestones-type": lambda lr: lr.MultiStepDecay(0.1, 5),
    "milestones-order": lambda lr: lr.MultiStepDecay(0.1, [5, 3]),
    "multi-step-gamma": lambda lr: lr.MultiStepDecay(0.1, [5], gamma=1.0),
    "step-type": lambda lr: lr.StepDecay(0.1, 2.5),
    "step-zero": lambda lr: lr.StepDecay(0.1, 0),
    "lambda-type": lambda lr: lr.LambdaDecay(0.1, 3),
    "multiplicative-type": lambda lr: lr.MultiplicativeDecay(0.1, 3),
    "plateau-mode": lambda lr: lr.ReduceOnPlateau(0.1, mode="middle"),
    "plateau-factor": lambda lr: lr.ReduceOnPlateau(0.1, factor=1.0),
    "plateau-threshold": lambda lr: lr.ReduceOnPlateau(0.1, threshold_mode="x"),
    "plateau-rate": lambda lr: lr.ReduceOnPlateau("0.1"),
    "plateau-metric": lambda lr: lr.ReduceOnPlateau(0.1).step("good"),
    "cosine-type": lambda lr: lr.CosineAnnealingDecay(0.1, 2.5),
    "cosine-zero": lambda lr: lr.CosineAnnealingDecay(0.1, 0),
    "one-cycle-steps": lambda lr: lr.OneCycleLR(0.1, 0),
    "one-cycle-steps-type": lambda lr: lr.OneCycleLR(0.1, 2.5),
    "one-cycle-phase": lambda lr: lr.OneCycleLR(0.1, 10, phase_pct=1.5),
    "one-cycle-three-phase": lambda lr: lr.OneCycleLR(0.1, 10, phase_pct=0.5, three_phase=True),
    "one-cycle-strategy": lambda lr: lr.OneCycleLR(0.1, 10, anneal_strategy="square"),
    "one-cycle-too-far": lambda lr: lr.OneCycleLR(0.1, 10).step(11),
    "cyclic-up": lambda lr: lr.CyclicLR(0.1, 0.5, 0),
    "cyclic-up-type": lambda lr: lr.CyclicLR(0.1, 0.5, 2.5),
    "cyclic-mode": lambda lr: lr.CyclicLR(0.1, 0.5, 2, mode="square"),
    "cyclic-scale-mode": lambda lr: lr.CyclicLR(0.1, 0.5, 2, scale_mode="square"),
    "linear-start": lambda lr: lr.LinearLR(0.1, 5, start_factor=0.0),
    "linear-end": lambda lr: lr.LinearLR(0.1, 5, end_factor=1.5),
    "linear-steps": lambda lr: lr.LinearLR(0.1, 0),
    "restarts-t0": lambda lr: lr.CosineAnnealingWarmRestarts(0.1, 0),
    "restarts-mult": lambda lr: lr.CosineAnnealingWarmRestarts(0.1, 3, T_mult=0),
    "restarts-negative": lambda lr: lr.CosineAnnealingWarmRestarts(0.1, 3).step(-1),
    "state-missing": lambda lr: lr.StepDecay(0.1, 3).set_state_dict({"last_lr": 0.1}),
    "no-get-lr": lambda lr: lr.LRScheduler(0.1),
}

for _name, _call in ERRORS.items():
    cases.error(f"error-{_name}", lambda paddle, call=_call: call(paddle.optimizer.lr))
