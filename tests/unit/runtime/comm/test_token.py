"""Where the secret of a job comes from, and who may read it."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.token import given, token_for

HERE = Endpoint("127.0.0.1", 6170)
ELSEWHERE = Endpoint("10.0.0.1", 6170)
TOKEN = "0123456789abcdef"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A user without a token, whose cache folder is empty."""
    monkeypatch.delenv("ARGOSY_TOKEN", raising=False)
    monkeypatch.delenv("ARGOSY_TOKEN_FILE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def token_file(folder, monkeypatch):
    path = folder / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    monkeypatch.setenv("ARGOSY_TOKEN_FILE", str(path))
    return path


def test_the_variable_wins_over_the_file(token_file, monkeypatch):
    assert token_for(ELSEWHERE) == TOKEN
    monkeypatch.setenv("ARGOSY_TOKEN", "another token of this job")
    assert token_for(ELSEWHERE) == token_for(HERE) == "another token of this job"


@pytest.mark.attack("a short token")
def test_a_token_that_can_be_guessed(token_file, monkeypatch):
    token_file.write_text("x" * 15)
    with pytest.raises(
        ConfigError, match=r"token' \(ARGOSY_TOKEN_FILE\) has 15 characters, but at least 16"
    ):
        token_for(HERE)
    monkeypatch.setenv("ARGOSY_TOKEN", "secret")
    with pytest.raises(
        ConfigError, match="ARGOSY_TOKEN has 6 characters, but at least 16"
    ) as caught:
        token_for(HERE)
    assert "secret" not in str(caught.value)


@pytest.mark.attack("an address that strangers reach, and no token")
@pytest.mark.parametrize(
    "host", ["10.0.0.1", "0.0.0.0", "::", "node7", "128.0.0.1", "localhost.example", "127.1"]
)
def test_other_addresses_need_a_token(host):
    with pytest.raises(ConfigError, match="can be reached from other hosts"):
        token_for(Endpoint(host, 6170))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost", "::ffff:127.0.0.1"])
def test_on_loopback_a_secret_of_this_user_is_made(folder, host):
    token = token_for(Endpoint(host, 6170))
    path = folder / "cache" / "argosy" / "token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert token == token_for(Endpoint(host, 6170))
    assert token != token_for(Endpoint(host, 6171))
    assert path.read_text() not in token
    # another user has another one
    path.unlink()
    assert token != token_for(Endpoint(host, 6170))


def test_processes_that_make_the_secret_at_once_agree():
    found = []
    threads = [threading.Thread(target=lambda: found.append(token_for(HERE))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1


@pytest.mark.attack("a token file that others can read")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o644])
def test_files_that_others_can_read_or_write(token_file, mode):
    token_file.chmod(mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}.*chmod 600"):
        given()


@pytest.mark.attack("a secret of this user that others can read")
def test_the_secret_of_this_user_is_checked_too(folder):
    token_for(HERE)
    path = folder / "cache" / "argosy" / "token"
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        token_for(HERE)
    path.chmod(0o600)
    path.write_text("")
    with pytest.raises(ConfigError, match="too short for a secret; remove it"):
        token_for(HERE)


@pytest.mark.attack("a token file of somebody else")
def test_a_file_of_somebody_else(token_file, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match=r"belongs to user \d+, not to this one \(12345\)"):
        given()


def test_files_that_hold_no_token(token_file, folder, monkeypatch):
    token_file.write_bytes(b"\xff" * 20)
    with pytest.raises(ConfigError, match="UTF-8"):
        given()
    token_file.write_text("one line of the file\nand another")
    with pytest.raises(ConfigError, match="one line"):
        given()
    token_file.write_text("x" * 5000)
    with pytest.raises(ConfigError, match="at most 4096 bytes"):
        given()
    token_file.unlink()
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        given()
    os.mkfifo(token_file, 0o600)  # must not be waited for either
    with pytest.raises(ConfigError, match="regular file"):
        given()
    monkeypatch.setenv("ARGOSY_TOKEN_FILE", str(folder))
    with pytest.raises(ConfigError, match="regular file"):
        given()


def test_a_token_that_is_no_text(monkeypatch):
    monkeypatch.setenv("ARGOSY_TOKEN", os.fsdecode(b"\xff" * 20))
    with pytest.raises(ConfigError, match="ARGOSY_TOKEN must be printable text"):
        given()


def test_a_cache_folder_that_cannot_be_made(folder, monkeypatch):
    (folder / "cache").write_text("a file")
    with pytest.raises(ConfigError, match=r"cannot be made: .*set ARGOSY_TOKEN"):
        token_for(HERE)
