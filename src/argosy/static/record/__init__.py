"""From calls of the face to operators of a program: shape inference, control flow, gradients,
updates.
"""
