"""``import paddle`` is argosy in every Python process of this environment.

``argosy_paddle.pth`` imports this module when Python starts. It installs no folder ``paddle``, so
its files and those of a real Paddle never mix, and removing either leaves the other whole. If both
are installed, ``paddle`` is argosy.

Python starts often: all that happens then is one finder more on the meta path. The rest waits for
``import paddle``.
"""

import sys


class Finder:
    """Answers for ``paddle`` with the folder in argosy that stands for it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "paddle":
            return None
        import importlib.machinery
        import importlib.util

        argosy = importlib.util.find_spec("argosy")
        if argosy is not None:
            folders = [f"{folder}/alias/folder" for folder in argosy.submodule_search_locations]
            return importlib.machinery.PathFinder.find_spec(name, folders)
        if importlib.machinery.PathFinder.find_spec(name) is not None:
            return None  # a real Paddle, which is whole
        raise ModuleNotFoundError(
            "argosy-paddle is installed, but argosy, which it hands out as `paddle`, is not. "
            "`pip install argosy` brings it back; `pip uninstall argosy-paddle` removes the rest.",
            name=name,
        )


if Finder not in sys.meta_path:
    sys.meta_path.insert(0, Finder)
