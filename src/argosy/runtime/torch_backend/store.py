"""torch's store, as a session takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from argosy.foundation.errors import CommError
from argosy.runtime.comm.inner_store import InnerStore

T = TypeVar("T")


class JobStore(InnerStore):
    """``inner``, whose errors are CommError: nobody can tell a store that is gone from one that
    does not answer in time by torch's classes alone, so the text has both.
    """

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.set_timeout(inner.timeout)

    def _ask(self, call: Callable[..., T], *args: Any) -> T:
        try:
            return call(*args)
        except CommError:
            raise
        except RuntimeError as error:
            raise CommError(f"the store of the job: {error}") from error
