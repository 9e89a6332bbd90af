"""``fluid.contrib.mixed_precision.decorator``: optimizers that train with mixed precision."""

from typing import TYPE_CHECKING, Any

from argosy.fluid.table import define

if TYPE_CHECKING:  # the names of the table

    def __getattr__(name: str) -> Any: ...


define(
    globals(),
    """
decorate(optimizer, amp_lists=None, init_loss_scaling=2.0**15, incr_every_n_steps=1000,
  decr_every_n_nan_or_inf=2, incr_ratio=2.0, decr_ratio=0.8, use_dynamic_loss_scaling=True)
  -> static.amp.decorate(optimizer, amp_lists=amp_lists, init_loss_scaling=init_loss_scaling,
  incr_every_n_steps=incr_every_n_steps, decr_every_n_nan_or_inf=decr_every_n_nan_or_inf,
  incr_ratio=incr_ratio, decr_ratio=decr_ratio, use_dynamic_loss_scaling=use_dynamic_loss_scaling,
  use_pure_fp16=False)
""",
)
