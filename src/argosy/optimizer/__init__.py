"""Optimizers and learning-rate schedulers."""

from argosy.optimizer import lr
from argosy.optimizer.adadelta import Adadelta
from argosy.optimizer.adagrad import Adagrad
from argosy.optimizer.adam import Adam
from argosy.optimizer.adamax import Adamax
from argosy.optimizer.adamw import AdamW
from argosy.optimizer.asgd import ASGD
from argosy.optimizer.lamb import Lamb
from argosy.optimizer.lbfgs import LBFGS
from argosy.optimizer.momentum import Momentum
from argosy.optimizer.nadam import NAdam
from argosy.optimizer.optimizer import Optimizer
from argosy.optimizer.radam import RAdam
from argosy.optimizer.rmsprop import RMSProp
from argosy.optimizer.rprop import Rprop
from argosy.optimizer.sgd import SGD

__all__ = [
    "Optimizer",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "RAdam",
    "RMSProp",
    "Adadelta",
    "SGD",
    "Rprop",
    "Momentum",
    "NAdam",
    "Lamb",
    "LBFGS",
]
