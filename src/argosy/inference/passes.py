"""The lists of passes that a Config keeps. Programs are lowered whole, so no pass of Paddle's is
run: a name in a list changes nothing that is computed.
"""

from __future__ import annotations

from collections.abc import Iterable

from argosy.foundation.errors import OutOfRange
from argosy.inference.kinds import expected


class PaddlePassBuilder:
    """Names of passes, in order."""

    def __init__(self, passes: Iterable[str] = ()) -> None:
        self._passes = list(passes)
        self._analysis: list[str] = []
        self._is_debugged = False

    def all_passes(self) -> list[str]:
        return list(self._passes)

    def set_passes(self, passes: Iterable[str]) -> None:
        self._passes = list(passes)

    def append_pass(self, name: str) -> None:
        self._passes.append(expected("append_pass", "the pass", name, str))

    def insert_pass(self, index: int, name: str) -> None:
        if not 0 <= index <= len(self._passes):
            raise OutOfRange(
                f"insert_pass: index {index} is outside of the {len(self._passes)} passes"
            )
        self._passes.insert(index, expected("insert_pass", "the pass", name, str))

    def delete_pass(self, name: str) -> None:
        """Take a pass off the list; one that is not there is passed over."""
        expected("delete_pass", "the pass", name, str)
        self._passes = [known for known in self._passes if known != name]

    def analysis_passes(self) -> list[str]:
        return list(self._analysis)

    def append_analysis_pass(self, name: str) -> None:
        self._analysis.append(expected("append_analysis_pass", "the pass", name, str))

    def turn_on_debug(self) -> None:
        self._is_debugged = True

    def debug_string(self) -> str:
        """The passes as text."""
        listed = "".join(f"  - {name}\n" for name in self._passes)
        return f"Passes to apply:\n{listed}"

    def copy(self) -> PaddlePassBuilder:
        """A list of one's own with the same passes."""
        other = type(self)(self._passes)
        other._analysis = list(self._analysis)
        other._is_debugged = self._is_debugged
        return other
