"""Layer: the base of every model.

A layer owns parameters, buffers and sublayers in three ordered dicts; assigning an attribute files
the value under the right one. Calling a layer runs its pre-hooks, ``forward`` and its post-hooks.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError, nearest
from argosy.foundation.places import to_place
from argosy.framework.mode import switch
from argosy.framework.param_attr import ParamAttr
from argosy.nn.parameter import create_parameter
from argosy.tensor.engine import Parameter, Tensor, get_default_dtype, unique_name

__all__ = ["Layer"]

IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


def _snake_case(name: str) -> str:
    spaced = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", spaced).lower()


class LayerHelper:
    """What a layer's ``_helper`` offers to scripts: its name and the creation of parameters."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_parameter(
        self,
        attr: Any,
        shape: Any,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Parameter | None:
        parsed = ParamAttr.parse(attr)
        if parsed is False:
            return None
        suffix = "b" if is_bias else "w"
        name = parsed.name or unique_name.generate(f"{self.name}.{suffix}")
        return create_parameter(shape, dtype, name, parsed, is_bias, default_initializer)


class HookRemoveHelper:
    """Removes a registered hook."""

    _next_id = 0

    def __init__(self, *dicts: dict[int, Any]) -> None:
        self._dicts = dicts
        HookRemoveHelper._next_id += 1
        self._hook_id = HookRemoveHelper._next_id

    def remove(self) -> None:
        for d in self._dicts:
            d.pop(self._hook_id, None)


