"""The secret of a job, which its processes prove to each other that they know.

ARGOSY_TOKEN has it, or the file that ARGOSY_TOKEN_FILE names. Without either, processes that meet
on a loopback address share a secret that only this user of this machine can read; it is made on
first use. Other addresses can be reached by strangers, so nothing goes there without a token.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from argosy.foundation import env
from argosy.foundation.endpoints import Endpoint, is_loopback
from argosy.foundation.errors import ConfigError

TOKEN = "ARGOSY_TOKEN"
TOKEN_FILE = "ARGOSY_TOKEN_FILE"
MIN_CHARACTERS = 16
_MAX_BYTES = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def token_for(where: Endpoint, nonce: str = "") -> str:
    """The secret of the job that meets at ``where``; ConfigError if that place is open to others
    and no token is given. ``nonce`` tells the job from others that have met there.
    """
    token = given()
    if token and not nonce:
        return token
    check(where, bool(token))
    # one secret per meeting point, so that processes of different jobs turn each other away
    return hmac.new(
        (token or _own_secret()).encode(), f"meeting at {where}{nonce}".encode(), hashlib.sha256
    ).hexdigest()


def check(where: Endpoint, is_given: bool) -> None:
    """ConfigError if ``where`` is open to others and no token is given."""
    if not is_given and not is_loopback(where.host):
        raise ConfigError(
            f"{where} can be reached from other hosts, so the processes that meet there need a "
            f"secret, and neither {TOKEN} nor "
            f"{TOKEN_FILE} is set.\n"
            f"  Set {TOKEN} to the same text of at least {MIN_CHARACTERS} characters on every "
            f"host, or {TOKEN_FILE} to a file "
            "that holds it (chmod 600)."
        )


def given(path: str = "") -> str:
    """The token in the file ``path``, else the one that the environment gives, empty if it gives
    none.

    ConfigError if it is too short or others can read it.
    """
    token, source = "" if path else env.get(TOKEN), TOKEN
    if not token:
        path = path or env.get(TOKEN_FILE)
        if not path:
            return ""
        source = f"the file {path!r} ({TOKEN_FILE})"
        token = read_private(Path(path), source)
    if not token.isprintable():  # bytes that are no UTF-8 are not either
        raise ConfigError(f"{source} must be printable text")
    if len(token) < MIN_CHARACTERS:
        raise ConfigError(
            f"{source} has {len(token)} characters, but at least {MIN_CHARACTERS} are needed so "
            "that nobody can guess it; "
            "make one with `openssl rand -hex 16`"
        )
    return token


def make() -> str:
    """A new token."""
    return secrets.token_hex(16)


def own_folder() -> Path:
    """Where this user's processes on this machine keep what only they may read."""
    return Path(env.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "argosy"


def _own_secret() -> str:
    """The secret of this user on this machine."""
    path = own_folder() / "token"
    try:
        if not path.exists():
            publish(path, make())
    except OSError as error:
        raise ConfigError(
            f"{path}, the secret of processes that are started by hand on this machine, cannot "
            f"be made: {error.strerror}; "
            f"set {TOKEN} to the same text for all of them"
        ) from error
    secret = read_private(
        path, f"the file {str(path)!r}, which holds the secret of processes started by hand,"
    )
    if len(secret) < MIN_CHARACTERS:
        raise ConfigError(
            f"the file {str(path)!r} is too short for a secret; remove it, and a new one is made"
        )
    return secret


def publish(path: Path, text: str, replaces: bool = False) -> None:
    """Write a file that only this user can read; of several processes that do so at once, the first
    one's stays, or the last one's if it ``replaces`` what is there.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        if replaces:
            os.replace(draft, path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)


def read_private(path: Path, what: str) -> str:
    """The text of a file that belongs to this user and that nobody else can read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{what} cannot be read: {error.strerror}") from error
    try:
        _check_private(os.fstat(descriptor), what)
        content = os.read(descriptor, _MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        raise ConfigError(f"{what} must hold text in UTF-8") from None
    if len(content) > _MAX_BYTES or "\n" in text:
        raise ConfigError(f"{what} must hold one line of at most {_MAX_BYTES} bytes")
    return text


def _check_private(status: os.stat_result, what: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{what} must be a regular file")
    if status.st_uid != os.geteuid():
        raise ConfigError(
            f"{what} belongs to user {status.st_uid}, not to this one ({os.geteuid()})"
        )
    if status.st_mode & _OTHERS:
        raise ConfigError(
            f"{what} can be read or written by other users (mode "
            f"{stat.S_IMODE(status.st_mode):04o}); chmod 600 it"
        )
