"""What ``auto`` chooses between hosts: a pure function of three numbers."""

from __future__ import annotations

import pytest

import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.planning.links import ROWS, Link, choose_form
from argosy.distributed.fleet.planning.strategy_plan import Facts, make_plan

GIGABIT = 125e6


@pytest.mark.parametrize(
    ("bytes_per_s", "compute_s", "switch"),
    [
        (GIGABIT * 100, 0.03, ""),  # 2.4 ms
        (GIGABIT, 0.21, ""),  # 237 ms, packed 204
        (GIGABIT, 0.2, "fp16_allreduce"),
        (GIGABIT * 3, 0.07, "fp16_allreduce"),  # 79 ms: too fast to be packed
        (GIGABIT, 0.1, "int8_allreduce"),
        (GIGABIT, 0.03, "int8_allreduce"),  # it hides no more
    ],
)
def test_the_mildest_form_that_hides(bytes_per_s, compute_s, switch):
    choice = choose_form(bytes_per_s, compute_s, 29_600_000)
    assert choice.switch == switch
    assert "gradients of 29.6 MB take" in choice.reason
    assert ("waited for in part" in choice.reason) == (compute_s == 0.03 and bytes_per_s == GIGABIT)


def test_the_guess_at_what_a_step_computes():
    link = Link(bytes_per_s=GIGABIT, operations_per_s=6e9)
    assert link.compute_s(4_000_000) == pytest.approx(ROWS * 1e-3)


def plan_of(link, **switches):
    strategy = fleet.DistributedStrategy()
    for name, value in {"auto": True, **switches}.items():
        setattr(strategy, name, value)
    facts = Facts(num_workers=2, optimizer=("SGD",), link=link, gradient_bytes=29_600_000)
    return make_plan(strategy, facts)


def test_a_plan_has_the_choice_and_says_why():
    slow, fast = (
        Link(bytes_per_s=rate, operations_per_s=6e10) for rate in (GIGABIT, GIGABIT * 100)
    )
    plan = plan_of(slow)
    assert "int8_allreduce" in plan
    assert (
        "  auto chose int8_allreduce: gradients of 29.6 MB take 237 ms (204 packed)"
        in plan.describe()
    )
    plan = plan_of(fast)
    assert "int8_allreduce" not in plan
    assert "  auto chose plain gradients: " in plan.describe()
    assert plan_of(None).choices == ()
    plan = plan_of(slow, gradient_merge=True, gradient_merge_configs={"k_steps": 2})
    assert plan.choices == ()  # another switch was set
