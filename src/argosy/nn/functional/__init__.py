"""The functions behind the layers."""

from argosy.nn.functional.activation import *
from argosy.nn.functional.common import *
from argosy.nn.functional.conv import *
from argosy.nn.functional.distance import *
from argosy.nn.functional.extension import *
from argosy.nn.functional.flash_attention import (
    flash_attn_qkvpacked,
    scaled_dot_product_attention,
    sdp_kernel,
)
from argosy.nn.functional.input import *
from argosy.nn.functional.loss import *
from argosy.nn.functional.norm import *
from argosy.nn.functional.pooling import *
from argosy.nn.functional.vision import *
