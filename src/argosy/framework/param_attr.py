"""ParamAttr: what a layer is told about a parameter it is to create."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError


class ParamAttr:
    """Name, initialiser, learning rate, regulariser and trainability of a parameter to be.

    ``learning_rate`` multiplies the optimizer's; ``regularizer`` replaces the optimizer's.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def parse(arg: Any) -> Any:
        """Read what a script passed as ``weight_attr``: None, a name, an initialiser, a ParamAttr,
        or False (none).
        """
        if arg is None:
            return ParamAttr()
        if isinstance(arg, (list, tuple)):
            return [ParamAttr.parse(a) for a in arg]
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, bool):
            return ParamAttr() if arg else False
        if callable(arg):
            return ParamAttr(initializer=arg)
        if type(arg).__name__ in ("L1Decay", "L2Decay"):
            return ParamAttr(regularizer=arg)
        raise DtypeError(
            "a parameter attribute must be None, a name, an initializer, a ParamAttr or False, "
            f"but received {type(arg).__name__}"
        )

    def _set_default_initializer(self, initializer: Any) -> None:
        if self.initializer is None:
            self.initializer = initializer

    _to_attr = parse  # as Paddle names it


class WeightNormParamAttr(ParamAttr):
    """A ParamAttr for programs: the weight is a direction ``<name>_v``, normalised along ``dim``
    (None: all), times a magnitude ``<name>_g``.
    """

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = False,
        need_clip: bool = True,
    ) -> None:
        super().__init__(
            name, initializer, learning_rate, regularizer, trainable, do_model_average, need_clip
        )
        self.dim = dim

    def part(self, name: str, initializer: Any) -> ParamAttr:
        """The attribute of one of the two parameters."""
        return ParamAttr(
            name,
            initializer,
            self.learning_rate,
            self.regularizer,
            self.trainable,
            self.do_model_average,
            self.need_clip,
        )
