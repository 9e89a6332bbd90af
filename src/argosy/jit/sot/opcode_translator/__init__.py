"""``paddle.jit.sot.opcode_translator``, at its path."""
