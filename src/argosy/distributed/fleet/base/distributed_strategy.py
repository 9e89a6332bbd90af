"""``DistributedStrategy``: what a distributed job is asked to do, as settings."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from argosy.distributed.fleet.base import _prototxt, _sparse_tables
from argosy.distributed.fleet.base._field import BOOL, FLOAT, INT, Field
from argosy.distributed.fleet.base._message import Message
from argosy.distributed.fleet.base._strategy_fields import TABLES
from argosy.distributed.fleet.base._strategy_text import overview
from argosy.foundation.errors import DtypeError, UsageError, nearest
from argosy.framework import get_flags, set_flags

__all__ = ["DistributedStrategy"]

_TYPES = {BOOL: bool, INT: int, FLOAT: float}
_FROM_FLAGS = (
    "cudnn_batchnorm_spatial_persistent",
    "conv_workspace_size_limit",
    "cudnn_exhaustive_search",
    "sync_nccl_allreduce",
)
# setting one of these does not count as having chosen something, which ``auto`` asks about
_NO_CHOICE = (
    "auto",
    "semi_auto",
    "auto_search",
    "split_data",
    "qat",
    "qat_configs",
    "heter_ccl_mode",
    "hybrid_configs",
)


class UnknownField(UsageError, TypeError):
    """A strategy has no such field."""


class _Setting:
    """The property of one field of the table."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self.__doc__ = field.doc

    def __get__(self, strategy: DistributedStrategy | None, owner: type) -> Any:
        if strategy is None:
            return self
        value = getattr(strategy.strategy, self._field.name)
        if isinstance(value, Message) and self._field.name.endswith("_configs"):
            return value.as_dict()
        return value

    def __set__(self, strategy: DistributedStrategy, value: Any) -> None:
        field = self._field
        if field.name not in _NO_CHOICE:
            strategy.__dict__["_has_choice"] = True
        if field.is_group:
            getattr(strategy.strategy, field.name).update(value)
        elif isinstance(value, _TYPES[field.kind]) or (
            field.kind == FLOAT and isinstance(value, int)
        ):
            setattr(strategy.strategy, field.name, value)
        else:
            _refuse(field, value)


def _refuse(field: Field, value: Any) -> None:
    name = field.public_name or field.name
    problem = (
        f"DistributedStrategy.{name} should have value of {_TYPES[field.kind].__name__} type, "
        f"but received {value!r}"
    )
    if field.is_strict:
        raise DtypeError(problem)
    warnings.warn(f"{problem}; it stays as it was", stacklevel=4)


