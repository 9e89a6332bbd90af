"""``paddle.text``: data sets of texts."""

from argosy.text.datasets import Imdb, Imikolov, Movielens, UCIHousing

__all__ = ["Imdb", "Imikolov", "Movielens", "UCIHousing"]
