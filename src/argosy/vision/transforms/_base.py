"""What every transform is made of."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import DtypeError, NotSupported, UsageError


class Compose:
    """Transforms one after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, data: Any) -> Any:
        for transform in self.transforms:
            try:
                data = transform(data)
            except Exception as error:
                error.add_note(f"in the transform {transform} of {type(self).__name__}")
                raise
        return data

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {t}" for t in self.transforms), ")"])


class BatchCompose(Compose):
    """Transforms of a list of samples one after the other; gives a list of the fields, each with
    the values of all samples, as a ``collate_fn`` does.
    """

    def __call__(self, data: Any) -> Any:
        return list(zip(*super().__call__(data), strict=True))


class BaseTransform:
    """A transform of the parts of a sample: the input at position i is what ``keys[i]`` says and
    goes through ``_apply_<key>``.

    A subclass defines ``_apply_image`` (and ``_apply_boxes``, ``_apply_mask``, ``_apply_coords``
    where it can), and may draw its parameters once per sample in ``_get_params``. Inputs beyond the
    keys pass through.
    """

    def __init__(self, keys: Sequence[str] | None = None) -> None:
        if keys is None:
            keys = ("image",)
        elif not isinstance(keys, Sequence):
            raise UsageError(
                f"{type(self).__name__}: keys should be a sequence, but received {keys!r}"
            )
        for key in keys:
            if self._get_apply(key) is None:
                raise NotSupported(
                    f"{type(self).__name__}: {key!r} is not a part that can be transformed"
                )
        self.keys = keys
        self.params: Any = None

    def _get_params(self, inputs: tuple[Any, ...]) -> Any:
        """Draw what all parts of one sample share; kept in ``self.params``."""

    def __call__(self, inputs: Any) -> Any:
        parts = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(parts)
        outputs = [self._get_apply(key)(part) for key, part in zip(self.keys, parts, strict=False)]
        outputs += parts[len(self.keys) :]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _get_apply(self, key: str) -> Any:
        return getattr(self, f"_apply_{key}", None)

    def _apply_image(self, image: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _apply_image")

    def _apply_boxes(self, boxes: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _apply_boxes")

    def _apply_mask(self, mask: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _apply_mask")

    def _apply_coords(self, coords: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _apply_coords")


def jitter_range(
    value: Any,
    name: str,
    center: float = 1,
    bound: tuple[float, float] = (0, float("inf")),
    clip_first_on_zero: bool = True,
) -> Any:
    """The range to draw a factor from: ``center`` ± a number, or a pair; None where it would change
    nothing.
    """
    if isinstance(value, numbers.Number):
        width: Any = value
        if width < 0:
            raise UsageError(f"{name}: a single number must be non negative, but is {value}")
        low = center - width
        value = [max(low, 0) if clip_first_on_zero else low, center + width]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        if not bound[0] <= value[0] <= value[1] <= bound[1]:
            raise UsageError(f"{name}: the values {value} should rise and lie between {bound}")
    else:
        raise DtypeError(
            f"{name} should be a single number or a list/tuple with length 2, but is {value!r}"
        )
    return None if value[0] == value[1] == center else value


def angle_range(value: Any, name: str, sizes: tuple[int, ...] = (2,)) -> list[float]:
    """The range to draw an angle from: ± a number, or the ends."""
    if isinstance(value, numbers.Number):
        width: Any = value
        if width < 0:
            raise UsageError(f"{name}: a single number must be positive, but is {value}")
        return [-float(width), float(width)]
    check_length(value, name, sizes)
    return [float(v) for v in value]


def check_length(value: Any, name: str, sizes: tuple[int, ...]) -> None:
    expected = " or ".join(str(size) for size in sizes)
    if not isinstance(value, Sequence):
        raise DtypeError(f"{name} should be a sequence of length {expected}, but is {value!r}")
    if len(value) not in sizes:
        raise UsageError(f"{name} should be a sequence of length {expected}, but is {value!r}")
