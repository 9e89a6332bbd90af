"""``import paddle`` is argosy: this package replaces itself by the module ``argosy``, whose code
runs when something is asked of it, and aliases every submodule.
"""

import importlib.util
import sys

if "argosy" not in sys.modules:
    _spec = importlib.util.find_spec("argosy")
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["argosy"] = importlib.util.module_from_spec(_spec)
    from argosy import _defer, _paths

    _paths.install()
    _defer.put_off(sys.modules["argosy"], _spec.loader)

from argosy import _alias

_alias.install(__path__)
sys.modules[__name__] = _alias.target()
_alias.keep_hidden()
