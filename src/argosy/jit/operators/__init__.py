"""What converted code calls: Python's meaning for values that are known, operators of a program for
those that are not.
"""
