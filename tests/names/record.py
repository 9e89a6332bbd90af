"""Write the public names of an installed Paddle, one module a line: ``module: name name ...``.

    FLAGS_enable_pir_api=0 /path/to/a/paddle/bin/python tests/names/record.py

Run with the interpreter of an environment that has a real Paddle, of which the version names the
file: ``paddle-2.6.2.txt`` beside this script. The lists are data for
``tests/architecture/test_names.py``; only a new version of Paddle makes this script run again. It
works from Python 3.7 on, which Paddle 1.8 needs.

Public is what a module lists in ``__all__``, and else the functions and classes that it defines
(a package: that it holds, from anywhere in Paddle). Left out are modules that are generated or hold
the insides of the C++ part, of compilers, converters and planners: protocol buffers, ``core``, ...
"""

import importlib
import os
import pkgutil
import re
import sys
import tempfile
import textwrap
import types
import warnings

_SKIPPED = re.compile(
    r"\._|\.tests?\b|\.libs?\b|\.core|\.libpaddle|_pb2|\.proto\b|\.(cinn|tensorrt|pir|apy|onnx|cost_model)\b"
    r"|\.(decomposition|passes|prim|gast|cpp_extension|dygraph_to_static|dy2static|sot|slim)\b"
    r"|\.jit\.pir|\.distributed\.(auto_parallel|flex_checkpoint)\b|_op_patch|monkey_patch"
)


def module_names(root):
    """The dotted paths of the modules below an imported package."""
    found = [root.__name__]
    ignore = lambda name: None  # noqa: E731
    for info in pkgutil.walk_packages(root.__path__, root.__name__ + ".", onerror=ignore):
        if not _SKIPPED.search(info.name):
            found.append(info.name)
    return found


def load(name):
    """The module of that name; None where this environment cannot import it."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit):
        return sys.modules.get(name)


def public_names(module):
    """What a script may take from a module."""
    listed = [str(name) for name in getattr(module, "__all__", ())]
    own = [name for name, value in vars(module).items() if is_own(module, name, value)]
    if listed:
        bound = [name for name in own if isinstance(vars(module)[name], types.MethodType)]
        return sorted(set(listed + bound))
    return sorted(set(own))


def is_own(module, name, value):
    """Whether a module that lists nothing means this attribute to be used."""
    if name.startswith("_") or isinstance(value, types.ModuleType):
        return False
    kinds = (type, types.FunctionType, types.MethodType)
    if not isinstance(value, kinds):
        return False
    home = str(getattr(value, "__module__", ""))
    is_package = hasattr(module, "__path__")
    return home.split(".")[0] == "paddle" if is_package else home == module.__name__


def main():
    warnings.simplefilter("ignore")
    folder = os.path.dirname(os.path.abspath(__file__))
    os.chdir(tempfile.mkdtemp())  # modules of Paddle open log files where they are imported
    import paddle

    lines = []
    for name in sorted(module_names(paddle)):
        module = load(name)
        # A name of a module that a function hides is loaded all the same.
        module = sys.modules.get(name) if not isinstance(module, types.ModuleType) else module
        names = public_names(module) if module is not None else []
        if names:
            text = "{}: {}".format(name, " ".join(names))
            lines += textwrap.wrap(text, 100, subsequent_indent="  ", break_on_hyphens=False)
    with open(os.path.join(folder, f"paddle-{paddle.__version__}.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
