"""``Profiler``: measures steps of a training that a schedule chooses."""

from __future__ import annotations

import datetime
import enum
import os
import socket
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from argosy.foundation.errors import BadArgument, UsageError
from argosy.profiler import utils
from argosy.profiler.profiler_statistic import Measured, SortedKeys, SummaryView, summary_text
from argosy.profiler.timer import benchmark
from argosy.profiler.utils import RecordEvent, TracerEventType, check_format

__all__ = [
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "SummaryView",
    "export_chrome_tracing",
    "export_protobuf",
    "make_scheduler",
]


class ProfilerState(enum.Enum):
    """What a profiler does in a step."""

    CLOSED = 0
    READY = 1
    RECORD = 2
    RECORD_AND_RETURN = 3  # the last step of a stretch, after which its profile is there


class ProfilerTarget(enum.Enum):
    """A kind of device that is measured."""

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


_RECORDING = (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN)


class NoFolder(UsageError, RuntimeError):
    """The folder for profiles cannot be made."""


def make_scheduler(
    *, closed: int, ready: int, record: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerState]:
    """A schedule: after ``skip_first`` steps, rounds of ``closed``, ``ready`` and ``record`` steps;
    ``repeat`` rounds, or without end if that is 0.

    Example:
        >>> schedule = paddle.profiler.make_scheduler(closed=1, ready=1, record=2, repeat=1)
        >>> [schedule(step).name for step in range(5)]
        ['CLOSED', 'READY', 'RECORD', 'RECORD_AND_RETURN', 'CLOSED']
    """
    if min(closed, ready, repeat, skip_first) < 0 or record <= 0:
        raise BadArgument(
            "make_scheduler: Invalid profiler scheduler arguments: record must be positive, the "
            f"others not negative, but received closed={closed}, ready={ready}, record={record}, "
            f"repeat={repeat}, skip_first={skip_first}"
        )
    if ready == 0:
        warnings.warn(
            "make_scheduler: without a step that is ready the profile begins with the costs of "
            "its own start",
            stacklevel=2,
        )
    period = closed + ready + record

    def state_of(step: int) -> ProfilerState:
        if step < 0:
            raise BadArgument(f"make_scheduler: a step must not be negative, but is {step}")
        num_rounds, place = divmod(step - skip_first, period)
        if step < skip_first or (repeat and num_rounds >= repeat) or place < closed:
            return ProfilerState.CLOSED
        if place < closed + ready:
            return ProfilerState.READY
        is_last = place == period - 1
        return ProfilerState.RECORD_AND_RETURN if is_last else ProfilerState.RECORD

    return state_of


def export_chrome_tracing(
    dir_name: str, worker_name: str | None = None
) -> Callable[[Profiler], None]:
    """A function for ``on_trace_ready`` that writes the profile to ``dir_name`` as a file for
    chrome://tracing.
    """
    _make_folder("export_chrome_tracing", dir_name)
    return lambda profiler: _export(profiler, dir_name, worker_name)


def export_protobuf(dir_name: str, worker_name: str | None = None) -> Callable[[Profiler], None]:
    """Refuse Paddle's own format; ``export_chrome_tracing`` writes profiles."""
    check_format("export_protobuf", "pb")
    raise AssertionError


