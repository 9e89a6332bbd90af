"""Data sets out of files in the cache folder; nothing is fetched."""

from argosy.text.datasets.imdb import Imdb
from argosy.text.datasets.imikolov import Imikolov
from argosy.text.datasets.movielens import Movielens
from argosy.text.datasets.uci_housing import UCIHousing
