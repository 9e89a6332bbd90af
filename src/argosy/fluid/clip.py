"""``fluid.clip``: limits on gradients, for an optimizer (``grad_clip``) or for the parameters of a
program (``set_gradient_clip``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.nn import clip as _current
from argosy.static.ir.variable import Parameter
from argosy.static.record.recorder import default_main_program

GradientClipBase = _current.ClipGradBase
Pairs = list[tuple[Any, Any]]


class _Choosing(_current.ClipGradBase):
    """Leaves alone the gradients of parameters for which ``need_clip(parameter)`` is false."""

    _need_clip: Callable[[Any], bool] | None = None

    def __call__(self, params_grads: Pairs) -> Pairs:
        wanted = self._need_clip
        if wanted is None:
            return super().__call__(params_grads)
        pairs = [(p, g) for p, g in params_grads if g is not None]
        return _in_place_of(pairs, super().__call__([pair for pair in pairs if wanted(pair[0])]))


def _in_place_of(pairs: Pairs, clipped: Pairs) -> Pairs:
    """``pairs`` with the gradients that ``clipped`` has, in their order."""
    new = {id(p): g for p, g in clipped}
    return [(p, new.get(id(p), g)) for p, g in pairs]


class GradientClipByValue(_Choosing, _current.ClipGradByValue):
    """Limit every element to [min, max]; ``min`` is -max unless given."""

    def __init__(
        self, max: float, min: float | None = None, need_clip: Callable[[Any], bool] | None = None
    ) -> None:
        super().__init__(max, min)
        self._need_clip = _checked(need_clip)


class GradientClipByNorm(_Choosing, _current.ClipGradByNorm):
    """Scale each gradient whose 2-norm is above ``clip_norm`` down to it."""

    def __init__(self, clip_norm: float, need_clip: Callable[[Any], bool] | None = None) -> None:
        super().__init__(clip_norm)
        self._need_clip = _checked(need_clip)


class GradientClipByGlobalNorm(_Choosing, _current.ClipGradByGlobalNorm):
    """Scale gradients by one factor when their joint 2-norm is above ``clip_norm``.

    ``group_name`` says which parameters are taken together by ``set_gradient_clip``.
    """

    def __init__(
        self,
        clip_norm: float,
        group_name: str = "default_group",
        need_clip: Callable[[Any], bool] | None = None,
    ) -> None:
        super().__init__(clip_norm, group_name)
        self._need_clip = _checked(need_clip)


def _checked(need_clip: Any) -> Any:
    if need_clip is not None and not callable(need_clip):
        raise DtypeError(
            f"fluid.clip: need_clip must be a function of a parameter, but received {need_clip!r}"
        )
    return need_clip


def set_gradient_clip(clip: Any, param_list: Any = None, program: Any = None) -> None:
    """Limit the gradients of the given parameters, by default of all that ``program`` has now.

    Optimizers without a ``grad_clip`` of their own do so in ``minimize``.
    """
    if not isinstance(clip, GradientClipBase):
        raise DtypeError(
            "set_gradient_clip: 'clip' should be an instance of GradientClipBase, but received "
            f"{type(clip).__name__}"
        )
    block = (program or default_main_program()).global_block()
    given = block.all_parameters() if param_list is None else list(param_list)
    params: list[Any] = [block.var(item) if isinstance(item, str) else item for item in given]
    if not all(isinstance(param, Parameter) for param in params):
        raise DtypeError(
            "set_gradient_clip: 'param_list' should be a list of parameters or of their names"
        )
    for param in params:
        param.gradient_clip_attr = clip


def clips_of_parameters(program: Any) -> Any:
    """What ``set_gradient_clip`` asked for in a program, as one clip; None if nothing."""
    clips = {p.name: p.__dict__.get("gradient_clip_attr") for p in program.all_parameters()}
    # the same as the optimizer's own, which is cheaper
    if len({id(clip) for clip in clips.values()}) == 1:
        return next(iter(clips.values()))
    return _ByParameter(clips) if any(clips.values()) else None


class _ByParameter(_current.ClipGradBase):
    """Limits each gradient by the clip of its parameter; global norms are over the parameters of
    one group name.
    """

    def __init__(self, clips: dict[str, Any]) -> None:
        self._clips = clips

    def __call__(self, params_grads: Pairs) -> Pairs:
        groups: dict[Any, tuple[Any, Pairs]] = {}
        pairs = [(p, g) for p, g in params_grads if g is not None]
        for param, grad in pairs:
            clip = self._clips.get(param.name)
            if clip is None:
                continue
            key = getattr(clip, "group_name", id(clip))
            first, members = groups.setdefault(key, (clip, []))
            if getattr(first, "clip_norm", None) != getattr(clip, "clip_norm", None):
                raise UsageError(
                    "set_gradient_clip: all parameters of a group should have the same 'clip_norm'"
                )
            members.append((param, grad))
        for clip, members in groups.values():
            pairs = _in_place_of(pairs, clip(members))
        return pairs
