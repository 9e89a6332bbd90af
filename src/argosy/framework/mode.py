"""Whether ops run at once or are recorded. ``switch`` is the one holder of the answer; the static
layer takes it over with ``switch.install``.

That layer is loaded when recording is first asked for: ``switch.promise`` says how. Without it the
mode is always dynamic and ``enable_static`` says what is missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Lock, get_ident
from typing import Any

from argosy.foundation.errors import InternalError, NotSupported
from argosy.foundation.process_state import register
from argosy.tensor.engine import defaults

__all__ = [
    "in_dynamic_mode",
    "in_dygraph_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_mode",
    "use_pir_api",
    "enable_static",
    "disable_static",
]


class _Switch:
    """The current mode, with what to do when it changes."""

    __slots__ = (
        "_load",
        "_lock",
        "_new_parameter",
        "_new_variable",
        "_on_disable",
        "_on_enable",
        "_owner",
        "_repeat",
        "_startup_seed",
        "is_static",
        "lasting",
    )

    def __init__(self) -> None:
        self.is_static = False  # whether what is called is recorded; read at every layer and step
        self._owner: int | None = None  # the only thread that records, if there is one
        self.lasting: ExitStack | None = None  # a guard of dygraph, open until static mode
        self._lock = Lock()
        self._load: Callable[[], object] | None = None
        self._on_enable: Callable[[], None] | None = None
        self._on_disable: Callable[[], None] | None = None
        self._new_parameter: Callable[..., Any] | None = None
        self._new_variable: Callable[..., Any] | None = None
        self._startup_seed: Callable[[], int] | None = None
        self._repeat: Callable[..., Any] | None = None

    @contextlib.contextmanager
    def recording_here(self) -> Iterator[None]:
        """Record in this thread; others go on as they were. One thread at a time."""
        if self.is_static:
            yield
            return
        with self._lock:
            self._owner = get_ident()
            self.__class__ = _OwnedSwitch
            try:
                self.enable()
                yield
            finally:
                self.disable()
                self.__class__ = _Switch
                self._owner = None

    @property
    def is_foreign(self) -> bool:
        """Whether another thread than this one records."""
        return self._owner is not None and self._owner != get_ident()

    def install(
        self,
        on_enable: Callable[[], None] | None,
        on_disable: Callable[[], None] | None,
        new_parameter: Callable[..., Any] | None = None,
        startup_seed: Callable[[], int] | None = None,
        new_variable: Callable[..., Any] | None = None,
    ) -> None:
        """Name the functions that start and stop recording, those that make the parameters and
        other variables of a program, and the one that tells the seed of the startup program.
        """
        self._on_enable, self._on_disable = on_enable, on_disable
        self._new_parameter, self._startup_seed = new_parameter, startup_seed
        self._new_variable = new_variable

    def install_loop(self, repeat: Callable[..., Any]) -> None:
        """Name the function behind ``repeat``."""
        self._repeat = repeat

    def promise(self, load: Callable[[], object]) -> None:
        """Have ``load``, which installs the functions, called when recording is first asked for."""
        self._load = load

    def startup_seed(self) -> int:
        """The ``random_seed`` of the default startup program, 0 for none: initialisers obey it in
        both modes.
        """
        return 0 if self._startup_seed is None else self._startup_seed()

    def new_parameter(self, shape: list[int], dtype: Any, name: str) -> Any:
        """A parameter of the program that is recorded."""
        if self._new_parameter is None:
            raise InternalError("a static layer is installed that makes no parameters")
        return self._new_parameter(shape, dtype, name)

    def new_variable(self, name: str, dtype: Any, persistable: bool) -> Any:
        """A variable of the program that is recorded, to be written later."""
        if self._new_variable is None:
            raise InternalError("a static layer is installed that makes no variables")
        return self._new_variable(name, dtype, persistable)

    def repeat(
        self, step: Callable[..., Any], carried: list[Any], again: Any, length: int = -1
    ) -> tuple[list[Any], list[Any]]:
        """Record a loop that runs while ``again`` holds: what its turns put out, stacked, and what
        they carried on, after the last.

        ``step(time, carried)`` returns lists of what a turn puts out and carries on, and the next
        ``again``; ``time`` counts the turns, int64 [1]. ``length`` is the number of turns, if that
        is known.
        """
        if self._repeat is None:
            raise InternalError("a static layer is installed that records no loops")
        stacked, last = self._repeat(step, carried, again, length)
        return stacked, last

    def enable(self) -> None:
        if self.is_static:
            return
        if self._on_enable is None and self._load is not None:
            self._load()
        if self._on_enable is None:
            raise NotSupported(
                "paddle.enable_static(): static graphs are not part of this build; they arrive "
                "with the static layer "
                "(paddle.static). Run the model in dynamic mode, which is the default."
            )
        self._on_enable()
        self.is_static = True

    def close_lasting(self) -> None:
        """Leave the guard of dygraph that was opened for good, and with it what it changed."""
        opened, self.lasting = self.lasting, None
        if opened is not None:
            opened.close()

    def disable(self) -> None:
        if self.is_static and self._on_disable is not None:
            self._on_disable()
        self.is_static = False


_held = _Switch.__dict__["is_static"]  # the value itself, whoever asks


class _OwnedSwitch(_Switch):
    """The switch while one thread records: all others are told that nothing is recorded. A class of
    its own, because the answer is a plain attribute at all other times.
    """

    __slots__ = ()

    @property
    def is_static(self) -> bool:
        return bool(_held.__get__(self)) and self._owner == get_ident()

    @is_static.setter
    def is_static(self, value: bool) -> None:
        _held.__set__(self, value)


switch = _Switch()
register("static mode", switch, attributes=("is_static",), reset=switch.disable)
register("guard of enable_dygraph", switch, attributes=("lasting",), reset=switch.close_lasting)


def in_dynamic_mode() -> bool:
    """Whether ops run at once."""
    return not switch.is_static


in_dygraph_mode = in_dynamic_mode


def use_pir_api() -> bool:
    """False: programs here consist of blocks and operators, Paddle's form before its PIR."""
    return False


in_pir_mode = use_pir_api
in_dynamic_or_pir_mode = in_dynamic_mode


def enable_static() -> None:
    """Record ops into the default program from now on instead of running them."""
    switch.close_lasting()
    switch.enable()


def disable_static(place: object = None) -> None:
    """Run ops at once again; a ``place`` becomes the default one."""
    switch.disable()
    if place is not None:
        defaults.set_place(place)
