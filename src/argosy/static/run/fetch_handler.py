"""Fetch handlers: a function of the script that is shown variables from time to time while a
dataset is trained on.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, UsageError
from argosy.static.ir.variable import Variable


class FetchHandler:
    """Derive from it and write ``handler``; it is called every ``period_secs`` seconds with the
    latest values of ``var_dict``, by its keys.

    Example:
        >>> import numpy, paddle.fluid as fluid
        >>> class Show(fluid.executor.FetchHandler):
        ...     def handler(self, res_dict):
        ...         print(res_dict["loss"])
        >>> Show({"loss": "mean_0.tmp_0"}, period_secs=10).handler({"loss": numpy.ones(1)})
        [1.]
    """

    def __init__(self, var_dict: dict[str, Any] | None = None, period_secs: float = 60) -> None:
        if var_dict is None:
            raise BadArgument(
                "FetchHandler: var_dict is needed: a dict of names for the handler and variables"
            )
        self.var_dict = var_dict
        self.period_secs = period_secs

    def handler(self, res_dict: dict[str, np.ndarray]) -> None:
        """Print the first element of each value."""
        sys.stdout.write(
            "".join(f"{key}[0]: {value[0]} " for key, value in res_dict.items()) + "\n"
        )

    @staticmethod
    def help() -> None:
        """Print how to write one."""
        print(FetchHandler.__doc__)


class Watch:
    """Calls a handler in a thread of its own while the ``with`` block runs; an error of the handler
    is raised at the end of the block.

    ``show`` gives it the values of a batch; nothing is called before the first.
    """

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self.names: list[str] = []
        if handler is not None:
            if not hasattr(handler, "handler") or not hasattr(handler, "var_dict"):
                raise UsageError(
                    f"fetch_handler must be a FetchHandler, but is a {type(handler).__name__}"
                )
            if isinstance(handler.var_dict, Mapping):
                given = handler.var_dict.values()
                self.names = [v.name if isinstance(v, Variable) else str(v) for v in given]
            else:
                warnings.warn(
                    "fetch_handler: var_dict must be a dict of names and variables, but is a "
                    f"{type(handler.var_dict).__name__}: nothing is shown",
                    stacklevel=4,
                )
                self._handler = None
        self._latest: list[Any] | None = None
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="argosy-fetch-handler", daemon=True)

    def __enter__(self) -> Watch:
        if self._handler is not None:
            self._thread.start()
        return self

    def show(self, values: list[Any]) -> None:
        self._latest = values

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._handler.period_secs):
                values = self._latest
                if values is not None:
                    arrays = [np.asarray(value.numpy()) for value in values]
                    self._handler.handler(dict(zip(self._handler.var_dict, arrays, strict=True)))
        except BaseException as error:  # raised where the training ends
            self._error = error

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None and kind is None:
            raise self._error
