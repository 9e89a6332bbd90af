"""``paddle.incubate.operators``: operations on graphs."""
