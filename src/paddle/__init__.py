"""``import paddle`` is argosy: this package replaces itself by the module ``argosy`` and aliases
every submodule.
"""

import gc
import sys

# What is imported stays. Looking for garbage meanwhile, among all of torch's objects too, takes a
# quarter of the time and finds none.
_collects = gc.isenabled()
gc.disable()
try:
    from argosy import _alias

    _alias.install(__path__)
    sys.modules[__name__] = _alias.target()
    _alias.keep_hidden()
finally:
    if _collects:
        gc.enable()
