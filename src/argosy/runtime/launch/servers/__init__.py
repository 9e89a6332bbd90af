"""Jobs with parameter servers: what is asked for, how their hosts meet, and the job itself."""
