"""Recomputation: values and gradients of parts that are computed again in backward."""

from __future__ import annotations

import importlib

from goldens.harness import Cases

cases = Cases("recompute")


def layers(paddle, draw, count=4):
    made = []
    for _ in range(count):
        layer = paddle.nn.Linear(3, 3)
        layer.weight.set_value(draw.normal(3, 3) * 0.5)
        layer.bias.set_value(draw.normal(3))
        made.append(layer)
    return made


def results(paddle, x, out, made):
    (out * out).sum().backward()
    return [out, x.grad, *(p.grad for layer in made for p in layer.parameters())]


def add(name, run):
    # sums are taken in another order, and four layers carry that on
    @cases.add(name, rtol=5e-6)
    def case(paddle, draw):
        module = importlib.import_module("paddle.distributed.fleet.recompute")
        made = layers(paddle, draw)
        x = paddle.to_tensor(draw.normal(2, 3), stop_gradient=False)
        return results(paddle, x, run(paddle, module, made, x), made)


def chain(made):
    def run(x):
        for layer in made:
            x = layer(x)
            x = x + x * x * 0.1
        return x

    return run


add("reentrant", lambda paddle, m, made, x: m.recompute(chain(made), x))
add("hooks", lambda paddle, m, made, x: m.recompute(chain(made), x, use_reentrant=False))
add("partly", lambda paddle, m, made, x: chain(made[2:])(m.recompute(chain(made[:2]), x)))
add(
    "nested",
    lambda paddle, m, made, x: m.recompute(
        lambda y: chain(made[2:])(m.recompute(chain(made[:2]), y)), x
    ),
)
add(
    "keyword",
    lambda paddle, m, made, x: m.recompute(lambda y, scale: chain(made)(y) * scale, x, scale=2.0),
)
add(
    "tuple",
    lambda paddle, m, made, x: m.recompute(
        lambda pair, k: chain(made)(pair[0] * pair[1]) + k, (x, x + 1.0), 3
    ),
)
add(
    "several-outputs",
    lambda paddle, m, made, x: sum(m.recompute(lambda y: (chain(made)(y), y * 2.0), x)),
)
# more segments than one fail in Paddle 3.3.1: it passes the rows of a part's result on as arguments
add("sequential", lambda paddle, m, made, x: m.recompute_sequential({"segments": 1}, made, x))
