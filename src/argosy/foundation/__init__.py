"""What every layer may use: errors, environment, registries, dtypes, places. Plain Python over
torch; no state but constants.
"""
