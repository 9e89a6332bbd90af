"""The names of real Paddle, as recorded in ``tests/names``: each is here, or missing on purpose.

``tests/names/missing-on-purpose.txt`` groups what is missing by its reason; ``*`` stands for all
names of a module. Whoever adds a name takes it off that file. Where a name exists here but not at
all of Paddle's paths, a row of ``src/argosy/paths.txt`` is what is missing.
"""

import functools
import importlib
import importlib.util
from pathlib import Path

import pytest

from argosy.foundation.errors import NotSupported

NAMES = Path(__file__).resolve().parents[1] / "names"
VERSIONS = ("1.8.5", "2.6.2", "3.3.1")


def _rows(text):
    for line in text.replace("\n  ", " ").splitlines():
        module, _, names = line.partition(": ")
        yield module, frozenset(names.split())


@functools.cache
def _recorded(version):
    return dict(_rows((NAMES / f"paddle-{version}.txt").read_text()))


@functools.cache
def _wanted():
    """The names of all versions by their module."""
    wanted = {}
    for version in VERSIONS:
        for module, names in _recorded(version).items():
            wanted[module] = wanted.get(module, frozenset()) | names
    return wanted


@functools.cache
def _missing():
    """What argosy lacks of them, as (module, name) pairs."""
    return frozenset(
        (module, name)
        for module, names in _wanted().items()
        for name in names
        if not _has(_module(module), name)
    )


def _module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def _has(module, name):
    try:
        return module is not None and hasattr(module, name)
    except NotSupported:
        return False


@functools.cache
def _on_purpose():
    """The pairs that are missing on purpose, by their reason."""
    pairs = {}
    for part in (NAMES / "missing-on-purpose.txt").read_text().split("# ")[1:]:
        reason, _, rows = part.partition("\n")
        pairs[reason] = {
            (module, name)
            for module, names in _rows(rows.strip())
            for name in (_wanted()[module] if names == {"*"} else names)
        }
    return pairs


def _shown(pairs):
    return [f"{module}.{name}" for module, name in sorted(pairs)]


def test_what_is_missing_is_missing_on_purpose():
    assert _shown(_missing() - set().union(*_on_purpose().values())) == []


def test_what_is_there_is_not_called_missing():
    assert _shown(set().union(*_on_purpose().values()) - _missing()) == []


def test_each_missing_name_has_one_reason():
    every = [pair for pairs in _on_purpose().values() for pair in pairs]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("version", VERSIONS)
def test_most_modules_and_names_are_there(version, capsys):
    recorded = [(module, name) for module, names in _recorded(version).items() for name in names]
    there = [pair for pair in recorded if pair not in _missing()]
    with capsys.disabled():
        print(f"\nPaddle {version}: {len(there)} of {len(recorded)} public names", end="")
        for reason, pairs in _on_purpose().items():
            print(f"\n  {len(pairs.intersection(recorded)):5} missing: {reason}", end="")
        print()
    assert len(there) > len(recorded) / 2
