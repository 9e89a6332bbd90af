"""How other launchers tell a process its place, one module each. Pure."""

from argosy.runtime.launch.environments.choice import CHOOSER, DETECTS, SIGNS, find, look
from argosy.runtime.launch.environments.placement import Placement
from argosy.runtime.launch.environments.views import as_host, as_rank, is_of_paddle, variables_of
