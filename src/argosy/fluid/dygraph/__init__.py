"""``fluid.dygraph``: dygraph as Paddle 1.x has it."""
