"""What ``inspect`` prints of running servers and of checkpoints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from argosy.foundation.endpoints import parse
from argosy.foundation.errors import CheckpointError, ServerUnavailable, TableError, nearest
from argosy.foundation.progress import progress
from argosy.foundation.quantities import count_text, size_text
from argosy.runtime.ps.server import view
from argosy.runtime.ps.wire import tls

_BETWEEN_S = 0.5  # rates need two samples


def inspect_servers(
    endpoints: str,
    row: tuple[str, int] | None,
    token: str,
    timeout_s: float,
    tls_root: bytes | None,
) -> str:
    """Tables of the servers at ``endpoints`` (host:port, separated by commas), or one row of
    them.
    """
    from argosy.runtime.ps.server.status import Observer

    hosts = [str(parse(e.strip(), "inspect")) for e in endpoints.split(",")]
    with Observer(hosts, token, timeout_s, tls_root or tls.root_certificates()) as observer:
        if row is not None:
            answers = [observer.ask(host, "row", {"table": row[0], "id": row[1]}) for host in hosts]
            found = [
                (host, a["row"])
                for host, a in zip(hosts, answers, strict=True)
                if a["row"] is not None
            ]
            if not found:
                raise TableError(
                    f"inspect: table {row[0]!r} has no row of id {row[1]} on {', '.join(hosts)}"
                )
            return view.row_text(
                {"table": row[0], "id": row[1], "server": found[0][0], "value": found[0][1]}
            )
        for host in hosts:
            observer.ask(host, "status")  # whoever does not answer is an error here
        before = observer.sample()
        time.sleep(_BETWEEN_S)
        now = observer.sample()
    if now.num_answers < len(hosts):
        silent = [host for host, status in now.by_server.items() if status is None]
        raise ServerUnavailable(f"server {', '.join(silent)} has gone while it was asked")
    shown = view.view(now, before)
    right = [view.is_number(column) for column in view.HEAD]
    return view.one_line(shown) + "\n" + view.text_table(view.HEAD, view.cells(shown), right)


def inspect_checkpoint(folder: Path, row: tuple[str, int] | None) -> str:
    """Tables of a checkpoint, every file of which is compared with its manifest first, or one row
    of it.
    """
    from argosy.runtime.ps.server import checkpoint

    files = checkpoint.verify(folder)
    if row is not None:
        return view.row_text(_saved_row(folder, files, *row))
    total: dict[str, dict[str, Any]] = {}
    for fact in files:
        table = total.setdefault(fact["table"], {"kind": fact["kind"], "spec": fact["spec"],
            "rows": 0, "bytes": 0, "files": 0})  # fmt: skip
        table["rows"] += fact["rows"]
        table["bytes"] += fact["bytes"]
        table["files"] += 1
    heaviest = sorted(total.items(), key=lambda item: (-item[1]["bytes"], item[0]))
    lines = [(name, t["kind"], *_described(t), count_text(t["rows"]),
        size_text(t["bytes"]), str(t["files"])) for name, t in heaviest]  # fmt: skip
    num_rows = sum(t["rows"] for t in total.values() if t["kind"] == "sparse")
    num_bytes = sum(t["bytes"] for t in total.values())
    head = (
        f"{folder}: {len(total)} tables, {count_text(num_rows)} rows, "
        f"{size_text(num_bytes)} in {len(files)} files"
    )
    columns = ("table", "kind", "rule", "dim", "rows", "bytes", "files")
    return (
        head + "\n" + view.text_table(columns, lines, [False, False, False, True, True, True, True])
    )


def _described(table: dict[str, Any]) -> tuple[str, str]:
    from argosy.runtime.ps.tables.spec import SparseSpec

    if table["kind"] != "sparse":
        return "", "1"
    spec = SparseSpec.from_json(table["spec"])
    return spec.rule.name, str(spec.dim)


def _saved_row(folder: Path, files: list[dict[str, Any]], table: str, id: int) -> dict[str, Any]:
    import pyarrow.parquet as parquet

    names = sorted({fact["table"] for fact in files if fact["kind"] == "sparse"})
    if table not in names:
        raise CheckpointError(f"{folder} has no sparse table {table!r}.{nearest(table, names)}")
    parts = [fact["file"] for fact in files if fact["table"] == table]
    with progress(f"looking for row {id} of {table}", len(parts), "files") as told:
        for name in parts:
            found = parquet.read_table(folder / name, filters=[("id", "=", id)]).to_pylist()
            if found:
                return {"table": table, "file": name, **found[0]}
            told(1)
    raise CheckpointError(f"table {table!r} of {folder} has no row of id {id}")
