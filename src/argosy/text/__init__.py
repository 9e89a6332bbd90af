"""``paddle.text``: data sets of texts, and decoding of tags."""

from argosy.text.datasets import Imdb, Imikolov, Movielens, UCIHousing
from argosy.text.viterbi_decode import ViterbiDecoder, viterbi_decode

__all__ = ["Imdb", "Imikolov", "Movielens", "UCIHousing", "ViterbiDecoder", "viterbi_decode"]
