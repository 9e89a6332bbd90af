"""``fleet.util``: small tools for the processes of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, RoleMakerBase
from argosy.foundation.errors import DtypeError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy

__all__ = ["UtilBase", "UtilFactory"]


class UtilBase:
    """Collectives of plain values, shares of a list of files, printing on one rank."""

    def __init__(self) -> None:
        self._role_maker: RoleMakerBase | None = None
        self.dist_strategy: DistributedStrategy | None = None

    @property
    def role_maker(self) -> RoleMakerBase:
        """Who this process is; before ``fleet.init`` what the environment says of a collective
        job.
        """
        if self._role_maker is None:
            self._role_maker = PaddleCloudRoleMaker(is_collective=True)
        return self._role_maker

    @role_maker.setter
    def role_maker(self, role_maker: RoleMakerBase | None) -> None:
        self._role_maker = role_maker

    def set_role_maker(self, role_maker: RoleMakerBase | None) -> None:
        self._role_maker = role_maker

    _set_role_maker = set_role_maker  # as Paddle names it

    def _set_strategy(self, dist_strategy: DistributedStrategy | None) -> None:
        self.dist_strategy = dist_strategy

    def _set_file_system(self, fs_client: Any) -> None:
        self.fs_client = fs_client

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> np.ndarray:
        """The element-wise sum, max or min of ``input`` (numbers, lists, arrays) over 'worker',
        'server' or 'all' processes.
        """
        total: np.ndarray = self.role_maker.all_reduce(input, mode, comm_world)
        return total

    def barrier(self, comm_world: str = "worker") -> None:
        """Wait for the other processes of ``comm_world``."""
        self.role_maker.barrier(comm_world)

    def all_gather(self, input: Any, comm_world: str = "worker") -> list[Any]:
        """The values that the processes passed, in rank order."""
        values: list[Any] = self.role_maker.all_gather(input, comm_world)
        return values

    def get_file_shard(self, files: list[str]) -> list[str]:
        """This worker's share of ``files``: contiguous, and if they cannot be shared equally the
        first workers get one more.

        Example:
            >>> import paddle.distributed.fleet as fleet
            >>> role = fleet.UserDefinedRoleMaker(is_collective=True, current_id=0,
            ...     worker_endpoints=["127.0.0.1:1", "127.0.0.1:2"])
            >>> util = fleet.UtilBase()
            >>> util._set_role_maker(role)
            >>> util.get_file_shard(["a", "b", "c"])
            ['a', 'b']
        """
        return _share(
            files, self.role_maker.worker_index(), self.role_maker.worker_num(), "get_file_shard"
        )

    def get_heter_file_shard(self, files: list[str]) -> list[str]:
        """As ``get_file_shard`` for heterogeneous workers, which are numbered after the others."""
        count = self.role_maker.worker_num()
        return _share(files, self.role_maker.worker_index() - count, count, "get_heter_file_shard")

    def print_on_rank(self, message: str, rank_id: int) -> None:
        """Print ``message`` on worker ``rank_id`` only."""
        if self.role_maker.worker_index() == rank_id:
            print(message)


class UtilFactory:
    """Makes a UtilBase for what ``fleet`` knows."""

    def _create_util(self, context: dict[str, Any] | None = None) -> UtilBase:
        util = UtilBase()
        if context is not None:
            util._set_strategy(context.get("valid_strategy"))
            util.set_role_maker(context.get("role_maker"))
        return util


def _share(files: list[str], index: int, count: int, call: str) -> list[str]:
    if not isinstance(files, list):
        raise DtypeError(
            f"{call}: files should be a list of files to be read, but is a {type(files).__name__}"
        )
    if not -count <= index < count:
        raise UsageError(f"{call}: this process is number {index} of {count} workers")
    index %= count
    size, rest = divmod(len(files), count)
    begin = index * size + min(index, rest)
    return files[begin : begin + size + (index < rest)]
