import pytest
import torch

from argosy.distributed.fleet.servers.lookup import rows_at, unique_ids


def test_ids_are_found_again_by_their_places():
    ids = torch.tensor([[7, 3, 7], [-1, 3, 9]])
    found, places = unique_ids(ids)
    assert found.tolist() == [7, 3, -1, 9]
    assert torch.equal(torch.from_numpy(found)[places], ids)


def test_rows_and_their_gradients_are_those_of_an_embedding():
    torch.manual_seed(0)
    rows, places = torch.randn(5, 3, requires_grad=True), torch.tensor([[0, 4, 0, 2], [2, 2, 1, 0]])
    factor = torch.randn(4, 2, 3)
    found = [rows_at(rows, [places])[0], torch.nn.functional.embedding(places, rows)]
    assert torch.equal(*found)
    # transposed, so that the gradient that arrives is not contiguous
    grads = [
        torch.autograd.grad((values.transpose(0, 1) * factor).sum(), rows)[0] for values in found
    ]
    torch.testing.assert_close(*grads)


def test_lookups_share_the_gradients_of_their_rows():
    """One of them is not used, one is a part of a wider row, one is added to itself."""
    torch.manual_seed(0)
    rows = torch.randn(5, 3, requires_grad=True)
    places = [torch.tensor([0, 4]), torch.tensor([[1], [1]]), torch.tensor([4, 4])]

    def loss(found):
        wide = torch.cat([found[0], torch.ones(2, 2), found[2]], 1) * torch.arange(16.0).view(2, 8)
        return (wide @ torch.ones(8)).square().sum() + found[2].sum()

    ours = rows_at(rows, places)
    theirs = [torch.nn.functional.embedding(p, rows) for p in places]
    assert [o.shape for o in ours] == [t.shape for t in theirs]
    torch.testing.assert_close(
        *(torch.autograd.grad(loss(found), rows)[0] for found in (ours, theirs))
    )


def test_no_ids_give_no_rows():
    rows = torch.zeros(0, 3, requires_grad=True)
    [found] = rows_at(rows, [torch.empty(2, 0, dtype=torch.int64)])
    assert found.shape == (2, 0, 3)
    found.sum().backward()
    assert rows.grad.shape == (0, 3)


def test_a_second_derivative_is_refused():
    rows = torch.ones(2, 3, requires_grad=True)
    [grad] = torch.autograd.grad(
        (rows_at(rows, [torch.tensor([0, 1])])[0] ** 2).sum(), rows, create_graph=True
    )
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.sum().backward()
