"""``fluid.layers``: the functions of 1.x."""
