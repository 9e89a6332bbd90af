"""``python -m paddle.distributed.launch`` starts a script in several processes; ``launch()`` is the
``fleetrun`` command.
"""

from argosy.distributed.launch.main import launch
