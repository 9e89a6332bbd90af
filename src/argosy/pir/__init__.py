"""``paddle.pir``: the names by which scripts ask whether they meet Paddle's second IR.

Programs here are those of the first: ``paddle.static.Program``, with blocks, operators and
variables.
"""

from argosy.pir.core import Block, OpResult, Program, Value
