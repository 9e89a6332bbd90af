"""Programs and the values of their variables in files; what is read is checked before anything uses
it.
"""
