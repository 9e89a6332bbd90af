"""What detectors compute beside layers, and the blocks that nets are made of."""

from argosy.vision.ops._block import ConvNormActivation

__all__: list[str] = []
