"""``paddle.jit.sot.opcode_translator.executor``, at its path."""
