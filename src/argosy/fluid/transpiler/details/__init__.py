"""``fluid.transpiler.details``: how programs are taken apart, and what their processes run."""
