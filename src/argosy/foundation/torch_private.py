"""What argosy uses of torch beyond what torch documents: every private name of it, here and nowhere
else, so that a torch that has moved one is told, or met, in one place.

Names are bound when this module is imported: a call through it costs what a call of torch's costs.
What would take long to import is a function. Two attributes of tensors are used besides,
``_version`` and ``_is_view()``, and those that a subclass of a class of torch inherits.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.modules import batchnorm
from torch.utils._python_dispatch import TorchDispatchMode

# one call for the tensors of a list
foreach_abs = torch._foreach_abs
foreach_add = torch._foreach_add
foreach_add_ = torch._foreach_add_
foreach_addcdiv_ = torch._foreach_addcdiv_
foreach_addcmul = torch._foreach_addcmul
foreach_addcmul_ = torch._foreach_addcmul_
foreach_copy_ = torch._foreach_copy_
foreach_div = torch._foreach_div
foreach_div_ = torch._foreach_div_
foreach_maximum_ = torch._foreach_maximum_
foreach_mul = torch._foreach_mul
foreach_mul_ = torch._foreach_mul_
foreach_norm = torch._foreach_norm
foreach_sign = torch._foreach_sign
foreach_sqrt = torch._foreach_sqrt
foreach_sqrt_ = torch._foreach_sqrt_
foreach_sub_ = torch._foreach_sub_
foreach_zero_ = torch._foreach_zero_
amp_foreach_non_finite_check_and_unscale_ = torch._amp_foreach_non_finite_check_and_unscale_

# sees every operator that a thread runs
DispatchMode = TorchDispatchMode

# one kernel for a step of an optimizer
fused_adagrad_ = torch._fused_adagrad_
fused_adam_ = torch._fused_adam_
fused_adamw_ = torch._fused_adamw_
fused_sgd_ = torch._fused_sgd_

# kernels without the checks of torch.nn.functional
mse_loss: Callable[..., Tensor] = torch._C._nn.mse_loss
nll_loss: Callable[..., Tensor] = torch._C._nn.nll_loss  # type: ignore[attr-defined]
standard_gamma = torch._standard_gamma
upsample_bilinear2d_aa = torch.ops.aten._upsample_bilinear2d_aa
upsample_bicubic2d_aa = torch.ops.aten._upsample_bicubic2d_aa

# x @ weight.t() by oneDNN, for any dense tensors; None in a torch without it
onednn_linear: Callable[..., Tensor] | None = (
    torch.ops.mkldnn._linear_pointwise if torch._C._has_mkldnn else None
)

# gradients
set_grad_enabled = torch._C._set_grad_enabled  # no object, unlike torch.set_grad_enabled
will_execute_node = torch._C._will_engine_execute_node
current_graph_task = torch._C._current_graph_task_id
queue_callback = torch.autograd.Variable._execution_engine.queue_callback
set_version_counter = torch._C._autograd._unsafe_set_version_counter
top_saved_tensors_hooks = torch._C._autograd._top_saved_tensors_default_hooks
push_saved_tensors_hooks = torch._C._autograd._push_saved_tensors_default_hooks
_tracing_state: Callable[[], Any] = torch._C._get_tracing_state
_has_transforms: Callable[[], bool] = torch._C._are_functorch_transforms_active
pop_saved_tensors_hooks = torch._C._autograd._pop_saved_tensors_default_hooks


def hook_for_good(tensor: Tensor, hook: Callable[[Tensor], Any]) -> None:
    """``tensor.register_hook(hook)`` of a tensor that is no leaf, if nobody will remove the hook.

    Between the products of a large model, with nothing of it in the caches, the handle that torch
    makes takes 20 of 30 us.
    """
    if type(tensor) is not Tensor or tensor._backward_hooks is not None:
        tensor.register_hook(hook)  # type: ignore[no-untyped-call]
        return
    tensor._backward_hooks = OrderedDict({-1: hook})  # torch's own keys begin at 0
    tensor.grad_fn._register_hook_dict(tensor)  # type: ignore[union-attr]


def is_transformed() -> bool:
    """Whether ops are not simply run: under torch.func or saved-tensor hooks, while being traced or
    compiled, or with forward-mode derivatives. There a function written in Python may fail.
    """
    return (
        has_other_derivatives()
        or top_saved_tensors_hooks(True) is not None
        or _tracing_state() is not None
        or torch.compiler.is_compiling()
    )


def has_other_derivatives() -> bool:
    """Whether ops run under torch.func or with forward-mode derivatives: there a function of ours
    fails that has a backward alone.
    """
    return _has_transforms() or forward_ad._current_level >= 0


# what a sparse tensor stores, as it is: documented ones sum rows that repeat, or refuse them
sparse_indices = torch.Tensor._indices
sparse_values = torch.Tensor._values


def stored(x: Tensor) -> Tensor:
    """The numbers that ``x`` has in memory: of a sparse one those of its rows, as they come."""
    return sparse_values(x) if x.is_sparse else x


def num_gradient_hooks(x: Tensor) -> tuple[int, int]:
    """How many hooks a tensor has that see its gradient, and that see it where it is kept."""
    return len(x._backward_hooks or ()), len(getattr(x, "_post_accumulate_grad_hooks", None) or ())


# what a profiler shows: whether one runs; a span that any thread may end
profiler_is_enabled: Callable[[], bool] = torch._C._autograd._profiler_enabled
enter_span: Callable[..., Any] = torch._C._autograd._record_function_with_args_enter
exit_span: Callable[[Any], None] = torch._C._autograd._record_function_with_args_exit

# what all batch norms are, and those that do not know their sizes yet
BatchNorm = batchnorm._BatchNorm
LazyNorm = batchnorm._LazyNormBase

# classes of tensors
disabled_torch_function = torch._C._disabled_torch_function_impl
make_wrapper_subclass = torch.Tensor._make_wrapper_subclass


def data_worker_loop() -> Callable[..., None]:
    """What a worker process of torch's DataLoader runs."""
    from torch.utils.data._utils.worker import _worker_loop

    return _worker_loop


