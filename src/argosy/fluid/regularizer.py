"""``fluid.regularizer``: the penalties of ``paddle.regularizer`` with the argument name of 1.x."""

from argosy.fluid.table import define

define(
    globals(),
    """
L1Decay(regularization_coeff=0.0) -> regularizer.L1Decay(regularization_coeff)
L2Decay(regularization_coeff=0.0) -> regularizer.L2Decay(regularization_coeff)
""",
)
