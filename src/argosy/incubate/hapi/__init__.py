"""``paddle.incubate.hapi``: Model before 2.0, when networks were derived from it."""

from argosy.incubate.hapi import loss, model
from argosy.incubate.hapi.model import Input, Model, set_device