class DistributedStrategy:
    """Switches (``strategy.amp = True``) and their settings (``strategy.amp_configs = {...}``).

    An unknown name is a TypeError. Assigning to ``x_configs`` changes the named keys only; lists
    grow with each assignment; an unknown key is an AssertionError. As in Paddle a switch that is
    given another type keeps its value and warns (``a_sync``, ``adam_d2sum`` and ``fp16_allreduce``
    raise). What each switch does is in the table that ``print(strategy)`` draws and in
    docs/strategies.md.

    Example:
        >>> import paddle.distributed.fleet as fleet
        >>> strategy = fleet.DistributedStrategy()
        >>> strategy.gradient_merge = True
        >>> strategy.gradient_merge_configs = {"k_steps": 4}
        >>> strategy.gradient_merge_configs
        {'k_steps': 4, 'avg': True}
    """

    if TYPE_CHECKING:  # the fields of the table

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        own = self.__dict__
        own["strategy"] = Message("DistributedStrategy")
        own["hybrid_parallel_order"] = ["dp", "pp", "sharding", "sep", "cp", "mp"]
        own["sync_param_name"] = ["embedding", "layer_norm", ".b_"]
        own["_has_choice"] = False
        for name, value in get_flags([f"FLAGS_{name}" for name in _FROM_FLAGS]).items():
            field = self.strategy.field(name.removeprefix("FLAGS_"))
            if value != field.default:
                setattr(self.strategy, field.name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not hasattr(type(self), name):
            known = [n for n in dir(type(self)) if not n.startswith("__")]
            raise UnknownField(
                f"{name} is not a attribute of {type(self).__name__}.{nearest(name, known)}"
            )
        object.__setattr__(self, name, value)

    # -- fields with rules of their own
    # ---------------------------------------------------------------------------

    @property
    def a_sync(self) -> bool:
        """Parameter server: do not wait for the other workers. Assigning it, True or False, also
        sets ``a_sync_configs['k_steps']`` to 0.
        """
        return bool(self.strategy.a_sync)

    @a_sync.setter
    def a_sync(self, flag: bool) -> None:
        field = self.strategy.field("a_sync")
        if not isinstance(flag, bool):
            _refuse(field, flag)
        self._has_choice = True
        self.strategy.a_sync = flag
        self.strategy.a_sync_configs.update({"k_steps": 0})

    @property
    def last_comm_group_size_MB(self) -> float:
        """Megabytes in the bucket that is reduced last; above 0."""
        return float(self.strategy.last_comm_group_size_MB)

    @last_comm_group_size_MB.setter
    def last_comm_group_size_MB(self, value: float) -> None:
        if not value > 0:
            raise UsageError(
                "DistributedStrategy.last_comm_group_size_MB should be greater than 0, but is "
                f"{value!r}"
            )
        self._has_choice = True
        self.strategy.last_comm_group_size_MB = value

    @property
    def hybrid_configs(self) -> dict[str, Any]:
        """How the ranks are shared among kinds of parallelism; nested groups are objects with
        attributes.
        """
        configs: Message = self.strategy.hybrid_configs
        return configs.as_dict()

    @hybrid_configs.setter
    def hybrid_configs(self, configs: Mapping[str, Any]) -> None:
        _need(Mapping, "hybrid_configs", configs)
        chosen = copy.deepcopy(dict(configs))
        order = chosen.pop("order", None)
        names = None
        if isinstance(chosen.get("mp_configs"), dict):
            names = chosen["mp_configs"].pop("sync_param_name", None)
        self.strategy.hybrid_configs.update(chosen)
        if order is not None:
            self.hybrid_parallel_order = order
        if names is not None:
            self.sync_param_name = names

    @property
    def build_strategy(self) -> Any:
        """A ``paddle.static.BuildStrategy`` with these settings; assign one to change them."""
        from argosy.static import BuildStrategy

        return _fill(BuildStrategy(), self.strategy.build_strategy)

    @build_strategy.setter
    def build_strategy(self, strategy: Any) -> None:
        from argosy.static import BuildStrategy

        _need(BuildStrategy, "build_strategy", strategy)
        _read(strategy, self.strategy.build_strategy)

    @property
    def execution_strategy(self) -> Any:
        """A ``paddle.static.ExecutionStrategy`` with these settings; assign one to change them."""
        from argosy.static import ExecutionStrategy

        return _fill(ExecutionStrategy(), self.strategy.execution_strategy)

    @execution_strategy.setter
    def execution_strategy(self, strategy: Any) -> None:
        from argosy.static import ExecutionStrategy

        _need(ExecutionStrategy, "execution_strategy", strategy)
        _read(strategy, self.strategy.execution_strategy)

    @property
    def sparse_table_configs(self) -> list[Message]:
        """The tables of a parameter server; assign ``{table: {'table_parameters.<table>.<path>':
        value}}`` to add some.
        """
        tables: list[Message] = self.strategy.downpour_table_param
        return tables

    @sparse_table_configs.setter
    def sparse_table_configs(self, configs: Mapping[str, Mapping[str, Any]]) -> None:
        _need(Mapping, "sparse_table_configs", configs)
        for table, settings in configs.items():
            _sparse_tables.add(self.strategy.add("downpour_table_param"), table, settings)

    @property
    def fleet_desc_configs(self) -> list[Message]:
        """``sparse_table_configs`` under the older keys ``sparse_*``."""
        tables: list[Message] = self.strategy.downpour_table_param
        return tables

    @fleet_desc_configs.setter
    def fleet_desc_configs(self, configs: Mapping[str, Any]) -> None:
        _need(Mapping, "fleet_desc_configs", configs)
        _sparse_tables.add_described(self.strategy, configs)

    # -- files and text
    # -------------------------------------------------------------------------------------------

    def save_to_prototxt(self, output: str) -> None:
        """Write what was set to the file ``output`` as protobuf text, which Paddle reads."""
        with open(output, "w", encoding="utf-8") as file:
            file.write(_prototxt.write(self.strategy))

    def load_from_prototxt(self, pb_file: str) -> None:
        """Add the settings of a file that ``save_to_prototxt``, argosy's or Paddle's, wrote. A file
        with an error changes nothing.
        """
        with open(pb_file, encoding="utf-8") as file:
            text = file.read()
        merged = copy.deepcopy(self.strategy)
        _prototxt.merge(text, merged, str(pb_file))
        self.__dict__["strategy"] = merged

    def _enable_env(self) -> None:
        """Give the flags of the process the values that this strategy has for them."""
        flags = {f"FLAGS_{name}": getattr(self.strategy, name) for name in _FROM_FLAGS}
        flags["FLAGS_fuse_parameter_memory_size"] = float(self.strategy.fuse_grad_size_in_MB)
        flags["FLAGS_fuse_parameter_groups_size"] = int(self.strategy.fuse_grad_size_in_TFLOPS)
        set_flags(flags)

    def is_strict_auto(self) -> bool:
        """Whether ``auto`` is on and nothing else was chosen."""
        return bool(self.strategy.auto) and not self._has_choice

    _is_strict_auto = is_strict_auto  # as Paddle names it

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DistributedStrategy):
            return NotImplemented
        mine = (self.strategy, self.hybrid_parallel_order, self.sync_param_name)
        return mine == (other.strategy, other.hybrid_parallel_order, other.sync_param_name)

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        return overview(self.strategy)


def _need(kind: type, name: str, value: Any) -> None:
    if not isinstance(value, kind):
        expected = "dict" if kind is Mapping else kind.__name__
        raise DtypeError(
            f"DistributedStrategy.{name} should have value of {expected} type, but received "
            f"{value!r}"
        )


def _fill(target: Any, message: Message) -> Any:
    """Give ``target`` the settings of ``message`` that it has."""
    for field in message.fields():
        if hasattr(target, field.name):
            value = getattr(message, field.name)
            if field.name == "reduce_strategy":
                value = type(target).ReduceStrategy(value)
            setattr(target, field.name, value)
    return target


def _read(source: Any, message: Message) -> None:
    for field in message.fields():
        value = getattr(source, field.name, None)
        if value is not None and value != getattr(message, field.name):
            setattr(message, field.name, getattr(value, "value", value))


def _add_settings() -> None:
    """Give DistributedStrategy a property for each field that has no rule of its own, under its
    public name and that of files.
    """
    for field in TABLES["DistributedStrategy"]:
        for name in {field.name, field.public_name} - {""}:
            if not hasattr(DistributedStrategy, name):
                setattr(DistributedStrategy, name, _Setting(field))


_add_settings()
