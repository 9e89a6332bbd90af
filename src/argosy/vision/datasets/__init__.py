"""Image datasets. Their files are not downloaded: an error says which file to put where."""

from argosy.vision.datasets._cifar import Cifar10, Cifar100
from argosy.vision.datasets._folder import DatasetFolder, ImageFolder
from argosy.vision.datasets._mnist import MNIST, FashionMNIST

__all__ = ["DatasetFolder", "ImageFolder", "MNIST", "FashionMNIST", "Cifar10", "Cifar100"]
