"""``paddle.base``: the name under which Paddle 2.5 and later keep what is left of ``fluid``.

Its modules are those of ``fluid``: ``base.core`` is the very module ``fluid.core``.
"""
