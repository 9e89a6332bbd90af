"""What scripts that start their own trainers take from Paddle: clusters, ports, processes, logs."""