def _make_folder(call: str, folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise NoFolder(
            f"{call}: Can not create directory '{folder}' for saving profiling results: {error}"
        ) from error


def _export(profiler: Profiler, folder: str, worker_name: str | None) -> None:
    worker = worker_name or f"host_{socket.gethostname()}pid_{os.getpid()}"
    now = datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S_%f")
    profiler.export(os.path.join(folder, f"{worker}_time_{now}.paddle_trace.json"), "json")


def _export_to_default_folder(profiler: Profiler) -> None:
    _make_folder("Profiler", "./profiler_log/")
    _export(profiler, "./profiler_log/", None)


def _chosen_targets(targets: Iterable[ProfilerTarget] | None) -> set[ProfilerTarget]:
    known = {ProfilerTarget.CPU, ProfilerTarget.CUSTOM_DEVICE}
    if torch.cuda.is_available():
        known.add(ProfilerTarget.GPU)
    wanted = set(targets or known)
    for target in wanted - known:
        warnings.warn(
            f"Profiling {target} is not supported in current context.", UserWarning, stacklevel=4
        )
    return wanted & known


def _schedule(scheduler: Any) -> Callable[[int], ProfilerState]:
    if scheduler is None:
        return lambda step: ProfilerState.RECORD
    if callable(scheduler):
        known: Callable[[int], ProfilerState] = scheduler
        return known
    if len(scheduler) != 2 or scheduler[1] <= scheduler[0]:
        raise BadArgument(
            "Profiler: scheduler must be a function or (first step, step after the last), but is "
            f"{scheduler!r}"
        )
    first, end = max(scheduler[0], 0), scheduler[1]
    return make_scheduler(
        closed=max(first - 1, 0), ready=min(first, 1), record=end - first, repeat=1
    )


class Profiler:
    """Measures the steps that ``scheduler`` chooses, by default all between ``start`` and ``stop``,
    and hands each finished profile to ``on_trace_ready``, by default as a file in
    ``./profiler_log``.

    ``timer_only`` counts how long steps and their data take, without a profile. ``emit_nvtx`` and
    ``custom_device_types`` only serve profilers of other devices.

    Example:
        >>> with paddle.profiler.Profiler(timer_only=True) as profiler:
        ...     for step in range(3):
        ...         profiler.step(num_samples=4)
        >>> profiler.step_num
        0
    """

    def __init__(
        self,
        *,
        targets: Iterable[ProfilerTarget] | None = None,
        scheduler: Any = None,
        on_trace_ready: Callable[[Profiler], None] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: Iterable[str] = (),
        with_flops: bool = False,
    ) -> None:
        self.targets = _chosen_targets(targets)
        self.scheduler = _schedule(scheduler)
        self.on_trace_ready = on_trace_ready or _export_to_default_folder
        self.step_num = 0
        self.previous_state = ProfilerState.CLOSED
        self.current_state = self.scheduler(0)
        self.record_event: RecordEvent | None = None
        self.profiler_result: Measured | None = None
        self.timer_only = timer_only
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_flops = with_flops
        self.emit_nvtx = emit_nvtx
        self._running: Measured | None = None

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        benchmark().begin()
        if self.timer_only:
            return
        utils.running.value = True
        if self.current_state in _RECORDING:
            self._record()
        self._begin_step()

    def stop(self) -> None:
        """End; steps that were being recorded are a finished profile."""
        benchmark().end()
        if self.timer_only:
            return
        self._end_step()
        if self.current_state is ProfilerState.READY:
            warnings.warn(
                "Profiler.stop: the step was to be followed by one that is recorded; nothing was",
                stacklevel=2,
            )
        if self._running is not None:
            self.profiler_result = self._stopped()
            self.on_trace_ready(self)
        utils.running.value = False

    def step(self, num_samples: int | None = None) -> None:
        """End a step, of ``num_samples`` samples, and begin the next one."""
        benchmark().step(num_samples)
        if self.timer_only:
            return
        self._end_step()
        self.step_num += 1
        self.previous_state, self.current_state = (
            self.current_state,
            self.scheduler(self.step_num),
        )
        self._change()
        self._begin_step()

    def _change(self) -> None:
        """Go from the state of one step to that of the next."""
        before, now = self.previous_state, self.current_state
        is_finished = before is ProfilerState.RECORD_AND_RETURN
        if is_finished:
            self.profiler_result = self._stopped()
        elif now not in _RECORDING and before is ProfilerState.RECORD:
            self._warn(before, now, "the profile is dropped")
            self._stopped()
        elif before is ProfilerState.READY and now is ProfilerState.CLOSED:
            self._warn(before, now, "nothing is recorded")
        if now in _RECORDING and self._running is None:
            self._record()
        if is_finished:
            self.on_trace_ready(self)

    def _warn(self, before: ProfilerState, now: ProfilerState, effect: str) -> None:
        warnings.warn(
            f"Improper schedule: {before.name}->{now.name}: {effect}; the last step of a stretch "
            "must be RECORD_AND_RETURN",
            stacklevel=4,
        )

    def _begin_step(self) -> None:
        self.record_event = RecordEvent(f"ProfileStep#{self.step_num}", TracerEventType.ProfileStep)
        self.record_event.begin()

    def _end_step(self) -> None:
        if self.record_event is not None:
            self.record_event.end()
            self.record_event = None

    def _record(self) -> None:
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if ProfilerTarget.GPU in self.targets:
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        self._running = Measured(
            torch.profiler.profile(
                activities=kinds,
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_flops=self.with_flops,
            )
        )

    def _stopped(self) -> Measured:
        measured, self._running = self._running, None
        assert measured is not None
        measured.stop()
        return measured

    def step_info(self, unit: str | None = None) -> str:
        """How long the steps since the last call took on average, and how many ``unit``, by default
        samples, come in a second.
        """
        return benchmark().step_info(unit or "samples")

    def export(self, path: str = "", format: str = "json") -> None:
        """Write the finished profile, if there is one, for chrome://tracing."""
        check_format("Profiler.export", format)
        if self.profiler_result is not None:
            self.profiler_result.save(path, format)

    def summary(
        self,
        sorted_by: SortedKeys = SortedKeys.CPUTotal,
        op_detail: bool = True,
        thread_sep: bool = False,
        time_unit: str = "ms",
        views: SummaryView | list[SummaryView] | None = None,
    ) -> None:
        """Print tables of the finished profile, all or those of ``views``. ``op_detail`` shows what
        ops call within them, ``thread_sep`` gives each thread its table of ops.
        """
        if self.profiler_result is None:
            return
        chosen = [views] if isinstance(views, SummaryView) else views
        print(
            summary_text(self.profiler_result, sorted_by, op_detail, thread_sep, time_unit, chosen)
        )
