"""``paddle.hapi``: ``Model`` and what goes with it."""

from argosy.hapi import callbacks, hub, logger, progressbar, static_flops
from argosy.hapi.dynamic_flops import flops
from argosy.hapi.model import Model
from argosy.hapi.model_summary import summary

__all__: list[str] = []
