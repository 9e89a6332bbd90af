"""StaticFunction: a function that runs as a program, one per kind of arguments.

call -> key of the arguments -> ConcreteProgram (recorded once) -> its lowered function
"""

from __future__ import annotations

import functools
import inspect
import logging
import types
import weakref
from typing import Any

import torch

from argosy.amp.mode import AutoCast
from argosy.foundation.errors import NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.jit.concrete_program import ConcreteProgram
from argosy.jit.dy2static.logging_utils import TranslatorLogger
from argosy.jit.function_spec import FunctionSpec, key_of, raw_inputs, spec_of
from argosy.jit.operators.call import converted, converter, is_convertible
from argosy.jit.program_cache import ProgramCache
from argosy.jit.state import state
from argosy.nn import Layer
from argosy.static.ir.operator import leaves
from argosy.static.ir.variable import NoBackward
from argosy.static.record.data import InputSpec
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor, current_mode

logger = logging.getLogger("paddle.jit")


class NotDynamic(UsageError, RuntimeError):
    """A converted function was called while a program is recorded by hand."""


class OfLayer(UsageError, RuntimeError):
    """The mode of a method is that of its layer."""


class NoLayer(UsageError, TypeError):
    """A method of something that is no Layer."""


class NoProgramYet(UsageError):
    """There is no program: nothing says what the inputs are."""


