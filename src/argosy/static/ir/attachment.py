"""What rooms above hang on a program, at most one value of each kind; the kind says who it belongs
to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar


class Attachment:
    """Base of the kinds."""


class ServerJob(Attachment, ABC):
    """The parameter-server job that a program is part of, which saves and loads the program."""

    @abstractmethod
    def save_persistables(self, executor: Any, dirname: str, program: Any) -> None: ...

    @abstractmethod
    def load_persistables(self, executor: Any, dirname: str, program: Any) -> None: ...

    @abstractmethod
    def save_inference_model(
        self, executor: Any, dirname: str, feed_names: Any, targets: Any
    ) -> None: ...


AnyAttachment = TypeVar("AnyAttachment", bound=Attachment)


class Attachments:
    """By kind."""

    def __init__(self) -> None:
        self._value_by_kind: dict[type[Attachment], Attachment] = {}

    def get(self, kind: type[AnyAttachment]) -> AnyAttachment | None:
        return self._value_by_kind.get(kind)  # type: ignore[return-value]

    def put(self, kind: type[AnyAttachment], value: AnyAttachment) -> None:
        self._value_by_kind[kind] = value
