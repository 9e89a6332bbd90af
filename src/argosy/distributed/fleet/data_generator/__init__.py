"""Readers that scripts run as pipe commands of a dataset: lines in, multi-slot lines out."""

from argosy.distributed.fleet.data_generator.data_generator import (
    DataGenerator,
    MultiSlotDataGenerator,
    MultiSlotStringDataGenerator,
)

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]
