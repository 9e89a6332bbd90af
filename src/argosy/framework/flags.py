"""What other packages may use of the flags beside ``get_flags`` and ``set_flags``."""

from argosy.framework._flag_table import DEFAULTS

__all__ = ["DEFAULTS"]
