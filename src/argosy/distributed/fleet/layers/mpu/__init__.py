"""``fleet.layers.mpu``: of tensor parallelism, what needs no other rank."""
