"""Fleet's strategies in static programs: what workers exchange, and when, as an ``Exchange`` that a
run puts into the program.
"""
