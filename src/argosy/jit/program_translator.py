"""ProgramTranslator: converted functions by hand, as 1.x and 2.x have it."""

from __future__ import annotations

import types
from typing import Any, ClassVar

from argosy.foundation.errors import BadArgument, DtypeError
from argosy.foundation.process_state import register
from argosy.jit.operators.call import converted, converter
from argosy.jit.state import state
from argosy.jit.static_function import StaticFunction, unwrap_decorators


class ProgramTranslator:
    """Turns functions into programs; there is one, ``get_instance()``.

    Example:
        >>> import paddle
        >>> def f(x):
        ...     return x * 2
        >>> translator = paddle.jit.api.ProgramTranslator()
        >>> float(translator.get_output(f, paddle.to_tensor(3.0)))
        6.0
    """

    _instance: ClassVar[ProgramTranslator | None] = None

    def __new__(cls) -> ProgramTranslator:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @classmethod
    def get_instance(cls) -> ProgramTranslator:
        return cls()

    @classmethod
    def reset(cls) -> None:
        """Enable conversion, as at the start."""
        state.is_enabled = True

    @property
    def enable_to_static(self) -> bool:
        """Whether functions of ``to_static`` run as programs."""
        return state.is_enabled

    def enable(self, enable_to_static: bool) -> None:
        """Let functions of ``to_static`` run as programs, or as they are written."""
        if not isinstance(enable_to_static, bool):
            raise BadArgument(
                "ProgramTranslator.enable: enable_to_static must be True or False, but received "
                f"{type(enable_to_static).__name__}"
            )
        state.is_enabled = enable_to_static

    def get_output(self, dygraph_func: Any, *args: Any, **kwargs: Any) -> Any:
        """What the function returns when it runs as a program."""
        function = _checked("get_output", dygraph_func)
        if not state.is_enabled:
            return function(*args, **kwargs)
        return _static(function)(*args, **kwargs)

    def get_func(self, dygraph_func: Any) -> Any:
        """The converted function, which records when it is called while a program is recorded."""
        function = _checked("get_func", dygraph_func)
        if not state.is_enabled:
            return function
        if isinstance(function, types.MethodType):
            inner: Any = function.__func__
            return types.MethodType(converted(inner), function.__self__)
        return converted(function)

    def get_program(self, dygraph_func: Any, *args: Any, **kwargs: Any) -> Any:
        """The program of the function for arguments: main, startup, inputs and outputs."""
        function = _checked("get_program", dygraph_func)
        if not state.is_enabled:
            return function(*args, **kwargs)
        program, _ = _static(function).get_concrete_program(*args, **kwargs)
        return program.main_program, program.startup_program, program.inputs, program.outputs

    def get_code(self, dygraph_func: Any) -> str:
        """The converted function as Python."""
        function = _checked("get_code", dygraph_func)
        return converter.text(getattr(function, "__func__", function))

    def get_program_cache(self) -> dict[Any, Any]:
        """The programs of functions that it was asked for."""
        return {key: function.program_cache for key, function in _known.items()}


# Functions that a translator was asked for, so that each is recorded once.
_known: dict[Any, StaticFunction] = {}
register("functions of the translator", _known, state=lambda: None, reset=_known.clear)


def _static(function: Any) -> StaticFunction:
    if function not in _known:
        _known[function] = StaticFunction(function, full_graph=True)
    return _known[function]


def _checked(call: str, function: Any) -> Any:
    if not callable(function):
        raise NotCallable(
            f"ProgramTranslator.{call}: dygraph_func must be a function, but received "
            f"{type(function).__name__}"
        )
    return unwrap_decorators(function)[1]


class NotCallable(BadArgument, DtypeError):
    """Something that is no function was to be converted."""


def convert_to_static(function: Any) -> Any:
    """The converted function, or the one given if it must stay as it is."""
    inner = unwrap_decorators(function)[1]
    inner = getattr(inner, "__func__", inner)
    return converted(inner) if isinstance(inner, types.FunctionType) else inner
