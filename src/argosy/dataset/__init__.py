"""Readers over well-known datasets. Their files are not downloaded: an error says which file to put
where.
"""

from argosy.dataset import (
    cifar,
    common,
    conll05,
    flowers,
    image,
    imdb,
    imikolov,
    mnist,
    movielens,
    sentiment,
    uci_housing,
    wmt14,
    wmt16,
)
