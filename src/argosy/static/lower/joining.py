"""Joining operators that Paddle records apart where one op of ours computes them faster.

    mul, elementwise_add                       linear
    conv2d, [reshape2,] elementwise_add        conv2d with its bias
    softmax_with_cross_entropy, reduce_mean    mean_cross_entropy
    elementwise_sub, square[, reduce_mean]     square_error_cost, mse_loss
    linear, relu                               linear_relu
    lookups, [reshape2,] concat[, linear[,     the lookups side by side (``beside`` of their op)
      relu]]

What lies between must have no other reader, be neither fetched nor kept, and let gradients pass.
Numbers are those of the op; only a run sees the joined operators, not the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from argosy.ops.array.joining import concat
from argosy.ops.array.manipulation import reshape
from argosy.ops.fluid import product
from argosy.ops.losses import cross_entropy as entropies
from argosy.ops.losses import loss as losses
from argosy.ops.math import elementwise, linalg, reduction, special
from argosy.ops.nn import activation, conv
from argosy.static.ir.block import Block
from argosy.static.ir.operator import CHECKPOINTS, FORWARD, ONLY_IF, Operator, Ref, names_in
from argosy.static.ir.rewritten import Rewritten
from argosy.static.ir.uses import Uses

_CONVOLUTIONS = {
    op: channels + 2
    for op, channels in (
        (conv.conv2d, 2),
        (conv.conv3d, 3),
        (conv.conv2d_transpose, 2),
        (conv.conv3d_transpose, 3),
    )
}


def joined(
    block: Block, operators: list[Operator], feeds: Sequence[str], fetches: Sequence[str]
) -> list[Operator]:
    """The operators of a run, with those joined that can be."""
    if not any(operator.op in _JOINS for operator in operators):
        return operators
    return _Joining(block, operators, feeds, fetches).run()


class _Joining:
    def __init__(
        self,
        block: Block,
        operators: list[Operator],
        feeds: Sequence[str],
        fetches: Sequence[str],
    ) -> None:
        self.block = block
        self.operators = operators
        uses = Uses(block, operators, feeds, fetches)
        self.num_readers = Counter(name for names in uses.reads for name in set(names))
        self.num_writers = Counter(n for o in operators for n in set(o.output_arg_names))
        takers = [o for other in block.program.blocks for o in other.ops if o.takes_gradients]
        self.trains = bool(takers)
        self.takes_once = len(takers) < 2  # no gradients of gradients
        self.held = {*feeds, *fetches}
        for operator in takers:
            self.held.update(operator.kwargs.get(CHECKPOINTS, ()))
            self.held.update(operator.kwargs.get("no_grad", ()))
        self.makers: dict[str, int] = {}
        self.result: list[Operator | None] = []

    def run(self) -> list[Operator]:
        for operator in self.operators:
            join = _JOINS.get(operator.op) if _is_plain(operator) else None
            made = None if join is None else join(self, operator)
            self.result.append(operator if made is None else made)
            for name in operator.output_arg_names:
                self.makers[name] = len(self.result) - 1
        return [operator for operator in self.result if operator is not None]

    def passed(self, value: Any) -> Operator | None:
        """The operator that makes ``value``, if only the operator that asks reads it."""
        if not isinstance(value, Ref) or value.name not in self.makers:
            return None
        name = value.name
        variable = self.block.vars.get(name)
        is_alone = self.num_readers[name] == 1 == self.num_writers[name] and name not in self.held
        if variable is None or variable.persistable or not is_alone:
            return None
        if variable.stop_gradient and self.trains:
            return None
        maker = self.result[self.makers[name]]
        return maker if maker is not None and _is_plain(maker) else None

    def is_settled(self, maker: Operator) -> bool:
        """Whether what ``maker`` reads is now what it was when it ran."""
        read = set(maker.input_arg_names)
        later = self.result[self.makers[maker.output_arg_names[0]] + 1 :]
        return not any(o is not None and read.intersection(o.output_arg_names) for o in later)

    def is_unread(self, value: Any) -> bool:
        """Whether nothing reads a result."""
        name = value.name
        variable = self.block.vars.get(name)
        is_kept = variable is None or variable.persistable
        return not self.num_readers[name] and name not in self.held and not is_kept

    def drop(self, operator: Operator) -> None:
        """Leave out an operator whose work another does."""
        self.put(operator, None)

    def put(self, operator: Operator, other: Operator | None) -> None:
        """Have another operator, or none, in the place of one."""
        self.result[self.makers[operator.output_arg_names[0]]] = other


def _is_plain(operator: Operator) -> bool:
    return operator.role == FORWARD and ONLY_IF not in operator.kwargs


def _add(joining: _Joining, operator: Operator) -> Operator | None:
    """A sum whose first part is a product or a convolution, and whose second is a bias."""
    given = operator.named_args
    bias = given["y"]
    maker = joining.passed(given["x"])
    if maker is None or not isinstance(bias, Ref):
        return None
    if maker.op in _CONVOLUTIONS:
        return _convolution(joining, operator, maker, bias, given.get("axis", -1))
    if maker.op not in (elementwise.matmul, product.mul):
        return None
    x, weight, *settings = maker.named_args.values()
    if not _is_vector(joining, bias) or _rank(joining, weight) != 2 or not isinstance(x, Ref):
        return None
    if not joining.is_settled(maker) or given.get("axis", -1) not in (-1, _last(operator)):
        return None
    if maker.op is elementwise.matmul:
        if any(settings):
            return None
        op, args = linalg.linear, (x, weight, bias)
    else:
        op, args = product.mul_add, (x, weight, bias, *settings[:1])
        if settings[:1] in ([], [1]) and _rank(joining, x) == 2:
            op, args = linalg.linear, (x, weight, bias)
    joining.drop(maker)
    made = Rewritten(maker, op=op, args=args, kwargs={}, out=operator.out)
    return _linear(joining, made) if op is linalg.linear else made


def _linear(joining: _Joining, operator: Operator) -> Operator:
    """A linear map; of lookups side by side, part of what puts them there."""
    x, weight, bias = operator.args
    maker = joining.passed(x)
    if (
        maker is None
        or not isinstance(maker, _Beside)
        or not joining.takes_once
        or not joining.is_settled(maker)
    ):
        return operator
    joining.drop(maker)
    args = (*maker.args, weight, bias)
    return _BesideLinear(operator, op=maker.op, args=args, kwargs={}, out=operator.out)


def _relu(joining: _Joining, operator: Operator) -> Operator | None:
    """The positive part of a linear map."""
    maker = joining.passed(operator.named_args["x"])
    if maker is None or not joining.is_settled(maker):
        return None
    if isinstance(maker, _BesideLinear):
        op, args = maker.op, (*maker.args, True)
    elif maker.op is linalg.linear:
        op, args = linalg.linear_relu, tuple(maker.named_args.values())
    else:
        return None
    joining.drop(maker)
    return Rewritten(maker, op=op, args=args, kwargs={}, out=operator.out)


class _Beside(Rewritten):
    """Results of one operator, and others, side by side."""


class _BesideLinear(Rewritten):
    """A linear map of these."""


def _concat(joining: _Joining, operator: Operator) -> Operator | None:
    """A matrix, of which some columns in a row are results of one operator that can give them side
    by side.
    """
    parts, axis = operator.named_args["x"], operator.named_args.get("axis", 0)
    is_matrix = _rank(joining, operator.out) == 2
    if not isinstance(parts, (list, tuple)) or axis not in (-1, 1) or not is_matrix:
        return None
    found = [_looked_up(joining, part) for part in parts]
    maker = next((m for m, _ in (f for f in found if f is not None)), None)
    chosen = [i for i, f in enumerate(found) if f is not None and f[0] is maker]
    if maker is None or len(chosen) < 2 or not joining.is_settled(maker):
        return None
    if chosen != list(range(chosen[0], chosen[-1] + 1)):
        return None
    for i in chosen:
        reshaped = joining.passed(parts[i])
        if reshaped is not maker and reshaped is not None:
            joining.drop(reshaped)
    places = [f[1] for f in found if f is not None and f[0] is maker]
    given = _without(joining, maker, places)
    args = (*given, list(parts[: chosen[0]]), list(parts[chosen[-1] + 1 :]))
    op = maker.op.traits.beside  # type: ignore[union-attr]
    return _Beside(maker, op=op, args=args, kwargs={}, out=operator.out)


def _looked_up(joining: _Joining, part: Any) -> tuple[Operator, int] | None:
    """The operator that gives a part of a concatenation as one of its results, and as which of
    them.
    """
    if _rank(joining, part) != 2:
        return None
    maker, name = joining.passed(part), part.name
    if maker is not None and maker.op is reshape:
        shape, inner = maker.named_args["shape"], maker.named_args["x"]
        if names_in(shape) or list(shape) != [-1, _columns(joining, inner)]:
            return None
        maker, name = joining.passed(inner), inner.name
    if maker is None or maker.op is None or maker.op.traits.beside is None:
        return None
    return maker, [ref.name for ref in maker.out].index(name)


def _without(joining: _Joining, maker: Operator, places: list[int]) -> tuple[Any, ...]:
    """Take results away from ``maker``; the arguments that give just these."""
    *same, each = maker.args
    rest = [i for i in range(len(each)) if i not in places]
    joining.put(
        maker,
        Rewritten(maker, args=(*same, [each[i] for i in rest]), out=[maker.out[i] for i in rest])
        if rest
        else None,
    )
    return (*same, [each[i] for i in places])


def _convolution(
    joining: _Joining, operator: Operator, maker: Operator, bias: Ref, axis: int
) -> Operator | None:
    given = dict(maker.named_args)
    if given["bias"] is not None:
        return None
    rank = _CONVOLUTIONS[maker.op]  # type: ignore[index]
    channel = rank - 1 if given["channel_last"] else 1
    shaped = None
    if _rank(joining, bias) == rank:
        shaped = joining.passed(bias)
        if shaped is None or shaped.op is not reshape or channel != 1:
            return None
        bias = shaped.named_args["x"]
        extents = shaped.named_args["shape"]
        if names_in(extents) or list(extents) != [1, _extent(joining, bias), *[1] * (rank - 2)]:
            return None
    elif axis != channel and not (axis == -1 and channel == rank - 1):
        return None
    if not _is_vector(joining, bias) or not joining.is_settled(maker):
        return None
    joining.drop(maker)
    if shaped is not None:
        joining.drop(shaped)
    given["bias"] = bias
    args = tuple(given.values())
    return Rewritten(maker, op=maker.op, args=args, kwargs={}, out=operator.out)


def _mean(joining: _Joining, operator: Operator) -> Operator | None:
    """The mean of all cross entropies, or of all squared differences."""
    given = operator.named_args
    if any(value not in (None, False) for name, value in given.items() if name != "x"):
        return None
    maker = joining.passed(given["x"])
    if maker is None or not joining.is_settled(maker):
        return None
    if maker.op is losses.square_error_cost:
        joining.drop(maker)
        args = (*maker.args, "mean")
        return Rewritten(maker, op=losses.mse_loss, args=args, kwargs={}, out=operator.out)
    if maker.op is not entropies.cross_entropy:
        return None
    if len(maker.args) != 7:
        return None
    logits, label, _, ignored, reduction, soft_label, axis = maker.args
    if (ignored, reduction, soft_label) != (entropies.IGNORED, "none", False):
        return None
    if axis not in (-1, _rank(joining, logits) - 1):
        return None
    joining.drop(maker)
    args = logits, label
    op = entropies.mean_cross_entropy
    return Rewritten(maker, op=op, args=args, kwargs={}, out=operator.out)


def _square(joining: _Joining, operator: Operator) -> Operator | None:
    """The square of a difference."""
    maker = joining.passed(operator.named_args["x"])
    if maker is None or maker.op is not elementwise.subtract or not joining.is_settled(maker):
        return None
    args = tuple(maker.named_args.values())
    if not all(isinstance(value, Ref) for value in args):
        return None
    joining.drop(maker)
    op = losses.square_error_cost
    return Rewritten(maker, op=op, args=args, kwargs={}, out=operator.out)


def _cross_entropy(joining: _Joining, operator: Operator) -> Operator | None:
    """Cross entropies of which nobody reads the softmax."""
    loss, softmax = operator.out
    if not joining.is_unread(softmax) or joining.num_writers[softmax.name] != 1:
        return None
    op = operator.op
    assert op is not None  # what is joined are calls of the table
    given = op.signature.bind(*operator.args, **operator.kwargs)
    given.apply_defaults()
    logits, label, soft_label, ignored, axis = given.arguments.values()
    args = (logits, label, None, ignored, "none", soft_label, axis)
    return Rewritten(operator, op=entropies.cross_entropy, args=args, kwargs={}, out=loss)


def _rank(joining: _Joining, value: Any) -> int:
    variable = joining.block.find_var_recursive(value.name) if isinstance(value, Ref) else None
    return -1 if variable is None else len(variable.shape)


def _extent(joining: _Joining, value: Ref) -> int:
    variable = joining.block.find_var_recursive(value.name)
    return -1 if variable is None else int(variable.shape[0])


def _columns(joining: _Joining, value: Ref) -> int:
    variable = joining.block.find_var_recursive(value.name)
    return -1 if variable is None or not variable.shape else int(variable.shape[-1])


def _is_vector(joining: _Joining, value: Any) -> bool:
    return _rank(joining, value) == 1


def _last(operator: Operator) -> int:
    variable = operator.block.find_var_recursive(operator.output_arg_names[0])
    return -1 if variable is None else len(variable.shape) - 1


_JOINS: dict[Any, Callable[[_Joining, Operator], Operator | None]] = {
    elementwise.add: _add,
    product.add_along: _add,
    concat: _concat,
    activation.relu: _relu,
    reduction.mean: _mean,
    special.square: _square,
    entropies.softmax_with_cross_entropy: _cross_entropy,
}
