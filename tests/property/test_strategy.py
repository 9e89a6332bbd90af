"""Properties of strategies: of their text, and of the plans made from them."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.distributed.fleet.base._field import BOOL, DOUBLE, FLOAT, STRING
from argosy.distributed.fleet.base._message import Message
from argosy.distributed.fleet.base._prototxt import merge, write
from argosy.distributed.fleet.base._strategy_fields import TABLES
from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.planning.settings import Sharding
from argosy.distributed.fleet.planning.strategy_plan import Facts, make_plan

RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1)}
SWITCHES = (
    "amp", "recompute", "gradient_merge", "lars", "lamb", "localsgd", "adaptive_localsgd", "dgc",
    "fp16_allreduce", "int8_allreduce", "factored_allreduce", "powersgd", "diloco", "sharding",
    "sync_batch_norm", "auto",
)  # fmt: skip


def scalars(field):
    if field.choices:
        return st.sampled_from(field.choices)
    if field.kind == BOOL:
        return st.booleans()
    if field.kind == STRING:
        return st.text(max_size=8)
    if field.kind in (FLOAT, DOUBLE):
        return st.floats(allow_nan=False)
    return st.integers(*RANGES[field.kind])


@st.composite
def settings_of(draw, kind, depth=2):
    """Some of the settings of a table, as a dict."""
    fields = [field for field in TABLES[kind] if depth or not field.is_group]
    if not fields:
        return {}
    chosen = draw(st.lists(st.sampled_from(fields), max_size=4, unique_by=lambda f: f.name))
    found = {}
    for field in chosen:
        value = settings_of(field.kind, depth - 1) if field.is_group else scalars(field)
        found[field.name] = draw(st.lists(value, max_size=3) if field.is_list else value)
    return found


@st.composite
def messages(draw):
    message = Message("DistributedStrategy")
    message.update(draw(settings_of("DistributedStrategy")))
    return message


@settings(max_examples=60)
@given(messages())
def test_a_strategy_is_read_as_it_was_written(message):
    found = Message("DistributedStrategy")
    merge(write(message), found, "text")
    assert found == message
    assert write(found) == write(message)


@settings(max_examples=60)
@given(messages(), st.sampled_from([" ", "\n", "\t # a comment\n"]))
def test_space_and_comments_mean_nothing(message, space):
    found = Message("DistributedStrategy")
    spaced = "".join(f"{space}{line}{space}\n" for line in write(message).splitlines())
    merge(spaced, found, "text")
    assert found == message


@st.composite
def strategies(draw):
    """Any switches, with what they need to be followed."""
    strategy = DistributedStrategy()
    for switch in draw(st.sets(st.sampled_from(SWITCHES))):
        setattr(strategy, switch, True)
    strategy.recompute_configs = {"checkpoints": draw(st.lists(st.just("a"), max_size=1))}
    strategy.gradient_merge_configs = {"k_steps": draw(st.integers(1, 3))}
    return strategy


facts = st.builds(
    Facts,
    num_workers=st.integers(1, 4),
    mode=st.sampled_from(["dygraph", "static", "torch"]),
    optimizer=st.sampled_from([(), ("SGD",), ("Momentum",), ("Adam",), ("AdamW", "Adam")]),
    device=st.sampled_from(["cpu", "gpu"]),
)


@given(strategies(), facts)
def test_a_plan_is_a_function_of_its_input(strategy, facts):
    assert make_plan(strategy, facts) == make_plan(strategy, facts)


@given(strategies(), facts)
def test_every_switch_that_is_on_is_in_the_plan_or_said_to_do_nothing(strategy, facts):
    plan = make_plan(strategy, facts)
    said = {note.switch for note in plan.notes}
    for switch in SWITCHES:
        if getattr(strategy, switch) is True and switch != "auto":
            assert (switch in plan) != (switch in said), switch


@given(strategies(), facts)
def test_stages_come_once_and_always_in_one_order(strategy, facts):
    order = [
        *("sync_batch_norm", "amp", "recompute", "data_parallel", "factored_allreduce"),
        *("fp16_allreduce", "int8_allreduce", "dgc", "powersgd"),
        *("gradient_merge", "gradient_scale", "lars", "lamb", "sharding", "localsgd"),
        *("adaptive_localsgd", "diloco"),
    ]
    places = [order.index(stage.name) for stage in make_plan(strategy, facts)]
    assert all(a < b for a, b in itertools.pairwise(places))


@given(strategies(), facts)
def test_one_worker_exchanges_nothing(strategy, facts):
    """In programs one worker rounds its gradients too, as Paddle's does."""
    plan = make_plan(strategy, facts)
    exchanges = {"data_parallel", "dgc", "sharding", "localsgd"}
    if facts.num_workers == 1:
        assert not exchanges & {stage.name for stage in plan}
        assert "fp16_allreduce" not in plan or facts.mode == "static"
    elif "sharding" in plan:
        assert plan[Sharding].degree * plan[Sharding].replicas == facts.num_workers


@given(strategies(), facts)
def test_the_text_of_a_plan_names_every_stage_and_note(strategy, facts):
    plan = make_plan(strategy, facts)
    lines = plan.describe().splitlines()
    assert len(lines) == 1 + max(len(plan.stages), 1) + len(plan.notes)
    for stage, line in zip(plan.stages, lines[1:], strict=False):
        assert f". {stage.name}" in line
