"""What the sparse tables of a job are: from the entries of embeddings and from
``DistributedStrategy.sparse_table_configs``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from argosy.distributed.entry_attr import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.foundation.errors import ConfigError, NotSupported, UsageError
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.spec import Admission, ShowClick, SparseSpec
from argosy.runtime.ps.worker.worker import DENSE, Mode

__all__ = ["check_names", "check_strategy", "configured", "with_entry"]

# switches that would change what is trained, and have no meaning where servers update parameters
_REFUSED = (
    "amp", "gradient_merge", "localsgd", "adaptive_localsgd", "dgc", "lars", "lamb", "pipeline",
    "sharding", "tensor_parallel",
    "asp", "qat", "semi_auto", "auto_search", "is_fl_ps_mode", "with_coordinator",
    "heter_ccl_mode",
)  # fmt: skip


def check_strategy(strategy: DistributedStrategy) -> None:
    """NotSupported for switches that ask for something else than a parameter-server job does."""
    for switch in _REFUSED:
        if getattr(strategy, switch) is True:
            raise NotSupported(
                f"DistributedStrategy.{switch} is not supported in a parameter-server job"
            )
    if strategy.a_sync_configs["heter_worker_device_guard"] != "cpu":
        raise NotSupported(
            "a_sync_configs['heter_worker_device_guard']: heterogeneous workers are not supported"
        )
    for name in ("local_sparse", "remote_sparse"):  # what to dump is refused where it is run
        if strategy.trainer_desc_configs[name]:
            raise NotSupported(f"trainer_desc_configs[{name!r}] is not supported")


# -- entries
# --------------------------------------------------------------------------------------------------


def with_entry(spec: SparseSpec, entry: Any, mode: Mode) -> SparseSpec:
    """``spec`` with the rule of ``entry`` about which ids get a row, or with counts of shows and
    clicks.
    """
    if entry is None:
        return spec
    if mode.kind == "geo" and not isinstance(entry, ProbabilityEntry):
        raise NotSupported(
            f"table {spec.name!r}: {type(entry).__name__} in geo mode, where workers train rows "
            "of their own and servers see neither pulls nor samples"
        )
    if isinstance(entry, CountFilterEntry):
        return dataclasses.replace(spec, admission=Admission("count", entry.count_filter))
    if isinstance(entry, ProbabilityEntry):
        return dataclasses.replace(spec, admission=Admission("probability", entry.probability))
    if isinstance(entry, ShowClickEntry):
        return (
            spec
            if spec.show_click is not None
            else dataclasses.replace(spec, show_click=ShowClick())
        )
    raise UsageError(
        f"table {spec.name!r}: an entry is a CountFilterEntry, a ProbabilityEntry or a "
        f"ShowClickEntry, but received {type(entry).__name__}"
    )


# -- settings of the strategy
# -------------------------------------------------------------------------------------------

_RULES = {
    "SparseNaiveSGDRule": ("sgd", "naive"),
    "SparseAdaGradSGDRule": ("table_adagrad", "adagrad"),
    "StdAdaGradSGDRule": ("table_std_adagrad", "adagrad"),
    "SparseAdaGradV2SGDRule": ("table_adagrad_v2", "adagrad"),
    "SparseAdamSGDRule": ("adam", "adam"),
    "SparseSharedAdamSGDRule": ("table_shared_adam", "adam"),
}
_COUNTED = {
    "nonclk_coeff": "nonclick_weight",
    "click_coeff": "click_weight",
    "show_click_decay_rate": "decay",
    "delete_threshold": "delete_below",
    "delete_after_unseen_days": "delete_after_unseen_days",
    "base_threshold": "base_threshold",
    "delta_threshold": "delta_threshold",
    "delta_keep_days": "delta_keep_days",
}


def configured(spec: SparseSpec, strategy: DistributedStrategy) -> tuple[SparseSpec, bool]:
    """``spec`` with what the strategy says of the table of its name, and whether that gives it a
    rate of its own, which the script's does not reach.
    """
    named = [table for table in strategy.sparse_table_configs if table.table_name == spec.name]
    if not named:
        return spec, False
    accessor = named[-1].accessor
    _check_accessor(spec, accessor)
    spec = dataclasses.replace(spec, show_click=_show_click(accessor.ctr_accessor_param))
    rule = _rule(spec, accessor)
    if rule is None:
        return spec, False
    changed, initial_range = rule
    initial = Initial(
        "uniform",
        -initial_range,
        initial_range,
        spec.initial.seed,
        accessor.ctr_accessor_param.zero_init,
    )
    return dataclasses.replace(spec, rule=changed, initial=initial), True


def check_names(strategy: DistributedStrategy, names: Sequence[str]) -> None:
    """ConfigError for settings of a table that the model does not have, and for a table with the
    name of the dense one.
    """
    if DENSE in names:
        raise ConfigError(
            f"the parameter of a sparse embedding cannot be named {DENSE!r}: that is the table "
            "of all dense parameters"
        )
    for table in strategy.sparse_table_configs:
        if table.table_name not in names:
            raise ConfigError(
                f"sparse_table_configs: there is no table {table.table_name!r}; the model has "
                f"{sorted(names)}"
            )


def _check_accessor(spec: SparseSpec, accessor: Any) -> None:
    where = f"sparse_table_configs of {spec.name!r}"
    if accessor.accessor_class not in ("", "SparseAccessor"):
        raise NotSupported(
            f"{where}: accessor_class {accessor.accessor_class!r}, whose rows begin with their "
            "shows and clicks; SparseAccessor keeps them apart"
        )
    stored = accessor.stored()
    if stored.get("embedx_threshold"):
        raise NotSupported(f"{where}: embedx_threshold: a row has all its values from the start")
    for name, expected in (("embedx_dim", spec.dim - 1), ("fea_dim", spec.dim + 2)):
        if stored.get(name, expected) != expected:
            raise ConfigError(
                f"{where}: {name} is {stored[name]}, but must be {expected} for rows of "
                f"{spec.dim} values"
            )
    for name in ("load_filter_slots", "save_filter_slots"):
        if getattr(accessor.ctr_accessor_param, name):
            raise NotSupported(f"{where}: {name} is not supported")


def _show_click(parameters: Any) -> ShowClick:
    """What was set; the defaults of tables without settings for the rest."""
    stored = parameters.stored()
    return ShowClick(
        **{ours: stored[theirs] for theirs, ours in _COUNTED.items() if theirs in stored}
    )


def _rule(spec: SparseSpec, accessor: Any) -> tuple[Rule, float] | None:
    """The update rule that was set for the values of a row, and the range in which they begin; None
    if none was.
    """
    first, rest = accessor.embed_sgd_param, accessor.embedx_sgd_param
    if not first.name and not rest.name:
        return None
    where = f"sparse_table_configs of {spec.name!r}"
    if spec.dim > 1 and first.name != rest.name:
        raise NotSupported(
            f"{where}: embed_sgd_param and embedx_sgd_param must name one rule, but "
            f"{first.name!r} and {rest.name!r}"
        )
    chosen = rest if spec.dim > 1 else first
    if chosen.name not in _RULES:
        raise NotSupported(f"{where}: rule {chosen.name!r}; there are {', '.join(_RULES)}")
    name, group = _RULES[chosen.name]
    if spec.dim > 1 and _without_range(getattr(first, group)) != _without_range(
        getattr(rest, group)
    ):
        raise NotSupported(
            f"{where}: embed_sgd_param and embedx_sgd_param must have the same settings"
        )
    settings = getattr(chosen, group)
    own = {}
    if group == "adagrad":
        if not accessor.ctr_accessor_param.show_scale:
            raise NotSupported(
                f"{where}: show_scale=False: {chosen.name} divides gradients by the shows of a row"
            )
        own = {} if name == "table_adagrad_v2" else {"initial_g2sum": float(settings.initial_g2sum)}
    elif group == "adam":
        own = {
            "beta1": settings.beta1_decay_rate,
            "beta2": settings.beta2_decay_rate,
            "epsilon": settings.ada_epsilon,
        }
    rule = Rule(name, float(settings.learning_rate), own)
    if settings.weight_bounds:
        low, high = map(float, settings.weight_bounds)
        rule = dataclasses.replace(rule, bounds=(low, high))
    return rule, float(settings.initial_range)


def _without_range(settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.as_dict().items() if name != "initial_range"}
