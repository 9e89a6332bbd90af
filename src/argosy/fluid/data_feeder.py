"""``fluid.data_feeder``: batches for programs from lists of samples; names of dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.static import Program, Variable, default_main_program
from argosy.static.parallel.places import cpu_places, cuda_places
from argosy.static.run.readers import Feed, feed_of_samples


def convert_dtype(dtype: Any) -> str:
    """The name of a dtype, as 'float32'."""
    return dtypes.name_of(dtypes.to_torch(dtype))


class DataFeeder:
    """Turns lists of samples, tuples with a field for each of ``feed_list``, into what
    ``Executor.run`` is fed.

    Variables with ``lod_level`` take nested sequences of different lengths. The executor, not
    ``place``, decides where a program runs.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.program_guard(fluid.Program()):
        ...     x = fluid.data("x", [None, 2])
        ...     y = fluid.data("y", [None, 1], "int64")
        ...     feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
        >>> feed = feeder.feed([([1, 2], 0), ([3, 4], 1)])
        >>> feed["x"].shape(), feed["y"].shape()
        ([2, 2], [2, 1])
        >>> paddle.disable_static()
    """

    def __init__(
        self, feed_list: Sequence[Any], place: Any, program: Program | None = None
    ) -> None:
        block = (program or default_main_program()).global_block()
        self._variables = [block.var(item) if isinstance(item, str) else item for item in feed_list]
        for variable in self._variables:
            if not isinstance(variable, Variable):
                raise DtypeError(
                    "DataFeeder: feed_list should contain variables or their names, but "
                    f"received {type(variable).__name__}"
                )
        self.feed_names = [v.name for v in self._variables]
        self.place = to_place(place)

    def feed(self, iterable: Iterable[Any]) -> Feed:
        """A batch by name."""
        return feed_of_samples(self._variables, iterable)

    def feed_parallel(
        self, iterable: Sequence[Any], num_places: int | None = None
    ) -> Iterator[Feed]:
        """A batch for each place from as many lists of samples."""
        batches, count = list(iterable), self._num_places(num_places)
        if len(batches) != count:
            raise UsageError(
                f"feed_parallel takes a mini-batch for each place: there are {count} places, but "
                f"received {len(batches)}"
            )
        return (self.feed(batch) for batch in batches)

    def decorate_reader(
        self,
        reader: Callable[[], Any],
        multi_devices: bool,
        num_places: int | None = None,
        drop_last: bool = True,
    ) -> Callable[[], Iterator[Any]]:
        """A reader of batches by name; with ``multi_devices`` of lists of them, one for each
        place.
        """

        def read() -> Iterator[Any]:
            if not multi_devices:
                for samples in reader():
                    yield self.feed(samples)
                return
            count, group = self._num_places(num_places), []
            for samples in reader():
                group.append(samples)
                if len(group) == count:
                    yield list(self.feed_parallel(group, count))
                    group = []
            if group and not drop_last:
                raise UsageError(
                    f"decorate_reader: {len(group)} batches are left for {count} places, and "
                    "drop_last is False"
                )

        return read

    def _num_places(self, num_places: int | None) -> int:
        if num_places is not None:
            return int(num_places)
        return len(cuda_places() if self.place.is_gpu_place() else cpu_places())
