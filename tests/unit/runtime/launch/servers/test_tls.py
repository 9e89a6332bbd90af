"""Certificates through the openssl program, which may fail us."""

from __future__ import annotations

import time

import pytest

from argosy.foundation.errors import ConfigError, ProgramTimeout
from argosy.runtime.launch.servers import tls as ps_tls


def openssl(folder, monkeypatch, text):
    program = folder / "bin" / "openssl"
    program.parent.mkdir()
    program.write_text(f"#!/bin/bash\n{text}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


@pytest.mark.attack("an openssl that hangs")
def test_an_openssl_that_hangs_is_ended_in_time(tmp_path, monkeypatch, record_property):
    openssl(tmp_path, monkeypatch, "echo gathering entropy >&2; sleep 1000")
    monkeypatch.setattr(ps_tls, "_OPENSSL_S", 0.5)
    start = time.monotonic()
    with pytest.raises(
        ProgramTimeout, match=r"openssl, .* has not ended within 0\.5 s(?s:.)*gathering entropy"
    ):
        ps_tls.make_certificate(tmp_path / "tls", ["127.0.0.1"])
    record_property("named_s", time.monotonic() - start)
    assert time.monotonic() - start < 20


def test_an_openssl_that_fails_is_told(tmp_path, monkeypatch):
    openssl(tmp_path, monkeypatch, "echo no such curve >&2; exit 1")
    with pytest.raises(
        ConfigError, match=r"could not make a certificate for 127\.0\.0\.1\.\n  \| no such curve"
    ):
        ps_tls.make_certificate(tmp_path / "tls", ["127.0.0.1"])
