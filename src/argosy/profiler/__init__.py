"""``paddle.profiler``: where the time of a training goes, measured by PyTorch's profiler."""

from argosy.profiler.profiler import (
    Profiler,
    ProfilerState,
    ProfilerTarget,
    export_chrome_tracing,
    export_protobuf,
    make_scheduler,
)
from argosy.profiler.profiler_statistic import SortedKeys, SummaryView
from argosy.profiler.utils import RecordEvent, TracerEventType, load_profiler_result

__all__ = [
    "ProfilerState",
    "ProfilerTarget",
    "make_scheduler",
    "export_chrome_tracing",
    "export_protobuf",
    "Profiler",
    "RecordEvent",
    "load_profiler_result",
    "SortedKeys",
    "SummaryView",
]
