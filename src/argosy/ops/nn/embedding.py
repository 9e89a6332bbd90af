"""Looking rows up by integer ids, and other ops whose input is ids or lengths."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.foundation.errors import DtypeError, OutOfRange
from argosy.ops.table import op
from argosy.ops.traits import Precision, Rows


@op(
    "embedding",
    is_lookup=True,
    layer="embedding",
    precision={"lookup_table_v2": Precision.EXTRA_BLACK, "lookup_table": Precision.EXTRA_BLACK},
    types=("lookup_table_v2(Ids, W, padding_idx, is_sparse, -)",),
)
def embedding(
    x: Tensor, weight: Tensor, padding_idx: int, sparse: bool, scale_grad_by_freq: bool
) -> Tensor:
    """Rows of ``weight`` at ``x``; the id ``padding_idx`` (-1: none) gives zeros and gets no
    gradient.

    With ``sparse`` the gradient of ``weight`` holds only the rows that were looked up.
    """
    if x.dtype not in (torch.int64, torch.int32):
        if x.is_floating_point() or x.is_complex() or x.dtype is torch.bool:
            raise DtypeError(
                f"embedding: ids must be integers, but x is {str(x.dtype).removeprefix('torch.')}"
            )
        x = x.to(torch.int64)
    try:
        out = torch.embedding(weight, x, -1, scale_grad_by_freq, sparse)
    except IndexError as error:
        bad = x[(x < 0) | (x >= weight.shape[0])].flatten()[:3].tolist()
        raise OutOfRange(
            f"(InvalidArgument) embedding: ids must lie in [0, {weight.shape[0]}), the rows of "
            "the weight, "
            f"but x contains {', '.join(map(str, bad))}"
        ) from error
    return out if padding_idx < 0 else out.masked_fill((x == padding_idx).unsqueeze(-1), 0.0)


@op("embedding_by_key")
def embedding_by_key(x: Tensor, keys: Tensor, rows: Tensor) -> Tensor:
    """The row that belongs to the same place as each of ``x`` has in ``keys``, which rise; ids that
    are not among them give zeros.
    """
    if keys.shape[0] == 0:
        return rows.new_zeros((*x.shape, rows.shape[1]))
    places = torch.searchsorted(keys, x.to(keys.dtype)).clamp_(max=keys.shape[0] - 1)
    is_known = keys[places] == x
    return torch.where(is_known.unsqueeze(-1), rows[places], rows.new_zeros(()))


@op("embedding_renorm_", mutates=("weight",))
def embedding_renorm_(x: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale down, in place, the rows of ``weight`` named in ``x`` whose norm exceeds
    ``max_norm``.
    """
    with torch.no_grad():
        ids = torch.unique(x)
        rows = weight.index_select(0, ids)
        norm = torch.linalg.vector_norm(rows, norm_type, 1, keepdim=True)
        scale = torch.where(norm > max_norm, max_norm / (norm + 1e-7), torch.ones_like(norm))
        weight.index_copy_(0, ids, rows * scale)
    return weight


@op("one_hot", types=("one_hot_v2(X, depth/depth_tensor)",))
def one_hot(x: Tensor, num_classes: int) -> Tensor:
    """float32 rows with a one at each id; -1 takes the largest id plus one as their width."""
    if x.is_floating_point():
        raise DtypeError(
            f"one_hot: ids must be integers, but x is {str(x.dtype).removeprefix('torch.')}"
        )
    width = int(x.max()) + 1 if num_classes == -1 else num_classes
    try:
        hot = torch.nn.functional.one_hot(x.to(torch.int64), width)
    except RuntimeError as error:
        raise OutOfRange(
            f"(InvalidArgument) one_hot: ids must lie in [0, {width}), but x ranges over "
            f"[{int(x.min())}, {int(x.max())}]"
        ) from error
    return hot.to(torch.float32)


@op(
    "sequence_mask",
    types=("sequence_mask(X, maxlen/MaxLenTensor:count, out_dtype:dtype) -> Y",),
    rows=Rows.OTHER,
)
def sequence_mask(x: Tensor, maxlen: Tensor | int, dtype: torch.dtype) -> Tensor:
    """Ones at positions below each length in ``x``; a negative ``maxlen`` stands for the largest
    length.
    """
    width = int(maxlen)
    width = int(x.max()) if width < 0 else width
    return (torch.arange(width, device=x.device) < x.unsqueeze(-1)).to(dtype)


@op("gather_tree")
def gather_tree(ids: Tensor, parents: Tensor) -> Tensor:
    """Follow beams back from the last step: [length, batch, beam] ids along the path that ended in
    each beam.
    """
    steps = [ids[-1]]
    beam = parents[-1].to(torch.int64)
    for step in range(ids.shape[0] - 2, -1, -1):
        steps.append(torch.gather(ids[step], 1, beam))
        beam = torch.gather(parents[step].to(torch.int64), 1, beam)
    return torch.stack(steps[::-1])


@op("label_smooth", types=("label_smooth(X, PriorDist, epsilon)",))
def label_smooth(label: Tensor, prior: Tensor | None, epsilon: float) -> Tensor:
    """Mix ``label`` with the prior distribution of the classes, uniform if None."""
    if prior is None:
        return label * (1.0 - epsilon) + epsilon / label.shape[-1]
    return label * (1.0 - epsilon) + epsilon * prior.flatten()


@op("class_center_sample", is_random=True)
def class_center_sample(label: Tensor, num_classes: int, num_samples: int) -> tuple[Tensor, Tensor]:
    """Every class in ``label`` in order, filled up with random others to ``num_samples``, and
    labels among these.
    """
    present, remapped = torch.unique(label, return_inverse=True)
    missing = num_samples - present.numel()
    if missing > 0:
        is_absent = torch.ones(num_classes, dtype=torch.bool, device=label.device)
        is_absent[present] = False
        others = is_absent.nonzero().flatten()
        chosen = others[torch.randperm(others.numel(), device=label.device)[:missing]]
        present = torch.cat([present, chosen.to(label.dtype)])
    return remapped.to(label.dtype), present