def data_iterator() -> Any:
    """What all passes over torch's DataLoader are."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    return _BaseDataLoaderIter


_data_worker_ends = operator.attrgetter("_worker_result_queue", "_workers_done_event")


def data_worker_ends(iterator: Any) -> tuple[Any, Any]:
    """Of a pass with workers: the queue of their results, and the event that ends them."""
    ends: tuple[Any, Any] = _data_worker_ends(iterator)
    return ends


# process groups, which only some processes make


def set_default_backend(group: Any, kind: Any, backend: Any) -> None:
    """Have a process group take ``backend`` for tensors of the CPU, and where no device is
    named.
    """
    group._register_backend(torch.device("cpu"), kind, backend)
    group._set_default_backend(kind)


def registered_backends() -> Mapping[str, Any]:
    """What was registered with torch.distributed, by name: makers of process groups."""
    from torch.distributed import Backend

    return getattr(Backend, "_plugins", {})


def registered_options() -> Any:
    """What a registered maker that wants more than four arguments is given."""
    from torch.distributed import distributed_c10d

    return distributed_c10d._DistributedBackendOptions()  # type: ignore[attr-defined]


def gloo_options(timeout: timedelta, devices: list[Any], num_threads: int) -> Any:
    """The settings of a process group of gloo."""
    from torch.distributed import ProcessGroupGloo

    options: Any = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    options._timeout, options._devices, options._threads = timeout, devices, num_threads
    return options


def nccl_options(timeout: timedelta) -> Any:
    """The settings of a process group of NCCL."""
    from torch.distributed import ProcessGroupNCCL

    options = ProcessGroupNCCL.Options()
    options._timeout = timeout
    return options


def compiler_marks() -> tuple[Callable[..., Any], dict[str, dict[Any, Any]]]:
    """The mark of functions that are not to be compiled, and torch's tables of decompositions,
    whose functions have it; ImportError if this torch has neither.
    """
    from torch._compile import _disable_dynamo
    from torch._decomp import global_decomposition_table

    return _disable_dynamo, global_decomposition_table


def skip_code(code: Any) -> None:
    """Make torch.compile leave the frames of a code object alone, and those that they call."""
    from torch._C._dynamo import eval_frame

    eval_frame.set_code_exec_strategy(
        code,
        eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP),
    )
