"""Whether the file of a dataset is the right one."""

from __future__ import annotations

import hashlib


def md5file(fname: str) -> str:
    """The MD5 sum of a file, in hexadecimal."""
    with open(fname, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
