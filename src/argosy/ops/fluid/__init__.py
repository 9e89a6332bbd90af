"""What operators of 1.x compute otherwise than those of today."""

from argosy.ops.fluid import lookup, loss, product, reduction, shape
