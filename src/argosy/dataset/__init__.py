"""Readers over well-known datasets. Their files are not downloaded: an error says which file to put
where.
"""

from argosy.dataset import cifar, common, flowers, image, imdb, mnist, uci_housing
