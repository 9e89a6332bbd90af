"""The op table: every operation once, on raw torch tensors.

One file per family. The face calls these functions eagerly through ``argosy.tensor``; a recording
Program stores an op's name and its attributes and replays the same function.
"""
