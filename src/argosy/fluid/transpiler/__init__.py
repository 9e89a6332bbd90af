"""``fluid.transpiler``: programs of 1.x for several processes."""
