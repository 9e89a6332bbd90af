"""``fluid.incubate.fleet.base.mode``: the kinds of Fleet of 1.x."""

__all__ = ["Mode"]


class Mode:
    """What carries parameters between processes."""

    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3
