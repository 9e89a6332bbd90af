"""What the guides show runs, and the links of all documents lead somewhere.

A python block whose first line is ``# name.py: command`` is stored under that name and the command
is run (``fleetrun`` through this interpreter); the others run in this process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from argosy.runtime.launch.flags import FLAGS
from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners import collective, servers
from argosy.runtime.launch.roster import SERVER, WORKER, Member, Roster, place_ranks
from argosy.runtime.launch.servers.tls import TlsFiles
from argosy.runtime.launch.spec import LaunchSpec

ROOT = Path(__file__).resolve().parents[2]
GUIDES = (
    "README",
    "docs/README",
    "docs/get_started",
    "docs/model",
    "docs/moving_from_paddle",
    "docs/moving_from_torch_ddp",
    "docs/parameter_server_torch",
    "docs/launch",
    "docs/inference",
)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
DEADLINE_S = 180.0  # interpreters that import torch and compile loops, on a busy machine
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"# (\w+\.py): ((?:python|fleetrun) .*)\n")


@dataclass(frozen=True)
class Block:
    """One python block of a guide; ``file`` and ``command`` are empty if it runs as it stands."""

    guide: str
    number: int
    text: str
    file: str = ""
    command: str = ""

    def __str__(self) -> str:
        return f"{self.guide.rpartition('/')[2]}-{self.file or self.number}"


def blocks_of(guide: str) -> list[Block]:
    """The python blocks of a guide in order."""
    blocks = []
    for number, (language, text) in enumerate(_FENCE.findall((ROOT / f"{guide}.md").read_text())):
        if language == "python":
            found = _COMMAND.match(text)
            blocks.append(Block(guide, number, text, *(found.groups() if found else ())))
    return blocks


BLOCKS = [block for guide in GUIDES for block in blocks_of(guide)]


def run(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """Store the block and run its command, with this interpreter as ``python``."""
    (folder / block.file).write_text(block.text)
    program, *arguments = block.command.split()
    launcher = ["-m", "argosy.distributed.launch"] if program == "fleetrun" else []
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PADDLE_", "FLAGS_"))
    }
    done = subprocess.run(
        [sys.executable, *launcher, *arguments],
        cwd=folder,
        env={**kept, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, f"{block.command}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("block", [b for b in BLOCKS if not b.command], ids=str)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("fresh_programs")
def test_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, str(block), "exec"), {"__name__": "block"})


COMPARED = ("ddp.py", "parallel.py")


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.command and b.file not in COMPARED], ids=str
)
def test_command_runs(block, tmp_path):
    run(block, tmp_path)


@pytest.mark.timeout(2 * DEADLINE_S + 30)
def test_torch_and_argosy_print_the_same_loss(tmp_path):
    blocks = [b for b in BLOCKS if b.file in COMPARED]
    ddp, parallel = (
        set(re.findall(r"loss [\d.]+", run(block, tmp_path).stdout)) for block in blocks
    )
    assert len(parallel) == 1  # the terminal shows rank 0 only
    assert parallel <= ddp


def anchors(path: Path) -> set[str]:
    """The names that links can have behind ``#``, made of headings as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", path.read_text())):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{path.name} links to {target}"


def test_index_names_every_document():
    index = (ROOT / "docs" / "README.md").read_text()
    missing = [
        path.name
        for path in (ROOT / "docs").glob("*.md")
        if path.name != "README.md" and f"({path.name})" not in index
    ]
    assert not missing


def test_files_named_in_documents_exist():
    """Paths of tests, examples and benchmarks that a document names."""
    for path in DOCUMENTS:
        for named in re.findall(r"`((?:tests|examples|benchmarks)/[\w/.]+)`", path.read_text()):
            assert (ROOT / named).exists(), f"{path.name} names {named}"


def test_launch_reference_is_complete():
    """Every flag, the variable that overrides it, and every variable that processes are given."""
    text = (ROOT / "docs" / "launch.md").read_text()
    meeting, machine = Rendezvous("a:2", ""), Machine({}, 1, "/", "p")
    spec = LaunchSpec(script="train.py", max_restart=1)
    roles = [Member(role, 0, "a:1") for role in (SERVER, WORKER)]
    jobs = [
        collective.plan(spec, place_ranks([Host("a", -1, ("a:1",), ("0",))], meeting), machine),
        servers.plan(
            spec,
            Roster(tuple(roles), meeting),
            machine,
            servers.ServerFiles("f", TlsFiles("root", "cert", "key")),
        ),
    ]
    given = {name for job in jobs for process in job.processes for name in process.environment}
    wanted = {spelling for flag in FLAGS for spelling in flag.spellings} | given
    wanted |= {flag.variable for flag in FLAGS if flag.variable}
    assert not sorted(name for name in wanted if not re.search(rf"(?<![\w-]){name}(?!\w)", text))
