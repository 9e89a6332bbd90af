"""Paths of Paddle's second way to convert functions, by bytecode. Here both ways are one: see
``sot.utils.envs`` for what remains to be chosen.
"""
