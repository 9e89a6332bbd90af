"""``fluid.contrib.reader``: readers whose batches the ranks share out."""
