"""The methods of Tensor that Paddle's Python code and its tests call on its C++ object: shared
memory, versions, gradients by hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import torch_private
from argosy.foundation.errors import AutogradError
from argosy.tensor._core.construct import is_initialised, mark_uninitialised
from argosy.tensor._core.convert import to_raw
from argosy.tensor._core.tensor import Tensor, wrap

# -- memory
# --------------------------------------------------------------------------------------------------


def _share_buffer_to(self: Tensor, dst: Tensor) -> None:
    """Let ``dst`` use the memory of this tensor; it keeps its shape if it has as many elements."""
    own = self.raw.detach()
    fits = dst.raw.numel() == own.numel() and is_initialised(dst)
    dst.raw = own.view(dst.raw.shape) if fits else own


def _is_shared_buffer_with(self: Tensor, other: Tensor) -> bool:
    """Whether both use one piece of memory."""
    own, others = self.raw.untyped_storage(), other.raw.untyped_storage()
    return own.data_ptr() == others.data_ptr() != 0


def _share_underline_tensor_to(self: Tensor, dst: Tensor) -> None:
    """Let ``dst`` be this tensor under another name."""
    dst.raw = self.raw


def _is_shared_underline_tensor_with(self: Tensor, other: Tensor) -> bool:
    return self.raw is other.raw


def _slice(self: Tensor, begin_idx: int, end_idx: int) -> Tensor:
    """Rows ``begin_idx`` to ``end_idx``, in the same memory."""
    return wrap(self.raw.detach()[begin_idx:end_idx])


def _clear(self: Tensor) -> None:
    """Let go of the memory."""
    self.raw = torch.empty((0,), dtype=self.raw.dtype, device=self.raw.device)
    mark_uninitialised(self)


def _set(self: Tensor, array: Any, place: Any = None) -> None:
    """Hold a copy of an array, of any shape: what ``param.value().get_tensor().set(...)`` does."""
    new = to_raw(array, place=place)
    with torch.no_grad():
        if new.shape == self.raw.shape and new.dtype is self.raw.dtype:
            self.raw.copy_(new)
        else:
            self.take_over(new.requires_grad_(self.raw.requires_grad))


def _md5sum(self: Tensor) -> str:
    """The MD5 sum of the values' bytes."""
    return hashlib.md5(self.numpy().tobytes(), usedforsecurity=False).hexdigest()


# -- gradients
# --------------------------------------------------------------------------------------------------


def _zero_grads(self: Tensor) -> None:
    """Set the gradient to zeros, or make one of zeros."""
    grad = self.raw.grad
    if grad is None:
        self.raw.grad = torch.zeros_like(self.raw)
    else:
        grad.zero_()


def _set_grad_ivar(self: Tensor, grad: Tensor) -> None:
    self.grad = grad


def _copy_gradient_from(self: Tensor, other: Tensor) -> None:
    """Let the gradient be ``other``."""
    self.grad = other


def _register_backward_hook(self: Tensor, hook: Callable[[], None]) -> int:
    """Call ``hook()`` each time that a backward has put the gradient of this leaf in place."""
    if self.stop_gradient:
        raise AutogradError(
            "Tensor._register_backward_hook: the tensor stops gradient, so it gets none"
        )
    if not self.raw.is_leaf:
        raise AutogradError("Tensor._register_backward_hook: only leaf tensors can have such hooks")
    self.raw.register_post_accumulate_grad_hook(lambda _: hook())  # type: ignore[no-untyped-call]
    return torch_private.num_gradient_hooks(self.raw)[1]


def _reset_grad_inplace_version(self: Tensor, set_to_zero: bool = False) -> None:
    """Forget, with ``set_to_zero``, how often the gradient was changed in place."""
    if set_to_zero and self.raw.grad is not None:
        torch_private.set_version_counter((self.raw.grad,), (0,))


class GradNode:
    """A node of the graph that backward walks, under Paddle's name for it."""

    __slots__ = ("_node",)

    _NAMES = {
        "AccumulateGrad": "GradNodeAccumulation",
        "AddmmBackward": "AddmmGradNode",
        "BmmBackward": "MatmulGradNode",
        "CloneBackward": "AssignGradNode",
        "DivBackward": "DivideGradNode",
        "MmBackward": "MatmulGradNode",
        "MulBackward": "MultiplyGradNode",
        "SubBackward": "SubtractGradNode",
        "TBackward": "TransposeGradNode",
    }

    def __init__(self, node: Any) -> None:
        self._node = node

    def name(self) -> str:
        name: str = self._node.name().rpartition("::")[2].rstrip("0123456789")
        return self._NAMES.get(name, name.removesuffix("Backward") + "GradNode")

    @property
    def next_functions(self) -> list[GradNode | None]:
        """The nodes that backward comes to next; only None for a leaf."""
        nodes = [node for node, _ in self._node.next_functions if node is not None]
        return [GradNode(node) for node in nodes] or [None]

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def _grad_fn(self: Tensor) -> GradNode | None:
    """The node that computes the gradients of what this tensor was computed from; None for a
    leaf.
    """
    node = self.raw.grad_fn
    return None if node is None else GradNode(node)


METHODS: dict[str, Any] = {
    "_bump_inplace_version": lambda self: torch.autograd.graph.increment_version(self.raw),
    "_clear": _clear,
    "_clear_data": _clear,
    "_clear_dataptr": _clear,
    "_copy_gradient_from": _copy_gradient_from,
    "_dtype": lambda self: self.dtype,
    "_grad_name": lambda self: f"{self.name}@GRAD",
    "_grad_value": lambda self: self.grad,
    "_is_dense_tensor_hold_allocation": is_initialised,
    "_is_gradient_set_empty": lambda self: self.raw.grad is None,
    "_is_initialized": is_initialised,
    "_is_shared_buffer_with": _is_shared_buffer_with,
    "_is_shared_underline_tensor_with": _is_shared_underline_tensor_with,
    "_md5sum": _md5sum,
    "_numel": lambda self: self.raw.numel(),
    "_offset": lambda self: self.offset,
    "_place": lambda self: self.place,
    "_place_str": property(lambda self: str(self.place)),
    "_register_backward_hook": _register_backward_hook,
    "_reset_grad_inplace_version": _reset_grad_inplace_version,
    "_set_grad_ivar": _set_grad_ivar,
    "_share_buffer_to": _share_buffer_to,
    "_share_underline_tensor_to": _share_underline_tensor_to,
    "_slice": _slice,
    "_unsafe_share_buffer_to": _share_buffer_to,
    # which library computes on a GPU is torch's choice
    "_use_gpudnn": lambda self, use_gpudnn=True: wrap(self.raw),
    "_zero_grads": _zero_grads,
    "grad_fn": property(_grad_fn),
    "set": _set,
}
