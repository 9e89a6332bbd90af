"""torch's own tests of its backends, made to know ``argosy`` where they know ``gloo``.

They ship with torch (``torch.testing._internal``). Some are for named backends only; their source
is read with our name beside gloo's in those places, and in torch's tables of what backends can do.
Nothing else of it is changed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from types import ModuleType
from typing import Any

NAME = "torch.testing._internal.distributed.distributed_test"
_CHANGES = (
    (re.compile(r'BACKEND != "gloo"'), 'BACKEND not in ("gloo", "argosy")'),
    (re.compile(r'BACKEND == "gloo"'), 'BACKEND in ("gloo", "argosy")'),
    (
        re.compile(r'require_backend_is_available\(\{"gloo"\}\)'),
        'require_backend_is_available({"gloo", "argosy"})',
    ),
    (re.compile(r"    dist\.Backend\.GLOO,\n"), '    dist.Backend.GLOO, "argosy",\n'),
)


def load(backend: str, world_size: int, folder: str) -> tuple[ModuleType, Any]:
    """The module and its class of tests, as rank processes run them."""
    os.environ |= {
        "BACKEND": backend,
        "WORLD_SIZE": str(world_size),
        "TEMP_DIR": folder,
        "MASTER_ADDR": "127.0.0.1",
        "INIT_METHOD": f"file://{folder}/shared_init_file",
    }
    from torch.testing._internal.common_distributed import DistTestCases

    for names in (*DistTestCases.backend_feature.values(), *DistTestCases.skip_collective.values()):
        if "gloo" in names:
            names.add("argosy")
    DistTestCases.backend_feature["plugin"].add("argosy")
    spec = importlib.util.find_spec(NAME)
    assert spec is not None
    assert spec.origin is not None
    with open(spec.origin) as file:
        text = file.read()
    for pattern, replacement in _CHANGES:
        text, count = pattern.subn(replacement, text)
        assert count, f"torch's tests have changed: {pattern.pattern} is not in them any more"
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    exec(compile(text, spec.origin, "exec", dont_inherit=True), module.__dict__)

    class Tests(module.TestDistBackend, module.DistributedTest._DistTestBase):  # type: ignore[misc,name-defined]
        pass

    return module, Tests
