"""``fluid.optimizer`` in dygraph, and the schedules of ``fluid.dygraph``."""

import functools

import numpy as np

from goldens.fluid_runs import training
from goldens.harness import Cases

cases = Cases("fluid_optimizers")
case = functools.partial(training, cases)

case("SGD", lambda f, p: f.optimizer.SGDOptimizer(0.1, parameter_list=p))
case("SGD sparse", lambda f, p: f.optimizer.SGD(0.1, parameter_list=p), sparse=True)
case("Momentum", lambda f, p: f.optimizer.MomentumOptimizer(0.1, 0.9, parameter_list=p))
case(
    "Momentum nesterov",
    lambda f, p: f.optimizer.Momentum(0.1, 0.9, parameter_list=p, use_nesterov=True),
)
case("LarsMomentum", lambda f, p: f.optimizer.LarsMomentumOptimizer(0.1, 0.9, parameter_list=p))
case("Adagrad", lambda f, p: f.optimizer.AdagradOptimizer(0.1, parameter_list=p))
case(
    "Adagrad sparse",
    lambda f, p: f.optimizer.Adagrad(0.1, parameter_list=p, initial_accumulator_value=0.1),
    sparse=True,
)
case("Adam", lambda f, p: f.optimizer.AdamOptimizer(parameter_list=p))
case("Adam settings", lambda f, p: f.optimizer.Adam(0.1, 0.8, 0.9, 1e-3, parameter_list=p))
case("Adam sparse", lambda f, p: f.optimizer.Adam(0.1, parameter_list=p), sparse=True)
case("Adam lazy", lambda f, p: f.optimizer.Adam(0.1, parameter_list=p, lazy_mode=True), sparse=True)
case("Adamax", lambda f, p: f.optimizer.AdamaxOptimizer(0.1, parameter_list=p))
case("RMSProp", lambda f, p: f.optimizer.RMSPropOptimizer(0.1, parameter_list=p))
case(
    "RMSProp centered",
    lambda f, p: f.optimizer.RMSPropOptimizer(0.1, momentum=0.9, centered=True, parameter_list=p),
)
case("Lamb", lambda f, p: f.optimizer.LambOptimizer(0.1, parameter_list=p))
case("named", lambda f, p: f.optimizer.Momentum(0.1, 0.9, parameter_list=p, name="fast"))

case(
    "L2Decay",
    lambda f, p: f.optimizer.SGD(0.1, parameter_list=p, regularization=f.regularizer.L2Decay(0.1)),
)
case(
    "L2Decay Adam",
    lambda f, p: f.optimizer.Adam(
        0.1,
        parameter_list=p,
        regularization=f.regularizer.L2DecayRegularizer(regularization_coeff=0.1),
    ),
)
case(
    "L1Decay",
    lambda f, p: f.optimizer.Momentum(
        0.1, 0.9, parameter_list=p, regularization=f.regularizer.L1Decay(0.1)
    ),
)
case(
    "clip by value",
    lambda f, p: f.optimizer.SGD(0.1, parameter_list=p, grad_clip=f.clip.GradientClipByValue(0.05)),
)
case(
    "clip by norm",
    lambda f, p: f.optimizer.SGD(0.1, parameter_list=p, grad_clip=f.clip.GradientClipByNorm(0.1)),
)
case(
    "clip by global norm",
    lambda f, p: f.optimizer.SGD(
        0.1, parameter_list=p, grad_clip=f.clip.GradientClipByGlobalNorm(0.1)
    ),
)
case(
    "clip global sparse",
    lambda f, p: f.optimizer.SGD(
        0.1, parameter_list=p, grad_clip=f.clip.GradientClipByGlobalNorm(0.1)
    ),
    sparse=True,
)
case(
    "clip and decay",
    lambda f, p: f.optimizer.Adam(
        0.1,
        parameter_list=p,
        regularization=f.regularizer.L2Decay(0.1),
        grad_clip=f.clip.GradientClipByGlobalNorm(0.1),
    ),
)

