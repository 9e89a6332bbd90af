"""docs/benchmarks.md from kept figures: a pure function, so that a test can compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from figures import Figure, shown

_HEAD = """\
# Benchmarks

Written by `make bench`; do not edit. Each benchmark runs argosy and what it is compared with in one
run, in turns, so that a slow moment of the machine hits both; a figure is the median of the ratios
of neighbouring blocks. `make bench BENCHES="collectives ps"` runs some and leaves the others as
they are; `PADDLE_PYTHON=INTERPRETER` names a Python with Paddle 2.6.2 to compare with.
"""


def render(sections: Mapping[str, Mapping[str, Any]], order: Sequence[str]) -> str:
    """The page: a section for each benchmark, a row for each figure."""
    parts = [_HEAD]
    for name in order:
        if name in sections:
            parts.append(_section(name, sections[name]))
    return "\n".join(parts)


def _section(name: str, section: Mapping[str, Any]) -> str:
    figures = [Figure(**fields) for fields in section["figures"]]
    beside = ", beside real Paddle" if section["paddle"] else ""
    lines = [
        f"## {name.replace('_', ' ')}",
        "",
        f"`benchmarks/bench_{name}.py`{beside}; {section['date']}",
        "",
        f"{section['machine']}",
        "",
        "| what | figure | bar | beside |",
        "|---|---|---|---|",
        *map(_row, figures),
        "",
    ]
    return "\n".join(lines)


def _row(figure: Figure) -> str:
    value = f"{shown(figure.value)} {figure.unit}"
    bar = figure.bar if figure.is_met else f"**{figure.bar}: missed**"
    return f"| {figure.what} | {value} | {bar} | {figure.beside} |"
