import socket

import numpy as np
import pytest

from argosy.ps.__main__ import main
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.spec import SparseSpec
from support.ps_service import TOKEN, job

BIG = SparseSpec("big", 4, Rule("adagrad", 1.0), Initial("uniform", -1.0, 1.0), max_rows=1 << 12)
SMALL = SparseSpec("small", 2, Rule("sgd", 1.0), max_rows=1 << 12)


@pytest.fixture
def client(tmp_path):
    with job(tmp_path / "servers", 2) as (services, [client]):
        client.endpoints = ",".join(f"127.0.0.1:{s.port}" for s in services)
        for spec in (SMALL, BIG):
            client.create_sparse(spec, "async")
        client.pull("big", np.arange(500))
        client.push("small", np.arange(3), np.full((3, 2), -1.5, np.float32))
        yield client


def test_servers_show_the_heaviest_table_first(client, capsys, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    assert main(["inspect", client.endpoints, "--token_file", str(secret)]) == 0
    head, columns, first, second = capsys.readouterr().out.splitlines()
    assert head.startswith("2 of 2 servers, 2 tables, 503 rows, ")
    assert columns.split()[:6] == ["table", "kind", "mode", "dim", "rows", "bytes"]
    assert first.split()[:5] == ["big", "sparse", "async", "4", "500"]
    assert second.split()[:5] == ["small", "sparse", "async", "2", "3"]


def test_a_row_of_a_server(client, capsys, monkeypatch):
    monkeypatch.setenv("ARGOSY_TOKEN", TOKEN)
    assert main(["inspect", client.endpoints, "--table", "small", "--id", "2"]) == 0
    assert "value: [1.5, 1.5]" in capsys.readouterr().out
    assert main(["inspect", client.endpoints, "--table", "small", "--id", "9"]) == 1
    assert "table 'small' has no row of id 9" in capsys.readouterr().err
    assert main(["inspect", client.endpoints, "--table", "smal", "--id", "2"]) == 1
    assert "there is no table 'smal'" in capsys.readouterr().err


def test_the_token_is_needed(client, capsys, monkeypatch):
    monkeypatch.delenv("ARGOSY_TOKEN", raising=False)
    assert main(["inspect", client.endpoints]) == 1
    assert (
        "refused this process: this call does not prove to know the job's token"
        in capsys.readouterr().err
    )


def test_a_server_that_is_not_there(capsys, monkeypatch):
    monkeypatch.setenv("ARGOSY_TOKEN", TOKEN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["inspect", endpoint, "--timeout", "0.5"]) == 1
    assert f"server {endpoint} did not answer" in capsys.readouterr().err


def test_what_is_neither_folder_nor_endpoint(capsys):
    assert main(["inspect", "nowhere/at/all"]) == 1
    assert "'nowhere/at/all' is no folder, and no host:port either" in capsys.readouterr().err


def test_half_a_row_is_refused(tmp_path, capsys):
    assert main(["inspect", str(tmp_path), "--id", "1"]) == 1
    assert "a row needs both --table and --id" in capsys.readouterr().err


def test_a_checkpoint(client, tmp_path, capsys):
    folder = tmp_path / "saved"
    client.save(folder)
    assert main(["inspect", str(folder)]) == 0
    head, columns, first, second = capsys.readouterr().out.splitlines()
    assert head.startswith(f"{folder}: 2 tables, 503 rows, ")
    assert columns.split() == ["table", "kind", "rule", "dim", "rows", "bytes", "files"]
    assert first.split()[:5] == ["big", "sparse", "adagrad", "4", "500"]
    assert second.split()[:5] == ["small", "sparse", "sgd", "2", "3"]
    assert main(["inspect", str(folder), "--table", "small", "--id", "1"]) == 0
    assert "value: [1.5, 1.5]" in capsys.readouterr().out
    assert main(["inspect", str(folder), "--table", "small", "--id", "77"]) == 1
    assert "has no row of id 77" in capsys.readouterr().err
    assert main(["inspect", str(folder), "--table", "smalls", "--id", "1"]) == 1
    assert "has no sparse table 'smalls'. Did you mean 'small'?" in capsys.readouterr().err


def test_a_torn_checkpoint(client, tmp_path, capsys):
    folder = tmp_path / "saved"
    client.save(folder)
    part = next(folder.rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    assert main(["inspect", str(folder)]) == 1
    assert f"CheckpointError: {part} is missing, cut short or damaged" in capsys.readouterr().err
