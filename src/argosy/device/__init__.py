"""Devices: which there are, which one new tensors go to, waiting for their work.

A GPU that is asked for and missing is the CPU with one warning (``foundation.places``), so that GPU
scripts run unchanged.
"""

from argosy.device import cuda, devices, xpu
from argosy.device.cuda import Event, Stream, current_stream, stream_guard
from argosy.device.devices import *
from argosy.foundation.places import CPUPlace, CUDAPlace, Place, XPUPlace

__all__ = [
    *devices.__all__,
    "cuda",
    "xpu",
    "XPUPlace",
    "Stream",
    "Event",
    "current_stream",
    "stream_guard",
]
