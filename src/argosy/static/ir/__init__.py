"""Programs as data: blocks, operators, variables, scopes and sequences. Imports nothing else of
``static``.
"""
