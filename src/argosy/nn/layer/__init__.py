"""The layers."""

from argosy.nn.layer.activation import *
from argosy.nn.layer.common import *
from argosy.nn.layer.container import *
from argosy.nn.layer.conv import *
from argosy.nn.layer.distance import *
from argosy.nn.layer.layers import *
from argosy.nn.layer.loss import *
from argosy.nn.layer.norm import *
from argosy.nn.layer.pooling import *
from argosy.nn.layer.rnn import *
from argosy.nn.layer.transformer import *
from argosy.nn.layer.vision import *
