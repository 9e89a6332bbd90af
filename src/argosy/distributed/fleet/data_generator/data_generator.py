"""Data generators: the script's ``generate_sample`` makes samples of a line, here they become lines
of the multi-slot format.

Only those lines may go to standard output: what else a reader prints there would be read as data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from argosy.foundation.errors import UsageError

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]

Source = Callable[[], Iterable[Any]]


class _Unwritten(UsageError, NotImplementedError):
    """A method that a subclass must write."""


class DataGenerator:
    """Base: reads lines or a source of its own, batches samples for ``generate_batch``, writes
    lines.
    """

    def __init__(self) -> None:
        self._proto_info: list[tuple[str, str]] | None = None
        self.batch_size_ = 32

    def set_batch(self, batch_size: int) -> None:
        """Say how many samples ``generate_batch`` gets at a time."""
        self.batch_size_ = batch_size

    def run_from_memory(self) -> None:
        """Write what ``generate_sample(None)`` makes."""
        self._write(self.generate_sample(None)())

    def run_from_stdin(self) -> None:
        """Write what ``generate_sample`` makes of each line of standard input."""
        self._write(sample for line in sys.stdin for sample in self.generate_sample(line)())

    def _write(self, samples: Iterable[Any]) -> None:
        for batch in self._batches(samples):
            sys.stdout.writelines(self._gen_str(sample) for sample in self.generate_batch(batch)())

    def _batches(self, samples: Iterable[Any]) -> Iterator[list[Any]]:
        held = []
        for sample in samples:
            if sample is None:
                continue
            held.append(sample)
            if len(held) == self.batch_size_:
                yield held
                held = []
        if held:
            yield held

    def _gen_str(self, line: Any) -> str:
        raise _Unwritten(
            "DataGenerator has no format: derive from MultiSlotDataGenerator or "
            "MultiSlotStringDataGenerator"
        )

    def generate_sample(self, line: str | None) -> Source:
        """Return a function without arguments that yields the samples of ``line``: ``[(name,
        [value, ...]), ...]``, or None to leave it out.
        """
        raise _Unwritten(
            "generate_sample: write it to return a function that yields lists or tuples of "
            "(name, [value, ...])"
        )

    def generate_batch(self, samples: list[Any]) -> Source:
        """Return a function that yields the samples made of a batch of them, say padded to the
        longest; as they are if not written.
        """
        return lambda: iter(samples)


def _fields(sample: Any) -> list[Any] | tuple[Any, ...]:
    if isinstance(sample, zip):
        sample = list(sample)
    if not isinstance(sample, (list, tuple)):
        raise UsageError(
            "the output of process() must be in list or tuple type, as [('words', [1926, 8, "
            "17]), ('label', [1])], "
            f"but is a {type(sample).__name__}"
        )
    return sample


class MultiSlotStringDataGenerator(DataGenerator):
    """Values are strings already and written as they are: the fastest.

    Example:
        >>> import paddle.distributed.fleet as fleet
        >>> fleet.MultiSlotStringDataGenerator()._gen_str([("words", ["1926", "08"]), ("label",
        ...     ["1"])])
        '2 1926 08 1 1\\n'
    """

    def _gen_str(self, line: Any) -> str:
        return " ".join(f"{len(values)} {' '.join(values)}" for _, values in _fields(line)) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """Values are ints or floats; names, their order and the presence of values are checked.

    Example:
        >>> import paddle.distributed.fleet as fleet
        >>> class Reader(fleet.MultiSlotDataGenerator):
        ...     def generate_sample(self, line):
        ...         def samples():
        ...             yield [("words", [1926, 8]), ("label", [0.5])]
        ...         return samples
        >>> Reader().run_from_memory()
        2 1926 8 1 0.5
    """

    def _gen_str(self, line: Any) -> str:
        fields = _fields(line)
        for name, values in fields:
            _check(name, values)
        kinds = [
            "float" if any(isinstance(v, float) for v in values) else "uint64"
            for _, values in fields
        ]
        if self._proto_info is None:
            self._proto_info = [(name, kind) for (name, _), kind in zip(fields, kinds, strict=True)]
        self._check_names([name for name, _ in fields])
        # A slot that has once held a float is one of floats.
        self._proto_info = [
            (name, "float" if "float" in (known, kind) else "uint64")
            for (name, known), kind in zip(self._proto_info, kinds, strict=True)
        ]
        return (
            " ".join(f"{len(values)} {' '.join(map(str, values))}" for _, values in fields) + "\n"
        )

    def _check_names(self, names: list[str]) -> None:
        known = [name for name, _ in self._proto_info or ()]
        if len(names) != len(known):
            raise UsageError(
                "the complete field set of two given line are inconsistent: the first had "
                f"{known}, this one has {names}"
            )
        for name, expected in zip(names, known, strict=True):
            if name != expected:
                raise UsageError(
                    f"the field name of two given line are not match: require<{expected}>, "
                    f"get<{name}>"
                )


def _check(name: Any, values: Any) -> None:
    if not isinstance(name, str):
        raise UsageError(f"name {name!r} must be in str type, but is {type(name)}")
    if not isinstance(values, list):
        raise UsageError(f"field {name!r}: elements {type(values)} must be in list type")
    if not values:
        raise UsageError(
            f"field {name!r}: the elements of each field can not be empty, you need padding it "
            "in process()"
        )
    for value in values:
        if not isinstance(value, (int, float)):
            raise UsageError(
                f"field {name!r}: the type of element {type(value)} must be in int or float"
            )
