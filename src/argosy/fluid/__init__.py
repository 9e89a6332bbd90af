"""``paddle.fluid``: the API of Paddle 1.x, static programs and dygraph, over the layers below.

What it has is in its modules and in the table ``argosy/paths.txt``; all of it is loaded on first
use.
"""

import argosy.complex  # the module of 1.x in the place of the function
