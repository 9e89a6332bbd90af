"""``python -m argosy.alias script.py``: run a script in which ``import paddle`` is argosy."""

import sys

from argosy.alias.process import run

if __name__ == "__main__":
    # what stands before `-m argosy.alias`, which is one word or two
    given = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    run(sys.argv[1:], given[: -2 if given[-1] == "argosy.alias" else -1])
