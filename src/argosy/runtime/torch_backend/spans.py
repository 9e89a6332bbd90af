"""What profilers of torch see of a group's calls: spans by the names that gloo's have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.torch_private import enter_span, exit_span
from argosy.runtime.comm.work import Work


def open_span(title: str, tensors: Sequence[torch.Tensor]) -> Any:
    """Begin a span of this thread; the shapes of ``tensors`` are shown."""
    return enter_span(f"argosy:{title}", *tensors)


def around(
    title: str, tensors: Sequence[torch.Tensor], call: Callable[..., Any]
) -> Callable[..., Any]:
    """``call``, in a span that begins now and ends with it, in whatever thread it runs."""
    span = open_span(title, tensors)

    def run(*args: Any) -> Any:
        try:
            return call(*args)
        finally:
            exit_span(span)

    return run


def ended_by(span: Any, work: Work, submit: Callable[..., Any]) -> Work:
    """A work that is done when ``work`` is and ``span`` has ended, in the thread of ``submit``."""
    shown = Work(work.what)

    def end() -> None:
        exit_span(span)
        shown.finish(None if work.error else work.wait(), work.error)

    work.on_done(lambda _: submit(end))
    return shown
