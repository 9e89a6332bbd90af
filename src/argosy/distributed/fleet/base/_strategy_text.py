"""What ``print(strategy)`` shows: the switches that are on with their settings, then everything
else that differs from its default, then the rest.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.base._message import Message

__all__ = ["overview"]

_NAME, _VALUE = 38, 38
_WIDTH = _NAME + _VALUE + 2


def overview(strategy: Message) -> str:
    """The table of a strategy; ``*`` marks settings that can change results."""
    switches = [f for f in strategy.fields() if not f.is_group and not f.is_list]
    configured = [f for f in switches if f"{f.name}_configs" in _names(strategy)]
    parts = [_border(), _title("DistributedStrategy Overview"), _title("* can change results")]
    for field in configured:
        if getattr(strategy, field.name):
            parts += [_border(), _title(f"{field.name}=True <-> {field.name}_configs"), _line()]
            parts += _rows(getattr(strategy, f"{field.name}_configs"))
    off = [f.name for f in configured if not getattr(strategy, f.name)]
    parts += [_border(), _title("Off"), _line(), *(_title(line) for line in _wrapped(off))]
    parts += [_border(), _title("Environment Flags, Communication Flags"), _line()]
    parts += [
        _row(f.name, getattr(strategy, f.name), f.changes_numbers)
        for f in switches
        if f not in configured
    ]
    hybrid = strategy.hybrid_configs.stored()
    if hybrid:
        parts += [
            _border(),
            _title("hybrid_configs"),
            _line(),
            *_rows(strategy.hybrid_configs, only_set=True),
        ]
    parts += [
        _border(),
        _title("Build Strategy"),
        _line(),
        *_rows(strategy.build_strategy),
        _border(),
    ]
    return "\n".join(parts)


def _names(message: Message) -> set[str]:
    return {field.name for field in message.fields()}


def _rows(message: Message, only_set: bool = False) -> list[str]:
    found = []
    for field in message.fields():
        value = getattr(message, field.name)
        if only_set and field.name not in message.stored():
            continue
        values = value if isinstance(value, list) and value else [value]
        for position, item in enumerate(values):
            found.append(
                _row("" if position else field.name, item, field.changes_numbers and not position)
            )
    return found


def _row(name: str, value: Any, changes_numbers: bool = False) -> str:
    star = "*" if changes_numbers else " "
    return f"    |{star}{name:>{_NAME - 1}}  {_text(value):^{_VALUE}}|"


def _text(value: Any) -> str:
    text = str(value) if str(value).isprintable() else repr(value)
    return text if len(text) <= _VALUE else text[: _VALUE - 3] + "..."


def _wrapped(names: list[str]) -> list[str]:
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 2 > _WIDTH:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + name
    return lines


def _title(text: str) -> str:
    return f"    |{text:^{_WIDTH}}|"


def _border() -> str:
    return f"    +{'=' * _WIDTH}+"


def _line() -> str:
    return f"    +{'-' * _WIDTH}+"
