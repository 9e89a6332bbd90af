"""``import paddle`` is argosy: this package replaces itself by the module ``argosy`` and aliases
every submodule.
"""

import sys

from argosy import _alias

_alias.install(__path__)
sys.modules[__name__] = _alias.target()
_alias.keep_hidden()
