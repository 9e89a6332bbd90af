import pytest
import torch

from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.backend import ReduceOp


def fields(kind, dtype=torch.float32, count=3, detail=0, number=7):
    return [number, fingerprint.CODE_BY_KIND[kind], fingerprint.CODE_BY_DTYPE[dtype], count, detail]


@pytest.mark.parametrize(
    ("side", "text"),
    [
        (fields("barrier", None, 0), "barrier #7"),
        (fields("all_reduce", detail=ReduceOp.MAX), "all_reduce #7 float32[3] MAX"),
        (
            fields("reduce", detail=fingerprint.reduction_to(ReduceOp.AVG, 5)),
            "reduce #7 float32[3] AVG to rank 5",
        ),
        (fields("broadcast", torch.bool, detail=2), "broadcast #7 bool[3] from rank 2"),
        (fields("gather", detail=1), "gather #7 float32[3] to rank 1"),
        (fields("all_gather"), "all_gather #7 float32[3]"),
        (fields("all_to_all", torch.int64, 0), "all_to_all #7 of int64"),
    ],
)
def test_describe(side, text):
    assert fingerprint.describe(side) == text


def test_ranks_that_agree_stand_together():
    same, other = fields("all_gather"), fields("all_gather", count=4)
    assert fingerprint.disagreement([same, other, same]) == (
        "rank 0, 2: all_gather #7 float32[3]   rank 1: all_gather #7 float32[4]"
    )


def test_sizes_of_an_exchange():
    assert fingerprint.size_disagreement([[1, 2, 1, 3], [3, 4, 2, 4]]) == ""
    assert (
        fingerprint.size_disagreement([[1, 2, 1, 3], [3, 4, 5, 4]])
        == "rank 0 sends 2 elements to rank 1, which expects 5"
    )
