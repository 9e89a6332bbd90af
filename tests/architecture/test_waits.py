"""Waits without a deadline: each is in the table of docs/reliability.md, with what ends it.

They are found by the names of methods and functions, so the table also has a few that never block;
it says so.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "argosy"
DOCUMENT = ROOT / "docs" / "reliability.md"

# methods that wait until something happens, unless they are given a time or told not to
_BARE = {"acquire", "communicate", "exception", "get", "join", "result", "select", "wait"}
# the same with one argument of their own
_ONE_ARGUMENT = {
    "put",
    "wait_for",
    "recv",
    "recv_into",
    "recv_bytes",
    "recvmsg",
    "sendall",
    "accept",
}
# calls that wait for another process, whatever their arguments
_ALWAYS = {
    "do_action",
    "do_exchange",
    "do_get",
    "do_put",
    "list_flights",
    "get_flight_info",
    "read_chunk",
}
_OF_OS = {"os.read", "os.waitid", "os.waitpid", "fcntl.flock", "fcntl.lockf"}
_OF_SUBPROCESS = {
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
}
_TIMED = {"block", "blocking", "timeout", "timeout_s"}


def waits_of(source: str) -> set[str]:
    """The calls in a module that wait without a deadline that could be seen at the call."""
    tree = ast.parse(source)
    waiting = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module in ("multiprocessing.connection", "concurrent.futures")
        for alias in node.names
        if alias.name in ("wait", "as_completed")
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {ast.unparse(call.func) for call in calls if _waits(call, waiting)}


def _waits(call: ast.Call, waiting: set[str]) -> bool:
    text = ast.unparse(call.func)
    given, names = len(call.args), {keyword.arg for keyword in call.keywords}
    if names & _TIMED:
        return False
    if text in _OF_OS | _OF_SUBPROCESS:
        return True
    if text in waiting or text.endswith("connection.wait"):
        return given < 2
    if text.endswith("select.select"):
        return given < 4
    if text.endswith("create_connection"):
        return given < 2
    if text == "ThreadPoolExecutor" or text.endswith(".ThreadPoolExecutor"):
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    if name == "shutdown":  # of an executor or a server; that of a socket has an argument
        return given == 0
    if name == "connect":  # of a socket
        return given == 1 and isinstance(call.args[0], ast.Tuple)
    if name == "poll":  # of an epoll or a poll object; processes and pipes only look
        return given == 0 and ast.unparse(call.func.value).endswith("poll")
    return (
        name in _ALWAYS or (name in _BARE and given == 0) or (name in _ONE_ARGUMENT and given <= 1)
    )


@pytest.mark.parametrize(
    ("code", "is_wait"),
    [
        ("queue.get()", True), ("queue.get(timeout=1)", False), ("table.get('x')", False),
        ("thread.join()", True), ("thread.join(5)", False),
        ("', '.join(names)", False), ("lock.acquire()", True),
        ("lock.acquire(blocking=False)", False), ("process.wait()", True), ("event.wait(1)", False),
        ("condition.wait_for(ready)", True), ("condition.wait_for(ready, 1)", False),
        ("sock.recv(4096)", True), ("group.recv(tensor, 1)", False),
        ("sock.connect((host, port))", True), ("flight.connect(url)", False),
        ("socket.create_connection(where)", True), ("socket.create_connection(where, 3)", False),
        ("subprocess.run(['x'])", True), ("subprocess.run(['x'], timeout=3)", False),
        ("executor.shutdown()", True), ("sock.shutdown(how)", False),
        ("self._epoll.poll()", True), ("process.poll()", False), ("selector.select()", True),
        ("selector.select(nap)", False), ("os.waitpid(pid, 0)", True),
        ("from multiprocessing.connection import wait as w\nw(many)", True),
        ("from multiprocessing.connection import wait as w\nw(many, 1)", False),
        ("ThreadPoolExecutor(2)", True), ("future.result()", True), ("reader.read_chunk()", True),
    ],
)  # fmt: skip
def test_what_counts_as_a_wait(code, is_wait):
    assert bool(waits_of(code)) == is_wait


@functools.cache
def found() -> set[tuple[str, str]]:
    return {
        (str(path.relative_to(SOURCES)), call)
        for path in sorted(SOURCES.rglob("*.py"))
        for call in waits_of(path.read_text())
    }


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of the document, without its head."""
    section = DOCUMENT.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [
        line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")
    ][1:]


def listed() -> set[tuple[str, str]]:
    found = set()
    for place, calls, reason in rows("Waits without a deadline"):
        assert len(reason) > 10, f"{place}: say what ends {calls}"
        found |= {(place.strip("`"), call) for call in re.findall(r"`([^`]+)`", calls)}
    return found


def test_every_wait_without_a_deadline_is_listed_with_what_ends_it():
    new, old = found() - listed(), listed() - found()
    assert not new, (
        f"give these a deadline, or list them in {DOCUMENT.name} with what ends them: {sorted(new)}"
    )
    assert not old, f"these are in {DOCUMENT.name}, but not in the code any more: {sorted(old)}"


def test_every_promise_names_a_test_that_exists():
    promises = rows("Promises")
    assert len(promises) > 10
    for promise, figure, tests in promises:
        assert figure, promise
        names = re.findall(r"`([^`]+)`", tests)
        assert names, f"no test proves: {promise}"
        for name in names:
            path, _, function = name.partition("::")
            file = ROOT / "tests" / path
            assert file.is_file(), f"{promise}: there is no {file}"
            assert not function or re.search(rf"^def {function}\b", file.read_text(), re.M), (
                f"{promise}: no {name}"
            )


DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_documents_are_listed():
    readme = (ROOT / "README.md").read_text()
    for words in ("make faults", "(SECURITY.md)", "(docs/reliability.md)"):
        assert words in readme
    index = (ROOT / "docs" / "README.md").read_text()
    assert all(
        f"]({path.name})" in index
        for path in (ROOT / "docs").glob("*.md")
        if path.name != "README.md"
    )