SCHEDULES = {
    "PiecewiseDecay": lambda d: d.PiecewiseDecay([2, 4], [0.3, 0.2, 0.1], 0),
    "NaturalExpDecay": lambda d: d.NaturalExpDecay(0.3, 2, 0.5),
    "NaturalExpDecay stairs": lambda d: d.NaturalExpDecay(0.3, 2, 0.5, staircase=True),
    "ExponentialDecay": lambda d: d.ExponentialDecay(0.3, 2, 0.5),
    "ExponentialDecay stairs": lambda d: d.ExponentialDecay(
        0.3, 2, 0.5, staircase=True, begin=1, step=2
    ),
    "InverseTimeDecay": lambda d: d.InverseTimeDecay(0.3, 2, 0.5),
    "PolynomialDecay": lambda d: d.PolynomialDecay(0.3, 4, 0.01, power=2.0),
    "PolynomialDecay cycle": lambda d: d.PolynomialDecay(0.3, 2, 0.01, cycle=True),
    "CosineDecay": lambda d: d.CosineDecay(0.3, 2, 4),
    "NoamDecay": lambda d: d.NoamDecay(16, 3),
    "LinearLrWarmup": lambda d: d.LinearLrWarmup(0.3, 3, 0.1, 0.2),
    "LinearLrWarmup of a schedule": lambda d: d.LinearLrWarmup(
        d.ExponentialDecay(0.3, 2, 0.5), 3, 0.0, 0.2
    ),
}
for schedule_name, make in SCHEDULES.items():
    case(
        schedule_name,
        lambda f, p, make=make: f.optimizer.SGD(make(f.dygraph), parameter_list=p),
        steps=6,
    )


@cases.add("schedules by epochs", rtol=1e-6)
def _(fluid, draw):
    made = {
        "step": fluid.dygraph.StepDecay(0.5, step_size=2, decay_rate=0.5),
        "multi": fluid.dygraph.MultiStepDecay(0.5, milestones=[1, 3], decay_rate=0.5),
        "lambda": fluid.dygraph.LambdaDecay(0.5, lr_lambda=lambda e: 0.9**e),
    }
    rates = {key: [] for key in made}
    for _ in range(5):
        for key, schedule in made.items():
            rates[key].append(float(schedule().numpy()[0]))
            schedule.epoch()
    return {key: np.asarray(values) for key, values in rates.items()}


@cases.add("ReduceLROnPlateau", rtol=1e-6)
def _(fluid, draw):
    schedule = fluid.dygraph.ReduceLROnPlateau(0.5, decay_rate=0.5, patience=1, cooldown=1)
    rates = []
    for loss in [3.0, 2.0, 2.5, 2.5, 2.5, 2.5, 2.5, 1.0]:
        schedule.step(fluid.dygraph.to_variable(np.array([loss], "float32")))
        rates.append(float(schedule().numpy()[0]))
    return np.asarray(rates)


@cases.add("resume", rtol=1e-5)
def _(fluid, draw):
    """Stop after two steps, load the state into fresh objects and go on."""
    x, y = draw.normal(4, 3), draw.normal(4, 1)
    start = draw.normal(3, 1)

    def build():
        model = fluid.dygraph.Linear(3, 1, param_attr="w", bias_attr="b")
        rate = fluid.dygraph.ExponentialDecay(0.1, 1, 0.5)
        return model, fluid.optimizer.Adam(rate, parameter_list=model.parameters())

    def steps(model, optimizer, count):
        for _ in range(count):
            out = model(fluid.dygraph.to_variable(x))
            loss = fluid.layers.mean(
                fluid.layers.square_error_cost(out, fluid.dygraph.to_variable(y))
            )
            loss.backward()
            optimizer.minimize(loss)
            model.clear_gradients()

    model, optimizer = build()
    model.weight.set_value(start)
    steps(model, optimizer, 2)
    model_state = {k: v.numpy() for k, v in model.state_dict().items()}
    state = {k: v if isinstance(v, dict) else v.numpy() for k, v in optimizer.state_dict().items()}
    with fluid.unique_name.guard():
        model, optimizer = build()
        model.set_dict(model_state)
        optimizer.set_dict(state)
        steps(model, optimizer, 2)
        return {
            "weight": model.weight.numpy(),
            "bias": model.bias.numpy(),
            "step": state["global_step"],
            "keys": sorted(state),
        }


cases.error(
    "integer rate", lambda f: f.optimizer.SGD(1, parameter_list=f.dygraph.Linear(1, 1).parameters())
)
cases.error(
    "clip of another kind",
    lambda f: f.optimizer.SGD(
        0.1, parameter_list=f.dygraph.Linear(1, 1).parameters(), grad_clip=1.0
    ),
)
cases.error("decreasing milestones", lambda f: f.dygraph.MultiStepDecay(0.5, milestones=[3, 1]))
cases.error("growing decay", lambda f: f.dygraph.StepDecay(0.5, 2, decay_rate=1.5))
cases.error("warm-up downwards", lambda f: f.dygraph.LinearLrWarmup(0.5, 3, 0.2, 0.1))
