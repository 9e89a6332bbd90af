"""``fluid.incubate``: what Paddle 1.x tried out, data generators above all."""

from argosy.fluid.incubate import data_generator
