"""``fluid.contrib.mixed_precision``: float16 in static programs."""
