"""The manifest of a checkpoint: what it consists of, in a file that notices every change of itself.

::

    {
     "files": [{"bytes": ..., "file": ..., "sha256": ..., ...}, ...],
     "format": "argosy tables 2",
     "num_files": 2,
     "seal": "<SHA-256 of this text without this line's entry>",
     ...
    }

The text is canonical JSON (keys in order, one way to write each value) and is compared byte by byte
with what its contents would be written as, so that one changed, missing or doubled byte is an
error. Manifests of format 1 have no seal; they are read with a warning.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.foundation.errors import CheckpointError
from argosy.foundation.files import inside, replacing
from argosy.foundation.progress import Told, progress

log = logging.getLogger("argosy.checkpoint")

NAME = "manifest.json"
_LARGEST = 1 << 26
_READ_BYTES = 1 << 20
_HEX = frozenset("0123456789abcdef")

Fact = dict[str, Any]
_FILE: Mapping[str, type] = {"file": str, "bytes": int, "sha256": str}


@dataclass(frozen=True)
class Layout:
    """What the manifests of one kind of checkpoint hold: ``fields`` of its own, and of each file
    ``facts`` beside name, size and digest.
    """

    kind: str
    fields: Mapping[str, type]
    facts: Mapping[str, type]
    is_read_unsealed: bool = True

    @property
    def format(self) -> str:
        return f"{self.kind} 2"

    @property
    def unsealed(self) -> str:
        """The format from before manifests were sealed."""
        return f"{self.kind} 1"


@dataclass(frozen=True)
class Manifest:
    """The contents of a manifest, of the types that its layout says."""

    fields: dict[str, Any]
    files: list[Fact]


def write(folder: Path, layout: Layout, fields: Mapping[str, Any], files: Sequence[Fact]) -> None:
    """Seal the manifest of ``folder``; it takes the place of another in one instant."""
    content = {"format": layout.format, "num_files": len(files), "files": list(files), **fields}
    _check_types(content, layout, folder / NAME)
    with replacing(folder / NAME) as file:
        file.write(_sealed(content))


def read(folder: Path, layout: Layout) -> Manifest:
    """The manifest of ``folder``; CheckpointError, which names the file, unless every byte is what
    was written.
    """
    path = folder / NAME
    data = _bytes_of(path)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} is damaged: it holds no object")
    found = content.get("format")
    if found == layout.unsealed and layout.is_read_unsealed:
        content = {
            **content,
            "num_files": len(content["files"]) if isinstance(content.get("files"), list) else 0,
        }
        log.warning(
            "%s has format %r, which has no seal: a change of the file itself would not be noticed",
            path,
            found,
        )
    elif found == layout.format:
        _check_seal(content, data, path)
    else:
        raise CheckpointError(f"{path} has format {found!r}, not {layout.format!r}")
    _check_types(content, layout, path)
    return Manifest({name: content[name] for name in layout.fields}, content["files"])


def fact_of(path: Path, name: str) -> Fact:
    """What a manifest says of a file that lies at ``path`` and is called ``name`` in the
    checkpoint.
    """
    size = path.stat().st_size
    with progress(f"reading {path}", size) as told:
        return {"file": name, "bytes": size, "sha256": _digest(path, told)}


def verified(folder: Path, fact: Fact, told: Told = lambda count: None) -> Path:
    """The path of a file of the checkpoint; CheckpointError unless it is the file that the manifest
    was written with. ``told`` hears of the bytes that are read.
    """
    path = inside(folder, fact["file"], str(folder / NAME))
    try:
        is_same = (
            path.is_file()
            and path.stat().st_size == fact["bytes"]
            and _digest(path, told) == fact["sha256"]
        )
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from error
    if not is_same:
        raise CheckpointError(
            f"{path} is missing, cut short or damaged: it is not the file that the checkpoint "
            "was written with"
        )
    return path


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise CheckpointError(f"{path} is damaged: it has more than {_LARGEST} bytes")
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent} is no checkpoint: it has no {NAME}") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from error


def _sealed(content: Mapping[str, Any]) -> bytes:
    plain = {name: value for name, value in content.items() if name != "seal"}
    return _text({**plain, "seal": hashlib.sha256(_text(plain)).hexdigest()})


def _text(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _check_seal(content: dict[str, Any], data: bytes, path: Path) -> None:
    try:
        is_whole = _sealed(content) == data
    except (ValueError, RecursionError):  # numbers that are none, a nest that is too deep
        is_whole = False
    if not is_whole:
        raise CheckpointError(
            f"{path} is damaged: its contents are not those that its seal was made of"
        )


def _check_types(content: Mapping[str, Any], layout: Layout, path: Path) -> None:
    expected = {"format": str, "num_files": int, "files": list, **layout.fields}
    _check(
        content, {**expected, "seal": str} if "seal" in content else expected, path, "the manifest"
    )
    if content["format"] == layout.unsealed and "seal" in content:
        raise CheckpointError(
            f"{path} is damaged: format {layout.unsealed!r} has no seal, but there is one"
        )
    if content["num_files"] != len(content["files"]):
        raise CheckpointError(
            f"{path} is damaged: it lists {len(content['files'])} files, but was written with "
            f"{content['num_files']}"
        )
    names = set()
    for number, fact in enumerate(content["files"]):
        _check(fact, {**_FILE, **layout.facts}, path, f"entry {number}")
        if len(fact["sha256"]) != 64 or not _HEX.issuperset(fact["sha256"]):
            raise CheckpointError(f"{path} is damaged: entry {number} has a digest that is none")
        inside(path.parent, fact["file"], str(path))
        if fact["file"] in names:
            raise CheckpointError(f"{path} is damaged: it lists {fact['file']!r} twice")
        names.add(fact["file"])


def _check(found: Any, expected: Mapping[str, type], path: Path, what: str) -> None:
    """``found`` must have exactly the ``expected`` keys, with values of exactly these types;
    numbers count something.
    """
    if not isinstance(found, Mapping) or found.keys() != expected.keys():
        has = sorted(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
        raise CheckpointError(
            f"{path} is damaged: {what} must have {sorted(expected)}, but has {has}"
        )
    for name, kind in expected.items():
        if type(found[name]) is not kind or (kind is int and not 0 <= found[name] < 1 << 62):
            raise CheckpointError(
                f"{path} is damaged: {name!r} of {what} is {str(found[name])[:80]!r}"
            )


def _digest(path: str | os.PathLike[str], told: Told) -> str:
    found = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while data := file.read(_READ_BYTES):
            found.update(data)
            told(len(data))
    return found.hexdigest()