class StaticFunction:
    """A function, or a method of a Layer, that is recorded and run as a program.

    With ``full_graph=False``, what cannot be recorded is run eagerly instead, and a warning says
    why. A function that calls ``backward()`` is run eagerly either way.
    """

    def __init__(
        self,
        function: Any,
        input_spec: Any = None,
        build_strategy: Any = None,
        full_graph: bool = True,
        property: bool = False,
        backend: Any = None,
        **unused: Any,
    ) -> None:
        self._instance: Any = None
        if inspect.ismethod(function):
            if not isinstance(function.__self__, Layer):
                raise NoLayer(
                    "When using 'to_static' to convert method of a class, please ensure the class "
                    f"inherits from nn.Layer: {type(function.__self__).__name__} does not"
                )
            self._instance = function.__self__
            function = function.__func__
        self._function: Any = function
        self._input_spec = input_spec
        self._options = {
            "build_strategy": build_strategy,
            "full_graph": full_graph,
            "property": property,
            "backend": backend,
        }
        self._property = property
        self._full_graph = full_graph
        self._training = True
        self._spec = FunctionSpec(function, input_spec)
        self._cache = ProgramCache()
        self._bound: weakref.WeakKeyDictionary[Any, StaticFunction] = weakref.WeakKeyDictionary()
        self._runs_eagerly = False  # since it could not be recorded
        functools.update_wrapper(self, function)

    # -- binding
    # ----------------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        known = self._bound.get(instance)
        if known is None:
            if not isinstance(instance, Layer):
                raise NoLayer(
                    "When using 'to_static' to convert method of a class, please ensure the class "
                    f"inherits from nn.Layer: {type(instance).__name__} does not"
                )
            known = StaticFunction(self._function, self._input_spec, **self._options)
            known._instance = instance
            self._bound[instance] = known
        return known

    @property
    def class_instance(self) -> Any:
        return self._instance

    _class_instance = class_instance

    @property
    def __self__(self) -> Any:
        if self._instance is None:
            raise AttributeError("__self__")
        return self._instance

    @property
    def is_property(self) -> bool:
        """Whether it is saved as a property of the layer, not as a program."""
        return self._property

    @property
    def dygraph_function(self) -> Any:
        """The function as it was written."""
        if self._instance is None:
            return self._function
        return types.MethodType(self._function, self._instance)

    _dygraph_function = dygraph_function

    @property
    def function_spec(self) -> FunctionSpec:
        return self._spec

    # -- calls
    # ----------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._property:
            return self.dygraph_function(*args, **kwargs)
        if switch.is_static:
            return self._inline(args, kwargs)
        if not state.is_enabled or self._runs_eagerly:
            return self.dygraph_function(*args, **kwargs)
        if kwargs or not self._spec.is_simple or len(args) != len(self._spec.arg_names):
            args, kwargs = self._spec.bound(args, kwargs)
        program = self._program(args, kwargs)
        if program is None:
            return self.dygraph_function(*args, **kwargs)
        inputs: list[torch.Tensor] = []
        for value in args:
            if isinstance(value, Tensor):
                inputs.append(value.raw)
            else:
                raw_inputs(value, inputs)
        if kwargs:
            raw_inputs(kwargs, inputs)
        return program(inputs)

    def _inline(self, args: Any, kwargs: Any) -> Any:
        """Take part in the program that is recorded."""
        if recorder.capture is None and state.is_enabled:
            raise NotDynamic(
                f"Failed to run the callable object {self._function.__name__} decorated by "
                "'@paddle.jit.to_static', because it is NOT in dynamic mode. Please disable the "
                "static graph mode to enter dynamic mode: paddle.disable_static()"
            )
        function = converted(self._function)
        if self._instance is not None:
            args = (self._instance, *args)
        return function(*args, **kwargs)

    def _program(self, args: Any, kwargs: Any) -> ConcreteProgram | None:
        """The program for a call; None if it has to run eagerly."""
        specs = self._spec.input_spec
        key = self._key(args, kwargs, specs)
        found = self._cache.find(key)
        if found is not None:
            return found
        try:
            program = self._recorded(key, *self._spec.args_to_input_spec(args, kwargs))
            is_worth_it = self._full_graph or program.size >= state.min_graph_size
            return program if is_worth_it else None
        except NoBackward:
            # A step of training: gradients, updates and what they keep are the eager ones.
            self._runs_eagerly = True
            logger.info("%s calls backward() and is run eagerly.", self._function)
            return None
        except Exception as error:
            if self._full_graph:
                raise
            self._runs_eagerly = True
            logger.warning(
                "%s is run eagerly, because it cannot be recorded as one program: %s. "
                "to_static(full_graph=True) makes that an error.",
                getattr(self._function, "__qualname__", self._function),
                error,
            )
            return None

    def _key(self, args: Any, kwargs: Any, specs: Any) -> Any:
        mode = current_mode()
        amp = mode.signature if isinstance(mode, AutoCast) else None
        count = 0 if specs is None else len(specs)
        parts = [
            key_of(value, specs[i]) if i < count else key_of(value) for i, value in enumerate(args)
        ]
        named = tuple([(k, key_of(v)) for k, v in kwargs.items()]) if kwargs else ()
        return self._is_train_mode(), amp, named, *parts

    def _recorded(self, key: Any, args: Any, kwargs: Any) -> ConcreteProgram:
        layers = self._layers(args, kwargs)
        if state.code_level >= 0 and isinstance(self._function, types.FunctionType):
            TranslatorLogger().log_transformed_code(self._function.__name__, self.code)
        if self._instance is not None:
            function = types.MethodType(self._converted(), self._instance)
        else:
            function = self._converted()
        before, state.is_whole = state.is_whole, self._full_graph
        try:
            program = ConcreteProgram(function, args, kwargs, layers)
        finally:
            state.is_whole = before
        program.partial_program.training = self._is_train_mode()
        self._cache.add(key, program)
        return program

    def _layers(self, args: Any, kwargs: Any) -> list[Layer]:
        """The layers that the function knows: its own, those in its arguments and its closure."""
        known = [self._instance, *leaves([list(args), kwargs])]
        inner = getattr(self._function, "__closure__", None) or ()
        for cell in inner:
            try:
                known.append(cell.cell_contents)
            except ValueError:
                continue
        names = getattr(getattr(self._function, "__code__", None), "co_names", ())
        outer = getattr(self._function, "__globals__", {})
        known += [outer.get(name) for name in names]
        found: dict[int, Layer] = {}
        for item in known:
            if isinstance(item, Layer):
                found.update((id(sub), sub) for sub in item.sublayers(include_self=True))
        return list(found.values())

    def _converted(self) -> Any:
        function = self._function
        if isinstance(function, types.FunctionType) and is_convertible(function):
            return converter.converted(function)
        return function

    # -- modes
    # ----------------------------------------------------------------------------------------------

    def _is_train_mode(self) -> bool:
        return self._training if self._instance is None else self._instance.training

    def train(self) -> None:
        """Record in training mode from now on."""
        self._set_mode("train", True)

    def eval(self) -> None:
        """Record in evaluation mode from now on."""
        self._set_mode("eval", False)

    def _set_mode(self, name: str, training: bool) -> None:
        if self._instance is not None:
            raise OfLayer(
                f"Failed to switch {name} mode. {self._function.__name__} is a Layer's method, "
                f"please use Layer.{name}() to switch {name} mode."
            )
        self._training = training

    # -- programs
    # ----------------------------------------------------------------------------------------------

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> Any:
        """The program for arguments or specs of them, with what runs it."""
        self._refuse_property()
        kwargs.pop("is_train", None)
        kwargs.pop("with_hook", None)
        given, named = self._spec.bound(args, kwargs)
        key = self._key(given, named, self._spec.input_spec)
        found = self._cache.find(key)
        if found is None:
            found = self._recorded(key, *self._spec.args_to_input_spec(given, named))
        return found, found.partial_program

    @property
    def concrete_program(self) -> ConcreteProgram:
        """The only program, or the one that ``input_spec`` describes."""
        return self.concrete_program_specify_input_spec()

    def concrete_program_specify_input_spec(
        self, input_spec: Any = None, with_hook: bool = False, is_prim_infer: bool = False
    ) -> ConcreteProgram:
        """The program for ``input_spec``, the function's own spec, or else of the last call.

        ``with_hook`` records the hooks of the layer too.
        """
        self._refuse_property()
        if input_spec is None and self._spec.input_spec is None:
            if not len(self._cache):
                raise NoProgramYet(
                    "No valid transformed program for "
                    f"{getattr(self._function, '__name__', self._function)}: call it first, or "
                    "pass input_spec"
                )
            if len(self._cache) > 1:
                logger.warning(
                    "%s has %d programs; the last one is used. Please pass input_spec to choose.",
                    self._spec,
                    len(self._cache),
                )
            program: ConcreteProgram = self._cache.last()[1][0]
            if not with_hook:
                return program
            args, kwargs = self._call_of(program)
        else:
            args, kwargs = self._spec.specs_of_call(input_spec)
        key = ("with hooks" if with_hook else "", self._key(args, kwargs, None))
        found = self._cache.find(key)
        if found is None:
            if with_hook:
                return self._with_hooks(args, kwargs)
            found = self._recorded(key, args, kwargs)
        return found

    def _call_of(self, program: ConcreteProgram) -> Any:
        return [spec_of(v, None, v.name) for v in program.inputs], {}

    def _with_hooks(self, args: Any, kwargs: Any) -> ConcreteProgram:
        layer = self._instance
        return ConcreteProgram(layer, args, kwargs, self._layers(args, kwargs))

    def get_traced_count(self) -> int:
        """How many programs there are."""
        return len(self._cache)

    @property
    def program_cache(self) -> ProgramCache:
        return self._cache

    @property
    def inputs(self) -> list[Any] | None:
        """The specs of the inputs, or their variables."""
        self._refuse_property()
        if self._spec.input_spec is not None:
            args, _ = self._spec.specs_of_call()
            return [leaf for leaf in leaves(args) if isinstance(leaf, InputSpec)]
        return self.concrete_program.inputs

    @property
    def outputs(self) -> list[Any]:
        """The variables that the program returns."""
        self._refuse_property()
        return self.concrete_program.outputs

    @property
    def main_program(self) -> Any:
        self._refuse_property()
        return self.concrete_program.main_program

    @property
    def code(self) -> str:
        """The converted function as Python."""
        if isinstance(self._function, types.FunctionType) and is_convertible(self._function):
            return converter.text(self._function)
        return inspect.getsource(self._function)

    def _refuse_property(self) -> None:
        if self._property:
            raise OfLayer("Can not call the func when property=True.")

    # -- back
    # ----------------------------------------------------------------------------------------------

    def rollback(self) -> Any:
        """Put the function as it was written back, on its layer too, and return it."""
        plain = self.dygraph_function
        if self._instance is not None:
            setattr(self._instance, self._function.__name__, plain)
        return plain

    def __deepcopy__(self, memo: Any) -> Any:
        """The function as it was written: programs belong to one layer."""
        plain = self.rollback()
        if self._instance is None:
            return plain
        copy = memo.get(id(self._instance))
        return plain if copy is None else types.MethodType(self._function, copy)

    def __reduce__(self) -> Any:
        raise NotSupported(
            f"pickling {self!r}: save the layer with paddle.jit.save, or its state_dict"
        )

    def __repr__(self) -> str:
        return f"<StaticFunction of {getattr(self._function, '__qualname__', self._function)}>"


def unwrap_decorators(function: Any) -> tuple[list[Any], Any]:
    """The StaticFunctions around a function, and the function."""
    found = []
    while isinstance(function, StaticFunction):
        found.append(function)
        function = function.dygraph_function
    return found, function
