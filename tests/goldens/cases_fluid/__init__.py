"""Golden cases of ``paddle.fluid``, each run inside ``fluid.dygraph.guard()``; under real Paddle
1.8.5 they run on Python 3.7.
"""
