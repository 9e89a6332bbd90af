"""What tests share and is no test: processes, jobs, guards, hostile bytes."""