class Layer:
    """The base class of models and of every layer in ``paddle.nn``."""

    training: bool
    _full_name: str
    _helper: LayerHelper
    _dtype: Any
    _built: bool
    _parameters: OrderedDict[str, Any]
    _buffers: OrderedDict[str, Any]
    _sub_layers: OrderedDict[str, Any]
    _non_persistable_buffer_names_set: set[str]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        scope = name_scope if name_scope is not None else _snake_case(type(self).__name__)
        fields = self.__dict__
        fields["training"] = True
        fields["_full_name"] = unique_name.generate(scope)
        fields["_helper"] = self._new_helper(fields["_full_name"])
        fields["_dtype"] = dtype
        fields["_built"] = False
        fields["_parameters"] = OrderedDict()
        fields["_buffers"] = OrderedDict()
        fields["_sub_layers"] = OrderedDict()
        fields["_non_persistable_buffer_names_set"] = set()
        fields["_forward_pre_hooks"] = OrderedDict()
        fields["_forward_post_hooks"] = OrderedDict()
        fields["_pre_hooks_with_kwargs"] = {}
        fields["_post_hooks_with_kwargs"] = {}
        fields["_post_hooks_always_called"] = {}
        fields["_state_dict_hooks"] = OrderedDict()

    def _new_helper(self, name: str) -> LayerHelper:
        return LayerHelper(name)

    # -- calling
    # ----------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define forward(); every Layer must"
        )

    def _build_once(self, *inputs: Any, **kwargs: Any) -> None:
        """Overridden by layers that create parameters at their first call."""

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks or self._forward_post_hooks:
            return self._call_with_hooks(inputs, kwargs)
        if not self._built:
            self.__dict__["_built"] = True
            self._build_once(*inputs, **kwargs)
        return self.forward(*inputs, **kwargs)

    def _call_with_hooks(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook_id, hook in list(self._forward_pre_hooks.items()):
            if hook_id in self._pre_hooks_with_kwargs:
                result = hook(self, inputs, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, "
                            f"new_kwargs), but got {result!r}."
                        )
                    inputs, kwargs = result
            else:
                result = hook(self, inputs)
                if result is not None:
                    inputs = result if isinstance(result, tuple) else (result,)
        ran: set[int] = set()
        outputs = None
        try:
            if not self._built:
                self.__dict__["_built"] = True
                self._build_once(*inputs, **kwargs)
            outputs = self.forward(*inputs, **kwargs)
            for hook_id in list(self._forward_post_hooks):
                ran.add(hook_id)
                outputs = self._run_post_hook(hook_id, inputs, kwargs, outputs)
        except Exception:
            for hook_id in self._post_hooks_always_called:
                if hook_id not in ran:
                    try:
                        outputs = self._run_post_hook(hook_id, inputs, kwargs, outputs)
                    except Exception as error:
                        warnings.warn(
                            "a forward hook with always_call=True failed while forward raised: "
                            f"{error}"
                        )
            raise
        return outputs

    def _run_post_hook(self, hook_id: int, inputs: Any, kwargs: Any, outputs: Any) -> Any:
        hook = self._forward_post_hooks[hook_id]
        if hook_id in self._post_hooks_with_kwargs:
            result = hook(self, inputs, kwargs, outputs)
        else:
            result = hook(self, inputs, outputs)
        return outputs if result is None else result

    @property
    def has_forward_hooks(self) -> bool:
        """Whether a call runs more than ``forward``."""
        return bool(self._forward_pre_hooks or self._forward_post_hooks)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookRemoveHelper:
        """Call ``hook(layer, inputs)`` before forward; what it returns replaces the inputs."""
        handle = HookRemoveHelper(self._forward_pre_hooks, self._pre_hooks_with_kwargs)
        self._forward_pre_hooks[handle._hook_id] = hook
        if with_kwargs:
            self._pre_hooks_with_kwargs[handle._hook_id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle._hook_id, last=False)
        return handle

    def register_forward_post_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookRemoveHelper:
        """Call ``hook(layer, inputs, outputs)`` after forward; what it returns replaces the
        outputs.
        """
        handle = HookRemoveHelper(
            self._forward_post_hooks, self._post_hooks_with_kwargs, self._post_hooks_always_called
        )
        self._forward_post_hooks[handle._hook_id] = hook
        if with_kwargs:
            self._post_hooks_with_kwargs[handle._hook_id] = True
        if always_call:
            self._post_hooks_always_called[handle._hook_id] = True
        if prepend:
            self._forward_post_hooks.move_to_end(handle._hook_id, last=False)
        return handle

    register_forward_hook = register_forward_post_hook

    # -- attributes
    # ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        for store in ("_parameters", "_sub_layers", "_buffers"):
            if store in fields and name in fields[store]:
                return fields[store][name]
        known = [
            *fields.get("_parameters", ()),
            *fields.get("_sub_layers", ()),
            *fields.get("_buffers", ()),
        ]
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}.{nearest(name, known)}"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if isinstance(value, (Parameter, Layer, Tensor)):
            if "_parameters" not in fields:
                raise UsageError("super().__init__() should be called first")
            if isinstance(value, Parameter):
                self._fill_held(value)
                store = "_parameters"
            elif isinstance(value, Layer):
                store = "_sub_layers"
            else:
                store = "_buffers"
            if store != "_parameters" and name in self._parameters:
                raise DtypeError(
                    f"assignment to parameter '{name}' should be of type Parameter or None, but "
                    f"got '{type(value).__name__}'"
                )
            if store == "_buffers":
                if name in self._sub_layers:
                    raise DtypeError(
                        f"assignment to sublayer '{name}' should be of type Layer or None, but "
                        "got 'Tensor'"
                    )
                if isinstance(getattr(type(self), name, None), property):
                    object.__setattr__(self, name, value)
                    return
                if name not in self._buffers:
                    self._non_persistable_buffer_names_set.add(name)
                elif value.rebind is not None and _has_values(self._buffers[name]):
                    value.keep_in(self._buffers[name])  # a program that is recorded writes to it
                    return
            for other in ("_parameters", "_sub_layers", "_buffers"):
                if other != store:
                    fields[other].pop(name, None)
            fields.pop(name, None)
            fields[store][name] = value
            return
        for store, kind in (
            ("_parameters", "Parameter"),
            ("_sub_layers", "Layer"),
            ("_buffers", "Tensor"),
        ):
            if store in fields and name in fields[store]:
                if value is not None:
                    word = {
                        "_parameters": "parameter",
                        "_sub_layers": "sublayer",
                        "_buffers": "buffer",
                    }[store]
                    raise DtypeError(
                        f"assignment to {word} '{name}' should be of type {kind} or None, but "
                        f"got '{type(value).__name__}'"
                    )
                fields[store][name] = None
                return
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for store in (self._parameters, self._sub_layers, self._buffers):
            if name in store:
                del store[name]
                self._non_persistable_buffer_names_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._sub_layers, *self._buffers]

    # -- building
    # ----------------------------------------------------------------------------------------------

    @staticmethod
    def _default_dtype() -> str:
        return get_default_dtype()

    def full_name(self) -> str:
        """The unique name of this layer, ``linear_0``."""
        return self._full_name

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        device: Any = None,
    ) -> Parameter | None:
        """Make a parameter named after this layer; None where ``attr`` is False. It is not yet an
        attribute.
        """
        parameter = self._helper.create_parameter(attr, shape, dtype, is_bias, default_initializer)
        if parameter is not None and device is not None:
            parameter.raw = (
                parameter.raw.to(to_place(device).device)
                .detach()
                .requires_grad_(parameter.raw.requires_grad)
            )
        return parameter

    def create_tensor(
        self, name: str | None = None, persistable: bool | None = None, dtype: Any = None
    ) -> Tensor:
        """Make an empty Tensor to be filled later; while recording, a variable of the program."""
        full_name = (
            f"{self._full_name}.{name}"
            if name
            else unique_name.generate(f"{self._full_name}._generated_var")
        )
        if switch.is_static:
            made: Tensor = switch.new_variable(full_name, dtype or self._dtype, bool(persistable))
            return made
        out = Tensor(np.zeros(0), dtype or self._dtype)
        out.name = full_name
        out.persistable = bool(persistable)
        return out

    create_variable = create_tensor

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register ``parameter`` as attribute ``name`` and return it."""
        self._check_new_name("parameter", name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise DtypeError(
                "The parameter to be added should be Parameter, but received "
                f"{type(parameter).__name__}."
            )
        if name in self.__dict__ or (name not in self._parameters and hasattr(self, name)):
            raise KeyError(f"The parameter '{name}' already exists in {type(self).__name__}.")
        if parameter is not None:
            self._fill_held(parameter)
        self._parameters[name] = parameter
        return parameter

    register_parameter = add_parameter

    @functools.cached_property
    def _loaddict_holder(self) -> OrderedDict[str, Any]:
        """Values by name for parameters that are still to come, which take them when they do."""
        return OrderedDict()

    def _fill_held(self, parameter: Parameter) -> None:
        held = self.__dict__.get("_loaddict_holder")
        if not held:
            return
        if parameter.name not in held:
            raise BadArgument(
                f"{type(self).__name__}: parameter {parameter.name!r} is not among the values that "
                f"are held for parameters to come: {', '.join(held)}"
            )
        parameter.set_value(held[parameter.name])

    def add_sublayer(self, name: str, sublayer: Layer | None) -> Layer | None:
        """Register ``sublayer`` as attribute ``name`` and return it."""
        if not isinstance(sublayer, Layer) and sublayer is not None:
            raise BadArgument(
                f"add_sublayer: '{name}' must be a Layer, but received {type(sublayer).__name__}"
            )
        self._sub_layers[str(name)] = sublayer
        return sublayer

    def add_module(self, name: str, module: Layer | None) -> None:
        self.add_sublayer(name, module)

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Register a Tensor that is state but not trained; a persistable one is part of
        ``state_dict``.
        """
        self._check_new_name("buffer", name)
        if name in self.__dict__ or (name not in self._buffers and hasattr(self, name)):
            raise KeyError(f"attribute '{name}' already exists in {type(self).__name__}.")
        is_parameter = isinstance(tensor, Parameter)  # which is state that is trained
        if tensor is not None and (is_parameter or not isinstance(tensor, Tensor)):
            raise DtypeError(
                "The registered buffer should be a Paddle.Tensor, but received "
                f"{type(tensor).__name__}."
            )
        self._buffers[name] = tensor
        if persistable:
            self._non_persistable_buffer_names_set.discard(name)
        else:
            self._non_persistable_buffer_names_set.add(name)

    def _check_new_name(self, kind: str, name: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise UsageError("super().__init__() should be called first")
        if not isinstance(name, str):
            raise DtypeError(
                f"The name of {kind} should be a string, but received {type(name).__name__}."
            )
        if "." in name:
            raise KeyError(f"The name of {kind} can not contain '.', but received {name!r}.")
        if name == "":
            raise KeyError(f"The name of {kind} can not be empty.")

    def _descend(self, target: str) -> tuple[Layer, str]:
        path, _, leaf = target.rpartition(".")
        return (self.get_sublayer(path) if path else self), leaf

    def get_sublayer(self, target: str) -> Any:
        """The sublayer at a dotted path."""
        layer: Any = self
        for part in target.split(".") if target else ():
            if part not in layer._sub_layers:
                raise AttributeError(
                    f"{type(layer).__name__} has no sublayer '{part}' (of '{target}')"
                )
            layer = layer._sub_layers[part]
        return layer

    def set_sublayer(self, target: str, layer: Layer, strict: bool = False) -> None:
        """Replace the sublayer at a dotted path; with ``strict`` it must exist."""
        owner, leaf = self._descend(target)
        if not leaf or (strict and leaf not in owner._sub_layers):
            raise AttributeError(f"{type(owner).__name__} has no sublayer '{leaf}' to replace")
        setattr(owner, leaf, layer)

    def get_parameter(self, target: str) -> Any:
        """The parameter at a dotted path."""
        owner, leaf = self._descend(target)
        if owner._parameters.get(leaf) is None:
            raise AttributeError(f"{type(owner).__name__} has no parameter '{leaf}'")
        return owner._parameters[leaf]

    def get_buffer(self, target: str) -> Any:
        """The buffer at a dotted path."""
        owner, leaf = self._descend(target)
        if owner._buffers.get(leaf) is None:
            raise AttributeError(f"{type(owner).__name__} has no buffer '{leaf}'")
        return owner._buffers[leaf]

    # -- walking
    # ----------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """Direct sublayers with their names, each once."""
        seen: set[int] = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def children(self) -> Iterator[Layer]:
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set[Any] | None = None,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Layer]]:
        """All sublayers, depth first, with dotted names; a shared one is given once unless
        duplicates are asked for.
        """
        seen = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            if remove_duplicate:
                seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from layer.named_sublayers(path, True, seen, remove_duplicate)

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def modules(self) -> Iterator[Layer]:
        for _, layer in self.named_modules():
            yield layer

    def _named_members(
        self, store: str, prefix: str, include_sublayers: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners: Iterable[tuple[str, Layer]] = (
            self.named_sublayers(prefix, True, None, remove_duplicate)
            if include_sublayers
            else [(prefix, self)]
        )
        for path, layer in owners:
            for name, value in getattr(layer, store).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    @property
    def own_parameters(self) -> OrderedDict[str, Any]:
        """The parameters of this layer itself, by name; changes to the dict are changes to it."""
        return self._parameters

    @property
    def own_buffers(self) -> OrderedDict[str, Any]:
        """The buffers of this layer itself, by name."""
        return self._buffers

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names; a shared one is given once."""
        return self._named_members("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named_members("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def apply(self, fn: Callable[[Layer], Any]) -> Layer:
        """Call ``fn`` on every sublayer, then on this layer."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Layer:
        """Set training mode on this layer and all below."""
        for layer in self.sublayers(include_self=True):
            layer.__dict__["training"] = mode
        return self

    def eval(self) -> Layer:
        return self.train(False)

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Clear the gradients of every trainable parameter."""
        for p in self.parameters():
            if not p.stop_gradient:
                p.clear_gradient(set_to_zero)

    # -- state
    # ----------------------------------------------------------------------------------------------

    def _collect_state(
        self,
        destination: Any,
        include_sublayers: bool,
        prefix: str,
        all_buffers: bool,
        use_hook: bool,
        keep_vars: bool,
    ) -> Any:
        members = [(name, p) for name, p in self._parameters.items() if p is not None]
        members += [
            (name, b)
            for name, b in self._buffers.items()
            if b is not None and (all_buffers or name not in self._non_persistable_buffer_names_set)
        ]
        for name, value in members:
            destination[prefix + name] = value if keep_vars else value.detach()
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None:
                    layer._collect_state(
                        destination, True, f"{prefix}{name}.", all_buffers, use_hook, keep_vars
                    )
        if use_hook:
            for hook in self._state_dict_hooks.values():
                changed = hook(destination)
                if changed is not None:
                    destination = changed
        return destination

    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> Any:
        """Parameters and persistable buffers by structured name; the values are the live
        tensors.
        """
        target = OrderedDict() if destination is None else destination
        return self._collect_state(
            target, include_sublayers, structured_name_prefix, False, use_hook, keep_vars
        )

    def to_static_state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> Any:
        """As ``state_dict``, with the non-persistable buffers too."""
        target = OrderedDict() if destination is None else destination
        return self._collect_state(
            target, include_sublayers, structured_name_prefix, True, use_hook, keep_vars
        )

    def register_state_dict_hook(self, hook: Callable[[Any], Any]) -> HookRemoveHelper:
        handle = HookRemoveHelper(self._state_dict_hooks)
        self._state_dict_hooks[handle._hook_id] = hook
        return handle

    def set_state_dict(
        self, state_dict: Any, use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Copy values into parameters and persistable buffers.

        An entry that is missing or of another shape is skipped with a warning. Returns (missing
        keys, unexpected keys).
        """
        missing: list[str] = []
        matched: set[str] = set()
        # not self.state_dict(): a subclass may have one that converts on the way out
        own = self._collect_state(OrderedDict(), True, "", False, False, True)
        for name, target in own.items():
            key = name if use_structured_name else target.name
            value = state_dict.get(key) if hasattr(state_dict, "get") else None
            if value is None:
                missing.append(key)
                near = nearest(key, [k for k in state_dict if isinstance(k, str)], 1)
                warnings.warn(
                    f"Skip loading for {name}. {key} is not found in the provided dict.{near}"
                )
                continue
            shape = list(value.shape) if hasattr(value, "shape") else list(np.shape(value))
            if shape != list(target.shape):
                missing.append(key)
                warnings.warn(
                    f"Skip loading for {name}. {key} receives a shape {shape}, but the expected "
                    f"shape is {list(target.shape)}."
                )
                continue
            matched.add(key)
            target.set_value(value)
        return missing, [k for k in state_dict if k not in matched]

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(
        self, state_dict: Any, strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """As ``set_state_dict``; with ``strict``, a missing or unexpected key is an error."""
        if assign:
            raise NotSupported(
                "Layer.load_state_dict: assign=True is not supported; values are copied into the "
                "layer's own tensors"
            )
        with warnings.catch_warnings():
            if strict:
                warnings.simplefilter("ignore")
            missing, unexpected = self.set_state_dict(state_dict)
        if strict and (missing or unexpected):
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n"
                + (f"\tMissing or misshapen key(s): {', '.join(missing)}\n" if missing else "")
                + (f"\tUnexpected key(s): {', '.join(unexpected)}" if unexpected else "")
            )
        return IncompatibleKeys(missing, unexpected)

    # -- dtype and device
    # ---------------------------------------------------------------------------------------

    def cast_members(
        self, device: Any, dtype: Any, floating_only: bool, include_sublayers: bool = True
    ) -> Layer:
        engine_device = None if device is None else to_place(device).device
        engine_dtype = None if dtype is None else dtypes.to_torch(dtype)
        layers = self.sublayers(include_self=True) if include_sublayers else [self]
        for layer in layers:
            for value in [*layer._parameters.values(), *layer._buffers.values()]:
                if value is None:
                    continue
                raw = value.raw
                to_dtype = engine_dtype if not floating_only or raw.is_floating_point() else None
                moved = raw.detach().to(
                    device=engine_device or raw.device, dtype=to_dtype or raw.dtype
                )
                if moved.dtype is not raw.dtype or moved.device != raw.device:
                    value.raw = moved.requires_grad_(
                        raw.requires_grad and moved.is_floating_point()
                    )
                    if raw.is_leaf and raw.grad is not None and value.raw.requires_grad:
                        value.raw.grad = raw.grad.to(moved)
            if dtype is not None:
                layer.__dict__["_dtype"] = dtypes.name_of(engine_dtype)  # type: ignore[arg-type]
        return self

    def to(
        self,
        device: Any = None,
        dtype: Any = None,
        blocking: bool | None = None,
        non_blocking: bool | None = None,
    ) -> Layer:
        """Move parameters and buffers to a device and floating ones to a dtype, in place; their
        gradients with them.
        """
        if not all(isinstance(given, bool | None) for given in (blocking, non_blocking)):
            raise BadArgument(
                f"{type(self).__name__}.to: blocking and non_blocking must be True, False or None, "
                f"but are {blocking!r} and {non_blocking!r}"
            )
        if dtype is None and isinstance(device, (dtypes.DType, str)) and not _is_device(device):
            device, dtype = None, device
        return self.cast_members(device, dtype, floating_only=True)

    def astype(self, dtype: Any = None) -> Layer:
        """Cast every parameter and buffer in place."""
        return self.cast_members(None, dtype, floating_only=False)

    def float(self, excluded_layers: Any = None) -> Layer:
        return self._cast_except("float32", excluded_layers)

    def float16(self, excluded_layers: Any = None) -> Layer:
        return self._cast_except("float16", excluded_layers)

    def bfloat16(self, excluded_layers: Any = None) -> Layer:
        return self._cast_except("bfloat16", excluded_layers)

    def half(self) -> Layer:
        return self.to(dtype="float16")

    def double(self) -> Layer:
        return self.to(dtype="float64")

    def cpu(self) -> Layer:
        return self.to(device="cpu")

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> Layer:
        return self.to(device=f"gpu:{device_id or 0}")

    def _cast_except(self, dtype: str, excluded: Any) -> Layer:
        if excluded is None:
            kinds: tuple[type, ...] = ()
        elif isinstance(excluded, type):
            kinds = (excluded,)
        else:
            kinds = tuple(excluded)
        for layer in self.sublayers(include_self=True):
            if not isinstance(layer, kinds):
                layer.cast_members(None, dtype, True, include_sublayers=False)
        return self

    # -- printing
    # ----------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the brackets of ``repr``."""
        return ""

    def __repr__(self) -> str:
        lines = [
            f"({name}): " + repr(layer).replace("\n", "\n  ")
            for name, layer in self._sub_layers.items()
        ]
        extra = self.extra_repr()
        body = extra.replace("\n", "\n  ")
        if lines:
            body += "\n  " + "\n  ".join(lines) + "\n"
        return f"{type(self).__name__}({body})"


def _has_values(held: Any) -> bool:
    """Whether a buffer is a Tensor, and no variable of a program."""
    return isinstance(held, Tensor) and held.rebind is None


def _is_device(text: Any) -> bool:
    return isinstance(text, str) and text.split(":")[0] in (
        "cpu",
        "gpu",
        "cuda",
        "xpu",
        "gpu_pinned",
    )
