"""Fleet with parameter servers: what a process serves or trains with, for Layers, torch modules and
programs.
"""
