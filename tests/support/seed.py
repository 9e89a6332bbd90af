"""The seed of what these tests draw at random; ``make faults`` sets it with ``--seed``."""

import os

SEED = int(os.environ.get("ARGOSY_FAULTS_SEED", "0"))
