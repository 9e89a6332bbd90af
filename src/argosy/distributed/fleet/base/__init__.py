"""The parts that ``paddle.distributed.fleet`` is made of: strategy, roles, topology, tools."""
