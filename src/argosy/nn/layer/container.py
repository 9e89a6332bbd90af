"""Layers that hold layers or parameters: Sequential, LayerList, LayerDict, ParameterList,
ParameterDict.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from argosy.foundation.errors import BadArgument, DtypeError, OutOfRange, UsageError
from argosy.nn.layer.layers import Layer
from argosy.tensor.engine import Parameter, Tensor

__all__ = ["Sequential", "LayerList", "LayerDict", "ParameterList", "ParameterDict"]


def _pairs(entries: Any, call: str) -> Iterator[tuple[str, Any]]:
    """Read a mapping or an iterable of (key, value) pairs."""
    if isinstance(entries, ParameterDict):
        yield from entries.named_parameters(include_sublayers=False)
    elif isinstance(entries, (LayerDict, Mapping)):
        yield from entries.items()
    elif isinstance(entries, Iterable):
        for i, pair in enumerate(entries):
            if len(pair) != 2:
                raise UsageError(
                    f"{call}: element {i} has length {len(pair)}; expected a pair of key and value"
                )
            yield pair[0], pair[1]
    else:
        raise BadArgument(
            f"{call}: expected a mapping or an iterable of key/value pairs, but received "
            f"{type(entries).__name__}"
        )


class _LayerSequence(Layer):
    """What Sequential and LayerList share: sublayers in order, named by position unless told
    otherwise.
    """

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def _position(self, index: int) -> int:
        """``index`` counted from the start; one outside the sequence is an error."""
        n = len(self._sub_layers)
        if not -n <= index < n:
            raise OutOfRange(
                f"{type(self).__name__}: index {index} is out of range, expected one in [{-n}, {n})"
            )
        return index + n if index < 0 else index

    def _shift_in(self, index: int, layer: Layer) -> None:
        """Put ``layer`` at ``index``, moving the later ones up by one name."""
        for i in range(len(self._sub_layers), index, -1):
            self._sub_layers[str(i)] = self._sub_layers[str(i - 1)]
        self._sub_layers[str(index)] = layer


class Sequential(_LayerSequence):
    """Layers called one after the other.

    Accepts layers, (name, layer) pairs or one OrderedDict.

    Example:
        >>> import paddle
        >>> model = paddle.nn.Sequential(("fc", paddle.nn.Linear(4, 3)), ("act", paddle.nn.ReLU()))
        >>> [name for name, _ in model.named_children()]
        ['fc', 'act']
        >>> len(model[:1])
        1
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], OrderedDict):
            named: Iterable[tuple[str, Layer]] = layers[0].items()
        elif layers and isinstance(layers[0], (list, tuple)):
            named = layers
        else:
            named = ((str(i), layer) for i, layer in enumerate(layers))
        for name, layer in named:
            self.add_sublayer(name, layer)

    def forward(self, input: Any) -> Any:
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __getitem__(self, name: int | str | slice) -> Any:
        if isinstance(name, str):
            return self._sub_layers[name]
        layers = list(self._sub_layers.values())
        return (
            type(self)(*layers[name]) if isinstance(name, slice) else layers[self._position(name)]
        )

    def __setitem__(self, name: int | str, layer: Layer) -> None:
        if not isinstance(layer, Layer):
            raise BadArgument(
                f"Sequential[{name!r}] = ...: expected a Layer, but received {type(layer).__name__}"
            )
        setattr(self, str(name), layer)

    def __delitem__(self, name: int | str) -> None:
        if str(name) not in self._sub_layers:
            raise BadArgument(
                f"Sequential has no sublayer named {str(name)!r}; it has {list(self._sub_layers)}"
            )
        del self._sub_layers[str(name)]

    def append(self, module: Layer) -> Sequential:
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), module)
        return self

    def insert(self, index: int, module: Layer) -> Sequential:
        """Add a layer before position ``index``."""
        if not isinstance(module, Layer):
            raise BadArgument(
                f"Sequential.insert: expected a Layer, but received {type(module).__name__}"
            )
        n = len(self)
        if not -n <= index <= n:
            raise OutOfRange(
                f"Sequential.insert: index {index} is out of range, expected one in [{-n}, {n}]"
            )
        self._shift_in(index + n if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Layer]) -> Sequential:
        """Add the layers of another sequence at the end."""
        for layer in sequential:
            self.append(layer)
        return self


