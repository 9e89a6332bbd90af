"""Holders of the process's state: what counts as a change, and the way back."""

from __future__ import annotations

import pytest

from argosy.foundation import process_state
from argosy.foundation.errors import InternalError
from argosy.foundation.process_state import Held, changed, names, register, reset_all


@pytest.fixture(autouse=True)
def own_holders(monkeypatch):
    monkeypatch.setattr(process_state, "_holders", {})


class Settings:
    def __init__(self) -> None:
        self.level = 1
        self.seen: list[str] = []


class Slotted:
    __slots__ = ("level",)

    def __init__(self) -> None:
        self.level = 1


def test_a_fresh_holder_is_not_changed():
    assert register("settings", Settings()).level == 1
    assert names() == ["settings"]
    assert changed() == []


def test_a_name_is_registered_once():
    register("settings", Settings())
    with pytest.raises(InternalError, match="'settings' is registered twice"):
        register("settings", Settings())


@pytest.mark.parametrize("kind", [Settings, Slotted])
def test_an_attribute_that_changed_is_put_back(kind):
    holder = register("settings", kind())
    holder.level = 2
    assert changed() == ["settings"]
    reset_all()
    assert holder.level == 1
    assert changed() == []


def test_an_attribute_that_came_is_taken_away():
    holder = register("settings", Settings())
    holder.other = 3
    reset_all()
    assert not hasattr(holder, "other")


def test_a_list_among_the_attributes_counts_by_its_contents():
    holder = register("settings", Settings())
    holder.seen.append("a")
    assert changed() == ["settings"]
    reset_all()
    assert holder.seen == []
    holder.seen.append("b")  # the first state is not this list
    assert changed() == ["settings"]


@pytest.mark.parametrize("first", [[1], {1: 2}, {1}], ids=["list", "dict", "set"])
def test_a_container_is_put_back_in_place(first):
    holder = register("things", first.copy())
    holder.clear()
    assert changed() == ["things"]
    reset_all()
    assert holder == first


def test_only_the_attributes_that_are_named_are_state():
    holder = register("settings", Settings(), attributes=("seen",))
    holder.level = 2
    assert changed() == []
    holder.seen = ["a"]
    reset_all()
    assert (holder.level, holder.seen) == (2, [])


def test_a_value_that_is_held():
    held: Held[str | None] = Held("backend", None)
    held.value = "pil"
    assert changed() == ["backend"]
    reset_all()
    assert held.value is None


def test_a_holder_that_says_itself_what_it_is_and_how_to_start_anew():
    boxes = [[1]]
    register("boxes", boxes, state=lambda: len(boxes[0]), reset=lambda: boxes[0].pop())
    boxes[0].append(2)
    assert changed() == ["boxes"]
    reset_all()
    assert boxes == [[1]]


def test_upper_layers_are_reset_first_and_unchanged_ones_are_left_alone():
    order: list[str] = []
    values = {"lower": 0, "upper": 0, "other": 0}
    for name in values:

        def reset(name=name):
            order.append(name)
            values[name] = 0

        register(name, values, state=lambda name=name: values[name], reset=reset)
    values.update(lower=1, upper=1)
    reset_all()
    assert order == ["upper", "lower"]


def test_one_holder_is_put_back_and_others_are_not():
    first, second = register("first", [1]), register("second", [2])
    first.clear()
    second.clear()
    process_state.reset(["first"])
    assert (first, second) == ([1], [])
