"""The op table: every operation once, on raw torch tensors, with the facts that others need of it.

Importing the package fills the table. The face calls the ops eagerly through ``argosy.tensor``; a
recording Program stores an op's name and its attributes and replays the same function.
"""

from argosy.ops import array, detection, fluid, images, losses, math, nn, sequences, training
