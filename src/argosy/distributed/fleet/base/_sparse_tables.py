"""The two ways in which scripts describe the sparse tables of a parameter server.

``sparse_table_configs`` names fields of the table's message by dotted paths; ``fleet_desc_configs``
uses the flat ``sparse_*`` keys of PaddleRec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.distributed.fleet.base._message import Message
from argosy.foundation.errors import UsageError, nearest

__all__ = ["add", "add_described"]


def add(table: Message, name: str, settings: Mapping[str, Any]) -> None:
    """Fill ``table`` from ``table_parameters.<name>.<path>`` keys; a repeated group takes
    ``<path>.num`` and lists of values, one for each.
    """
    table.table_name = name
    used = {f"table_parameters.{name}.table_name"}
    _fill(table, f"table_parameters.{name}", settings, 0, used)
    for key in settings:
        if key not in used:
            raise UsageError(
                f"sparse_table_configs: {key!r} names no setting of a table.{nearest(key, used)}"
            )


def _fill(
    message: Message, path: str, settings: Mapping[str, Any], position: int, used: set[str]
) -> None:
    for field in message.fields():
        name = f"{path}.{field.name}"
        if field.is_group and field.is_list:
            used.add(f"{name}.num")
            for i in range(settings.get(f"{name}.num", 0)):
                _fill(message.add(field.name), name, settings, i, used)
        elif field.is_group:
            _fill(getattr(message, field.name), name, settings, 0, used)
        else:
            used.add(name)
            if name in settings:
                value = settings[name]
                is_own = field.is_list or not isinstance(value, list)
                setattr(message, field.name, value if is_own else value[position])


_TABLE_CLASSES = {
    "DownpourSparseTable": "MemorySparseTable",
    "DownpourSparseSSDTable": "SSDSparseTable",
}
_ACCESSORS = {
    "DownpourSparseValueAccessor": "CtrCommonAccessor",
    "DownpourCtrAccessor": "CtrCommonAccessor",
    "DownpourCtrDoubleAccessor": "CtrDoubleAccessor",
    "DownpourUnitAccessor": "CtrCommonAccessor",
    "DownpourDoubleUnitAccessor": "CtrDoubleAccessor",
    "DownpourCtrDymfAccessor": "CtrDymfAccessor",
}
_ONE_RULE_FOR_BOTH = ("DownpourCtrAccessor", "DownpourCtrDoubleAccessor")
# key -> path to the field, whose default is the key's
_PLAIN = {
    "sparse_shard_num": "shard_num",
    "sparse_compress_in_save": "compress_in_save",
    "sparse_enable_cache": "enable_sparse_table_cache",
    "sparse_cache_rate": "sparse_table_cache_rate",
    "sparse_cache_file_num": "sparse_table_cache_file_num",
    "use_gpu_graph": "use_gpu_graph",
    "sparse_embedx_dim": "accessor.embedx_dim",
    "sparse_embedx_threshold": "accessor.embedx_threshold",
    "sparse_nonclk_coeff": "accessor.ctr_accessor_param.nonclk_coeff",
    "sparse_click_coeff": "accessor.ctr_accessor_param.click_coeff",
    "sparse_base_threshold": "accessor.ctr_accessor_param.base_threshold",
    "sparse_delta_threshold": "accessor.ctr_accessor_param.delta_threshold",
    "sparse_delta_keep_days": "accessor.ctr_accessor_param.delta_keep_days",
    "sparse_show_click_decay_rate": "accessor.ctr_accessor_param.show_click_decay_rate",
    "sparse_delete_threshold": "accessor.ctr_accessor_param.delete_threshold",
    "sparse_delete_after_unseen_days": "accessor.ctr_accessor_param.delete_after_unseen_days",
    "sparse_ssd_unseenday_threshold": "accessor.ctr_accessor_param.ssd_unseenday_threshold",
    "sparse_load_filter_slots": "accessor.ctr_accessor_param.load_filter_slots",
    "sparse_save_filter_slots": "accessor.ctr_accessor_param.save_filter_slots",
    "sparse_zero_init": "accessor.ctr_accessor_param.zero_init",
    "feature_learning_rate": "accessor.graph_sgd_param.feature_learning_rate",
    "nodeid_slot": "accessor.graph_sgd_param.nodeid_slot",
}
# name of the rule -> (class on the server, field of its settings)
_RULES = {
    "naive": ("SparseNaiveSGDRule", "naive"),
    "adagrad": ("SparseAdaGradSGDRule", "adagrad"),
    "adagrad_v2": ("SparseAdaGradV2SGDRule", "adagrad"),
    "std_adagrad": ("StdAdaGradSGDRule", "adagrad"),
    "adam": ("SparseAdamSGDRule", "adam"),
    "shared_adam": ("SparseSharedAdamSGDRule", "adam"),
}
_RULE_KEYS = {
    "naive": ("learning_rate", "initial_range"),
    "adagrad": ("learning_rate", "initial_range", "initial_g2sum"),
    "adam": (
        "learning_rate",
        "initial_range",
        "beta1_decay_rate",
        "beta2_decay_rate",
        "ada_epsilon",
    ),
}
_RULE_SETTINGS = ("optimizer", "learning_rate", "weight_bounds", "initial_range", "initial_g2sum",
    "beta1_decay_rate", "beta2_decay_rate", "ada_epsilon")  # fmt: skip
_OTHER = ("sparse_table_class", "sparse_accessor_class", "sparse_converter", "sparse_deconverter")
_KEYS = {*_PLAIN, *_OTHER, *(f"{prefix}sparse_{key}" for prefix in ("", "embed_", "embedx_")
    for key in _RULE_SETTINGS), "sparse_fea_dim"}  # fmt: skip


def add_described(strategy: Message, configs: Mapping[str, Any]) -> None:
    """Add a table for each dict in ``configs``; ``use_cvm=False`` beside them selects the accessor
    without show and click.
    """
    for name, settings in configs.items():
        if isinstance(settings, dict) and name not in ("dense_table", "datanorm_table"):
            table = Message("TableParameter", f"fleet_desc_configs.{name}")
            table.table_name = name
            _describe(table, settings, configs.get("use_cvm", True))
            strategy.downpour_table_param.append(table)


def _describe(table: Message, settings: Mapping[str, Any], use_cvm: bool) -> None:
    for key in settings:
        if key not in _KEYS:
            raise UsageError(f"strategy key '{key}' not support.{nearest(key, _KEYS)}")
    table.table_class = _choice(
        settings, "sparse_table_class", "DownpourSparseTable", _TABLE_CLASSES
    )
    accessor = table.accessor
    described = settings.get("sparse_accessor_class", "DownpourCtrAccessor")
    accessor.accessor_class = _choice(settings, "sparse_accessor_class", described, _ACCESSORS)
    if not use_cvm:
        accessor.accessor_class = "SparseAccessor"
    for key, path in _PLAIN.items():
        owner, name = table, path
        while "." in name:
            part, _, name = name.partition(".")
            owner = getattr(owner, part)
        if key in settings:
            setattr(owner, name, settings[key])
    accessor.fea_dim = accessor.embedx_dim + 3
    accessor.ctr_accessor_param.show_scale = described != "DownpourUnitAccessor"
    if table.use_gpu_graph:
        accessor.ctr_accessor_param.zero_init = False
    for number in (1, 2):
        save = accessor.add("table_accessor_save_param")
        save.param = number
        save.converter, save.deconverter = (
            settings.get("sparse_converter", ""),
            settings.get("sparse_deconverter", ""),
        )
    shared = described in _ONE_RULE_FOR_BOTH
    _set_rule(accessor.embed_sgd_param, settings, "" if shared else "embed_")
    _set_rule(accessor.embedx_sgd_param, settings, "" if shared else "embedx_")


def _choice(settings: Mapping[str, Any], key: str, default: str, known: Mapping[str, str]) -> str:
    chosen = settings.get(key, default)
    if chosen not in known:
        raise UsageError(f"{key} must be one of {', '.join(known)}, but is {chosen!r}")
    return known[chosen]


def _set_rule(rule: Message, settings: Mapping[str, Any], prefix: str) -> None:
    chosen = settings.get(f"{prefix}sparse_optimizer", "adagrad")
    if chosen not in _RULES:
        raise UsageError(
            f"{prefix}sparse_optimizer must be one of {', '.join(_RULES)}, but is {chosen!r}"
        )
    rule.name, group = _RULES[chosen]
    parameters = getattr(rule, group)
    for key in _RULE_KEYS[group]:
        setattr(parameters, key, settings.get(f"{prefix}sparse_{key}", getattr(parameters, key)))
    if group == "adagrad" and prefix == "embed_":
        parameters.initial_range = 0  # the first component starts at zero
    parameters.weight_bounds = settings.get(f"{prefix}sparse_weight_bounds", [-10, 10])
