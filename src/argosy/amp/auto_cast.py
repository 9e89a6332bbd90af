"""auto_cast and decorate: run a model in bfloat16 or float16.

On CPU, bfloat16 is really used. float16 is not, as in Paddle: a warning says so once and everything
stays in float32.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from argosy.amp.amp_lists import black_list, white_list
from argosy.amp.mode import AutoCast
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.process_state import register
from argosy.nn import Layer
from argosy.tensor.engine import Tensor, current_mode, defaults, pop_mode, push_mode, wrap

LEVELS = ("O0", "OD", "O1", "O2")
LOW_DTYPES = ("float16", "bfloat16")


class AmpState:
    """What is in force. One instance, because Paddle's API is process-wide."""

    def __init__(self) -> None:
        self.amp_dtype = "float32"  # as last asked for by auto_cast; GradScaler reads it
        self.has_warned = False
        self.asked: dict[str, Any] | None = None  # of the innermost auto_cast that is open


_state = register("mixed precision", AmpState())


def amp_global_state() -> AmpState:
    return _state


def amp_state() -> dict[str, Any] | None:
    """The arguments of the auto_cast that the caller is inside of, None outside of any."""
    return _state.asked


class PureModeError(UsageError, RuntimeError):
    """decorate was given something that is not a model or an optimizer."""


def _is_usable(dtype: str) -> bool:
    """Whether computing in ``dtype`` is possible here; says so once where it is not."""
    if dtype == "float16" and defaults.device.type == "cpu":
        if not _state.has_warned:
            _state.has_warned = True
            warnings.warn(
                "paddle.amp: float16 makes no effect on CPU, computations stay in float32. "
                "Ask for dtype='bfloat16' to compute in low precision on CPU.",
                stacklevel=4,
            )
        return False
    return True


def _lists(
    custom_white: Any, custom_black: Any, level: str, dtype: str
) -> tuple[set[str], set[str]]:
    if level == "O0":
        return set(), set()
    more_white, more_black = set(custom_white or ()), set(custom_black or ())
    if more_white & more_black:
        raise UsageError(
            "auto_cast: Custom white list overlap custom black list: "
            f"{sorted(more_white & more_black)} are in both"
        )
    white = (white_list()[dtype][level] - more_black) | more_white
    black = (black_list()[dtype][level] - more_white) | more_black
    return white, black


@contextlib.contextmanager
def amp_guard(
    enable: bool = True,
    custom_white_list: Any = None,
    custom_black_list: Any = None,
    level: str = "O1",
    dtype: Any = "float16",
    use_promote: bool = True,
) -> Iterator[None]:
    """Compute with mixed precision inside the block; also a decorator.

    Level O1 runs the white list (matrix products, convolutions) in ``dtype``, the black list in
    float32, and promotes elsewhere; O2 runs everything but the black list in ``dtype``; OD only the
    white list; O0 nothing. Custom lists hold Paddle's op types. Differs from Paddle: bfloat16 is
    also used on CPU.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(4, 2)
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     out = layer(paddle.ones([3, 4]))
        >>> out.dtype
        paddle.bfloat16
    """
    level = level.upper()
    if level not in LEVELS:
        raise UsageError(f"auto_cast: level should be O0, OD, O1 or O2, but received {level!r}.")
    dtype = dtype.name if isinstance(dtype, dtypes.DType) else str(dtype).lower()
    if enable and dtype not in LOW_DTYPES:
        raise UsageError(
            "auto_cast: If enable amp, dtype should be 'float16' or 'bfloat16', but received "
            f"{dtype!r}."
        )
    _state.amp_dtype = dtype
    mode = current_mode()
    inner = mode.inner if isinstance(mode, AutoCast) else mode
    if not enable or level == "O0" or not _is_usable(dtype):
        push_mode(inner)
    else:
        white, black = _lists(custom_white_list, custom_black_list, level, dtype)
        push_mode(AutoCast(white, black, level, dtypes.to_torch(dtype), use_promote, inner))
    around = _state.asked
    _state.asked = {
        "enable": enable,
        "custom_white_list": custom_white_list,
        "custom_black_list": custom_black_list,
        "level": level,
        "dtype": dtype,
        "use_promote": use_promote,
    }
    try:
        yield
    finally:
        pop_mode()
        _state.asked = around


auto_cast = amp_guard


def autocast(
    device_type: str | None,
    dtype: Any = "float16",
    enabled: bool = True,
    cache_enabled: bool = True,
) -> Any:
    """``auto_cast`` with torch's arguments; the cache is only a hint."""
    return amp_guard(enable=enabled, dtype=dtype)


def is_autocast_enabled(device_type: Any = None) -> bool:
    return isinstance(current_mode(), AutoCast)


def get_autocast_dtype(device_type: Any = None) -> str:
    """The name of the dtype in force, 'float16' outside of auto_cast."""
    mode = current_mode()
    return dtypes.name_of(mode.dtype) if isinstance(mode, AutoCast) else "float16"


