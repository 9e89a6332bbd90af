"""``paddle.jit.dy2static``: what converts functions, under Paddle's names."""

from argosy.jit.operators.call import call as Call
from argosy.jit.program_translator import convert_to_static

__all__ = ["Call", "convert_to_static"]
