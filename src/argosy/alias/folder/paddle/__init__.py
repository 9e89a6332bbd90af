"""``import paddle`` is argosy: this package replaces itself by the module ``argosy``, whose code
runs when something is asked of it, and aliases every submodule.

The folder it is in stands first on the path of a process for which ``paddle`` is to be argosy,
whatever else is installed. Children inherit that path; one with another interpreter, which has no
argosy, gets the ``paddle`` of its own.
"""

import importlib.util
import sys

del sys.modules[__name__]
if importlib.util.find_spec("argosy") is None:
    _here = __file__.rpartition("/paddle/")[0]
    sys.path[:] = [folder for folder in sys.path if folder != _here]
    __import__(__name__)
else:
    from argosy import _alias

    _alias.install()
