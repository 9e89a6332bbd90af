"""Small tools: unique names, nested structures, optional imports, a check of the installation."""

from argosy.utils import dlpack, layers_utils, unique_name
from argosy.utils._deprecated import deprecated
from argosy.utils._install_check import require_version, run_check
from argosy.utils._lazy_import import try_import
from argosy.utils.layers_utils import (
    assert_same_structure,
    convert_to_list,
    flatten,
    is_sequence,
    map_structure,
    pack_sequence_as,
    to_sequence,
)

__all__ = ["deprecated", "run_check", "require_version", "try_import"]
