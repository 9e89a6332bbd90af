"""Transforms of size and position. Random ones draw from ``random`` and NumPy's generator in the
order that Paddle does.
"""

from __future__ import annotations

import math
import numbers
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.vision.transforms import _geometry
from argosy.vision.transforms import functional as F
from argosy.vision.transforms._base import BaseTransform, angle_range, check_length


def image_size(img: Any) -> Any:
    """(width, height) of any kind of image."""
    return F._backend(img).size_of(img)


def _check_probability(prob: float) -> float:
    if not 0 <= prob <= 1:
        raise BadArgument(f"the probability must be between 0 and 1, but is {prob}")
    return prob


class Resize(BaseTransform):
    """Resize to (height, width), or the shorter side to one number."""

    def __init__(
        self, size: Any, interpolation: str = "bilinear", keys: Sequence[str] | None = None
    ) -> None:
        super().__init__(keys)
        if not (isinstance(size, int) or (isinstance(size, Sequence) and len(size) == 2)):
            raise BadArgument(f"Resize: size must be an int or (height, width), but is {size!r}")
        self.size = size
        self.interpolation = interpolation

    def _apply_image(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation)


class CenterCrop(BaseTransform):
    """Cut (height, width) out of the middle."""

    def __init__(self, size: Any, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.size = _geometry.pair(size)

    def _apply_image(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class RandomResizedCrop(BaseTransform):
    """Cut a random rectangle, of an area within ``scale`` of the image's and of an aspect within
    ``ratio``, and resize it.
    """

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4, 4.0 / 3),
        interpolation: str = "bilinear",
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        for name, ends in (("scale", scale), ("ratio", ratio)):
            if ends[0] > ends[1]:
                raise BadArgument(
                    f"RandomResizedCrop: {name} should be of kind (min, max), but is {ends!r}"
                )
        self.size = (size, size) if isinstance(size, int) else size
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation

    def _draw(self, width: int, height: int) -> tuple[int, int, int, int]:
        for _ in range(10):
            area = np.random.uniform(self.scale[0], self.scale[1]) * (height * width)
            aspect = math.exp(np.random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                return random.randint(0, height - h), random.randint(0, width - w), h, w
        return self._central(width, height)

    def _central(self, width: int, height: int) -> tuple[int, int, int, int]:
        """The largest rectangle in the middle that the range of aspects allows."""
        w, h = width, height
        if width / height < min(self.ratio):
            h = round(w / min(self.ratio))
        elif width / height > max(self.ratio):
            w = round(h * max(self.ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def _apply_image(self, img: Any) -> Any:
        return F.resize(F.crop(img, *self._draw(*image_size(img))), self.size, self.interpolation)


class RandomCrop(BaseTransform):
    """Cut (height, width) at a random place, after padding; ``pad_if_needed`` widens images that
    are too small.
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        self.size = _geometry.pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _get_param(self, img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        width, height = image_size(img)
        crop_height, crop_width = output_size
        if crop_height > height or crop_width > width:
            raise UsageError(
                f"RandomCrop: the size {output_size} is larger than the image {(height, width)}; "
                "pass pad_if_needed=True"
            )
        if (width, height) == (crop_width, crop_height):
            return 0, 0, height, width
        top = random.randint(0, height - crop_height)
        return top, random.randint(0, width - crop_width), crop_height, crop_width

    def _apply_image(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        width, height = image_size(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, (self.size[1] - width, 0), self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, (0, self.size[0] - height), self.fill, self.padding_mode)
        return F.crop(img, *self._get_param(img, self.size))


class Pad(BaseTransform):
    """Widen by ``padding``: one number, (left and right, top and bottom), or (left, top, right,
    bottom).
    """

    def __init__(
        self,
        padding: Any,
        fill: Any = 0,
        padding_mode: str = "constant",
        keys: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(padding, (numbers.Number, list, tuple)) or not isinstance(
            fill, (numbers.Number, str, list, tuple)
        ):
            raise BadArgument(
                f"Pad: padding and fill must be numbers or sequences, but are {padding!r} and "
                f"{fill!r}"
            )
        _geometry.paddings(padding, fill, padding_mode)
        super().__init__(keys)
        self.padding = tuple(padding) if isinstance(padding, list) else padding
        self.fill = tuple(fill) if isinstance(fill, list) else fill
        self.padding_mode = padding_mode

    def _apply_image(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class RandomHorizontalFlip(BaseTransform):
    """Exchange left and right with probability ``prob``."""

    def __init__(self, prob: float = 0.5, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.prob = _check_probability(prob)

    def _apply_image(self, img: Any) -> Any:
        return F.hflip(img) if random.random() < self.prob else img


class RandomVerticalFlip(BaseTransform):
    """Exchange top and bottom with probability ``prob``."""

    def __init__(self, prob: float = 0.5, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.prob = _check_probability(prob)

    def _apply_image(self, img: Any) -> Any:
        return F.vflip(img) if random.random() < self.prob else img


class RandomRotation(BaseTransform):
    """Rotate by a random angle from ``degrees``: (min, max), or ± one number."""

    def __init__(
        self,
        degrees: Any,
        interpolation: str = "nearest",
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        self.degrees = angle_range(degrees, "degrees")
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = fill

    def _get_param(self, degrees: Sequence[float]) -> float:
        return random.uniform(degrees[0], degrees[1])

    def _apply_image(self, img: Any) -> Any:
        return F.rotate(
            img,
            self._get_param(self.degrees),
            self.interpolation,
            self.expand,
            self.center,
            self.fill,
        )


class RandomAffine(BaseTransform):
    """A random rotation, translation (as shares of width and height), scale and shear."""

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        interpolation: str = "nearest",
        fill: Any = 0,
        center: Any = None,
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        self.degrees = angle_range(degrees, "degrees")
        if translate is not None:
            check_length(translate, "translate", (2,))
            if not all(0.0 <= t <= 1.0 for t in translate):
                raise UsageError(
                    "RandomAffine: translation values should be between 0 and 1, but are "
                    f"{translate!r}"
                )
        if scale is not None:
            check_length(scale, "scale", (2,))
            if not all(s > 0 for s in scale):
                raise UsageError(
                    f"RandomAffine: scale values should be positive, but are {scale!r}"
                )
        if center is not None:
            check_length(center, "center", (2,))
        if fill is not None and not isinstance(fill, (Sequence, numbers.Number)):
            raise DtypeError(
                f"RandomAffine: fill should be a sequence or a number, but is {fill!r}"
            )
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else angle_range(shear, "shear", (2, 4))
        self.interpolation = interpolation
        self.fill = 0 if fill is None else fill
        self.center = center

    def _draw(
        self, width: int, height: int
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        angle = random.uniform(self.degrees[0], self.degrees[1])
        moved = (0, 0)
        if self.translate is not None:
            reach_x, reach_y = float(self.translate[0] * width), float(self.translate[1] * height)
            moved = (int(random.uniform(-reach_x, reach_x)), int(random.uniform(-reach_y, reach_y)))
        scale = 1.0 if self.scale is None else random.uniform(self.scale[0], self.scale[1])
        shear_x = shear_y = 0.0
        if self.shear is not None:
            shear_x = random.uniform(self.shear[0], self.shear[1])
            if len(self.shear) == 4:
                shear_y = random.uniform(self.shear[2], self.shear[3])
        return angle, moved, scale, (shear_x, shear_y)

    def _apply_image(self, img: Any) -> Any:
        drawn = self._draw(*image_size(img))
        return F.affine(
            img, *drawn, interpolation=self.interpolation, fill=self.fill, center=self.center
        )


class RandomPerspective(BaseTransform):
    """With probability ``prob``, move each corner inwards by up to ``distortion_scale`` of half the
    image.
    """

    def __init__(
        self,
        prob: float = 0.5,
        distortion_scale: float = 0.5,
        interpolation: str = "nearest",
        fill: Any = 0,
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        self.prob = _check_probability(prob)
        if not 0 <= distortion_scale <= 1:
            raise BadArgument(
                "RandomPerspective: distortion_scale must be between 0 and 1, but is "
                f"{distortion_scale}"
            )
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill

    def get_params(
        self, width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The corners, and where they go, clockwise from the top left."""
        reach_x, reach_y = (
            int(distortion_scale * (width // 2)),
            int(distortion_scale * (height // 2)),
        )

        def near_start(reach: int) -> int:
            return int(random.uniform(0, reach + 1))

        def near_end(extent: int, reach: int) -> int:
            return int(random.uniform(extent - reach - 1, extent))

        top_left = [near_start(reach_x), near_start(reach_y)]
        top_right = [near_end(width, reach_x), near_start(reach_y)]
        bottom_right = [near_end(width, reach_x), near_end(height, reach_y)]
        bottom_left = [near_start(reach_x), near_end(height, reach_y)]
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return corners, [top_left, top_right, bottom_right, bottom_left]

    def _apply_image(self, img: Any) -> Any:
        if random.random() >= self.prob:
            return img
        width, height = image_size(img)
        start, end = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, start, end, self.interpolation, self.fill)