def amp_decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: str = "float16",
    master_weight: bool | None = None,
    save_dtype: str | None = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """Prepare models and optimizers for level O2: parameters become ``dtype``, optimizers keep
    float32 masters.

    Batch norms (and, for float16, layer and instance norms) keep float32 parameters.
    ``master_weight=False`` turns masters off; ``save_dtype`` is the dtype of what ``state_dict``
    returns; with ``master_grad`` gradients are gathered in float32, in ``param.main_grad``. Returns
    what was passed, one or a list each; models are changed in place.
    """
    if level not in ("O1", "O2"):
        raise UsageError(f"decorate: level should be O1 or O2, but received {level!r}.")
    if dtype not in LOW_DTYPES:
        raise UsageError(
            f"decorate: dtype only support float16 or bfloat16, but received {dtype!r}."
        )
    if save_dtype not in (None, "float16", "bfloat16", "float32", "float64"):
        raise UsageError(
            "decorate: save_dtype can only be float16, bfloat16, float32 or float64, not "
            f"{save_dtype!r}."
        )
    if level == "O2" and _is_usable(dtype):
        layers = _listed(models, lambda item: isinstance(item, Layer), "models", "Layer")
        rules = (
            []
            if optimizers is None
            else _listed(optimizers, _is_optimizer, "optimizers", "Optimizer")
        )
        _cast_models(layers, dtype, excluded_layers)
        for rule in rules:
            rule.keep_masters(master_weight is not False)
            rule.keep_master_grads(master_grad)
        if master_grad:
            for layer in layers:
                _gather_in_float32(layer)
        if save_dtype is not None:
            for layer in layers:
                for sub in layer.sublayers(include_self=True):
                    sub.register_state_dict_hook(_SaveAs(save_dtype))
    return models if optimizers is None else (models, optimizers)


decorate = amp_decorate


def _is_optimizer(item: Any) -> bool:
    return hasattr(item, "_multi_precision") and hasattr(item, "_param_groups")


def _listed(value: Any, fits: Callable[[Any], bool], what: str, kind: str) -> list[Any]:
    if fits(value):
        return [value]
    if not isinstance(value, list):
        raise DtypeError(
            f"decorate: {what} must be one {kind} or a list of them, not {type(value).__name__}."
        )
    for item in value:
        if not fits(item):
            raise PureModeError(
                f"decorate: {what} should be {kind}, but received {type(item).__name__}."
            )
    return value


def _cast_models(models: list[Any], dtype: str, excluded: Any) -> None:
    chosen = [] if excluded is None else excluded if isinstance(excluded, list) else [excluded]
    kinds = tuple(item for item in chosen if isinstance(item, type) and issubclass(item, Layer))
    instances = [item for item in chosen if isinstance(item, Layer)]
    if len(kinds) + len(instances) != len(chosen):
        raise DtypeError(
            "decorate: excluded_layers must be either a nn.Layer instance/type or a list of them."
        )
    kept = {id(sub) for layer in instances for sub in layer.sublayers(include_self=True)}
    for model in models:
        for layer in model.sublayers(include_self=True):
            if (
                id(layer) not in kept
                and not isinstance(layer, kinds)
                and not _stays_float32(layer, dtype)
            ):
                layer.cast_members(None, dtype, floating_only=True, include_sublayers=False)


def _stays_float32(layer: Any, dtype: str) -> bool:
    names = {kind.__name__ for kind in type(layer).__mro__}
    if names & {
        "BatchNorm",
        "BatchNorm1D",
        "BatchNorm2D",
        "BatchNorm3D",
        "SyncBatchNorm",
        "_BatchNormBase",
    }:
        return True
    norms = {"LayerNorm", "InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D"}
    return dtype == "float16" and bool(names & norms)


def _gather_in_float32(model: Any) -> None:
    """Move each gradient, as soon as backward has written it, to ``param.main_grad``, summed in
    float32.
    """
    for param in model.parameters():
        if param.stop_gradient or hasattr(param, "main_grad"):
            continue
        param.main_grad = None

        def move(raw: Any, param: Tensor = param) -> None:
            grad, raw.grad = raw.grad.float(), None
            param.main_grad = wrap(
                grad if param.main_grad is None else param.main_grad.raw.add_(grad)
            )

        param.raw.register_post_accumulate_grad_hook(move)


class _SaveAs:
    """A state-dict hook that casts floating entries."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtypes.to_torch(dtype)

    def __call__(self, state_dict: dict[str, Any]) -> None:
        for key, value in state_dict.items():
            if (
                isinstance(value, Tensor)
                and value.raw.is_floating_point()
                and value.raw.dtype is not self._dtype
            ):
                cast = wrap(value.raw.detach().to(self._dtype))
                cast.name = value.name
                state_dict[key] = cast