class LayerList(_LayerSequence):
    """A list of layers, registered so that their parameters are found.

    Example:
        >>> import paddle
        >>> layers = paddle.nn.LayerList([paddle.nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(layers.parameters())
        (3, 6)
    """

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._sub_layers.values())[idx])
        return self._sub_layers[str(self._position(idx))]

    def __setitem__(self, idx: int, sublayer: Layer) -> None:
        setattr(self, str(self._position(idx)), sublayer)

    def __delitem__(self, idx: int | slice) -> None:
        layers = list(self._sub_layers.values())
        del layers[idx if isinstance(idx, slice) else self._position(idx)]
        self.__dict__["_sub_layers"] = OrderedDict(
            (str(i), layer) for i, layer in enumerate(layers)
        )

    def __iadd__(self, modules: Iterable[Layer]) -> LayerList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Layer]) -> LayerList:
        return LayerList([*self, *other])

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Add a layer before position ``index``."""
        n = len(self)
        if not (isinstance(index, int) and -n <= index <= n):
            raise BadArgument(
                f"LayerList.insert: index should be an integer in [{-n}, {n}], but received "
                f"{index!r}"
            )
        self._shift_in(index + n if index < 0 else index, sublayer)

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Add layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self

    def pop(self, key: int) -> Any:
        """Remove the layer at a position and return it."""
        layer = self[key]
        del self[key]
        return layer


class LayerDict(Layer):
    """Layers by key, in order of insertion.

    Example:
        >>> import paddle
        >>> heads = paddle.nn.LayerDict({"a": paddle.nn.Linear(2, 2), "b": paddle.nn.Linear(2, 1)})
        >>> list(heads)
        ['a', 'b']
    """

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key: str) -> Any:
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, key: object) -> bool:
        return key in self._sub_layers

    def clear(self) -> None:
        """Remove every layer."""
        self._sub_layers.clear()

    def pop(self, key: str) -> Any:
        """Remove the layer of a key and return it."""
        return self._sub_layers.pop(key)

    def keys(self) -> Any:
        return self._sub_layers.keys()

    def items(self) -> Any:
        return self._sub_layers.items()

    def values(self) -> Any:
        return self._sub_layers.values()

    def update(self, sublayers: Any) -> None:
        """Add or replace layers from a mapping or from pairs."""
        for key, layer in _pairs(sublayers, "LayerDict.update"):
            self.add_sublayer(key, layer)


class ParameterList(Layer):
    """Parameters by position. Assigning to a position copies the value into the parameter there."""

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for parameter in parameters if parameters is not None else ():
            if not isinstance(parameter, Parameter):
                raise BadArgument(
                    f"ParameterList: expected Parameters, but received {type(parameter).__name__}"
                )
            self.append(parameter)

    def __getitem__(self, idx: int) -> Any:
        return self._parameters[str(idx)]

    def __setitem__(self, idx: int, param: Tensor) -> None:
        if not isinstance(param, Tensor):
            raise DtypeError(f"param should be 'Parameter' or 'Tensor', but received {type(param)}")
        if isinstance(param, Parameter):
            setattr(self, str(idx), param)
        else:
            getattr(self, str(idx)).set_value(param)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def append(self, parameter: Parameter) -> ParameterList:
        """Add a parameter at the end."""
        self.add_parameter(str(len(self._parameters)), parameter)
        return self


class ParameterDict(Layer):
    """Parameters by key, in order of insertion."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, param: Parameter) -> None:
        if not isinstance(param, Parameter):
            raise BadArgument(
                f"ParameterDict[{key!r}] = ...: expected a Parameter, but received "
                f"{type(param).__name__}"
            )
        setattr(self, key, param)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def update(self, parameters: Any) -> None:
        """Add parameters from a mapping or from pairs."""
        for key, parameter in _pairs(parameters, "ParameterDict.update"):
            self.add_parameter(key, parameter)
