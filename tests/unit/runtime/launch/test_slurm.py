"""The sbatch script of a job: what is in it, what is not, and that bash reads it as meant."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from argosy.foundation.errors import ConfigError, NotSupported
from argosy.runtime.launch.cli import main
from argosy.runtime.launch.schedulers.slurm import quoted, script_of, submit
from argosy.runtime.launch.spec import parse

WORDS = (
    "a b",
    'say "it\'s"',
    "$HOME `id` $(id)",
    "two\nlines",
    "\r\n#SBATCH -N9",
    "*",
    "",
    "\udcff",
)
# srun that shows, on two nodes, the words it was given; scontrol that knows the nodes
TOOLS = {
    "scontrol": 'if [ "$1" = show ]; then echo n1; echo n2; else echo "scontrol $*" >> said; fi',
    "srun": """
while [ "$1" != bash ]; do shift; done
for node in 0 1; do
  SLURM_NODEID=$node SLURM_NNODES=2 SLURMD_NODENAME=n$((node + 1)) "$@" || code=$?
done
exit ${code:-0}
""",
    # the interpreter on the nodes
    "python": 'printf "%s\\\\0" "$@" >> words; stat -c %a .argosy-* >> modes; exit ${CODE:-0}',
}


def script(*words: str, **environ: str) -> str:
    spec = parse(["--scheduler", "slurm", *words], environ, device_count=0)
    assert spec.scheduling is not None
    return script_of(spec, spec.scheduling, "python")


def directives(text: str) -> list[str]:
    return [
        word
        for line in text.splitlines()
        if line.startswith("#SBATCH ")
        for word in shlex.split(line.removeprefix("#SBATCH "))
    ]


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Commands of Slurm that note how they are called, first in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in TOOLS.items():
        path = folder / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return folder


def run(text: str, folder, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Have bash run a script as Slurm does on the first of two nodes."""
    given = {"SLURM_JOB_ID": "41", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_NUM_NODES": "2"}
    return subprocess.run(
        ["bash", "-s"],
        input=os.fsencode(text),
        env={**os.environ, **given, **variables},
        cwd=folder,
        capture_output=True,
        timeout=60,
    )


def launched(folder) -> list[list[str]]:
    """The words that the launcher got on each node."""
    words = [os.fsdecode(word) for word in (folder / "words").read_bytes().split(b"\0")[:-1]]
    half = len(words) // 2
    return [words[:half], words[half:]]


def test_the_directives_say_what_was_asked():
    found = directives(
        script(
            *("--nodes", "4", "--time", "1:00:00", "--cpus_per_task=8"),
            *("--sbatch", "--comment='a b' --exclude=n3", "train.py"),
        )
    )
    assert found == [
        *("--job-name=train", "--nodes=4", "--ntasks-per-node=1", "--open-mode=append"),
        *("--requeue", "--signal=B:USR1@120", "--time=1:00:00", "--cpus-per-task=8"),
        *("--comment=a b", "--exclude=n3"),
    ]


def test_a_range_of_hosts_is_a_range_of_nodes():
    assert "--nodes=2-4" in directives(script("--nnodes", "2:4", "train.py"))


def test_every_node_gets_the_words_as_they_were_written(tools, tmp_path):
    done = run(script("--nodes", "2", "--nproc_per_node", "3", "train.py", *WORDS), tmp_path)
    assert done.returncode == 0, done.stderr
    for rank, words in enumerate(launched(tmp_path)):
        token = f"{tmp_path}/.argosy-41.token"
        assert words == [
            *("-m", "argosy.distributed.launch", "--rank", str(rank), "--log_dir"),
            *(f"log/n{rank + 1}", "--nnodes", "2", "--master", "n1:20041", "--token_file", token),
            *("--grace", "100", "--nproc_per_node", "3", "train.py", *WORDS),
        ]


def test_the_secret_is_a_private_file_while_the_job_runs(tools, tmp_path):
    assert run(script("--nodes", "2", "train.py"), tmp_path).returncode == 0
    assert (tmp_path / "modes").read_text().split() == ["600", "600"]
    assert not list(tmp_path.glob(".argosy*"))


def test_a_secret_of_the_user_is_used_and_stays(tools, tmp_path):
    own = tmp_path / "own token"
    own.touch()
    text = script("--nodes", "2", "--token_file", str(own), "train.py")
    run(text, tmp_path)
    words = launched(tmp_path)[0]
    assert words[words.index("--token_file") + 1] == str(own)
    assert own.exists()
    assert "urandom" not in text


def test_a_token_in_the_environment_goes_nowhere(tools, tmp_path):
    (tools / "sbatch").write_text("#!/bin/bash\nenv > seen; cat >> seen; echo '17;east'\n")
    (tools / "sbatch").chmod(0o755)
    secret = "a-secret-of-the-user"
    text = script("--nodes", "2", "train.py", ARGOSY_TOKEN=secret)
    assert submit(text, {**os.environ, "ARGOSY_TOKEN": secret}) == "17"
    assert "#SBATCH --nodes=2" in (tmp_path / "seen").read_text()
    assert secret not in (tmp_path / "seen").read_text()


def test_variables_that_came_along_do_not_win_over_the_job(tools, tmp_path):
    (tools / "python").write_text("#!/bin/bash\nenv >> seen\n")
    run(
        script("--nodes", "2", "train.py"),
        tmp_path,
        PADDLE_RANK="7",
        PADDLE_NNODES="9",
        ARGOSY_TOKEN="x" * 16,
        KEPT="1",
    )
    seen = (tmp_path / "seen").read_text()
    assert "KEPT=1" in seen
    assert not {"PADDLE_RANK", "PADDLE_NNODES", "ARGOSY_TOKEN"} & {
        line.partition("=")[0] for line in seen.splitlines()
    }


def test_servers_and_workers_of_the_whole_job_are_spread_over_its_nodes(tools, tmp_path):
    """In turn: one server here, the first worker there, ..."""
    run(script("--nodes", "2", "--server_num", "1", "--worker_num", "3", "train.py"), tmp_path)
    found = [
        {flag: words[words.index(flag) + 1] for flag in ("--server_num", "--worker_num")}
        for words in launched(tmp_path)
    ]
    assert found == [
        {"--server_num": "1", "--worker_num": "1"},
        {"--server_num": "0", "--worker_num": "2"},
    ]


def test_without_a_number_every_process_of_every_node_is_a_worker():
    line = "--scheduler slurm --nodes 3 --nproc_per_node 2 --server_num 2 train.py"
    spec = parse(line.split(), {}, 0)
    assert spec.ps is not None
    assert (spec.ps.num_servers, spec.ps.num_workers) == (2, 6)


def test_the_exit_code_of_the_launchers_is_the_job_s(tools, tmp_path):
    done = run(script("--nodes", "2", "train.py"), tmp_path, CODE="9")
    assert done.returncode == 9
    assert not (tmp_path / "said").exists()


ASKED = 'trap "exit ${CODE:-0}" USR1; kill -USR1 "$PPID"; while :; do sleep 0.05; done'


AGAIN = "scontrol requeue 41\n"


@pytest.mark.parametrize(("code", "said"), [("75", AGAIN), ("138", AGAIN), ("9", "")])
def test_a_job_that_was_asked_to_save_comes_back_if_it_did(tools, tmp_path, code, said):
    """The shell of the job is asked, and asks the launchers; it waits until they have ended."""
    (tools / "srun").write_text(f"#!/bin/bash\n{ASKED}\n")
    done = run(script("--nodes", "2", "train.py"), tmp_path, CODE=code)
    assert done.returncode == int(code), done.stderr
    assert ((tmp_path / "said").read_text() if said else "") == said
    assert (tmp_path / "said").exists() == bool(said)


def test_a_job_that_nobody_asked_does_not_come_back(tools, tmp_path):
    """scancel ends launchers that save, too."""
    run(script("--nodes", "2", "train.py"), tmp_path, CODE="75")
    assert not (tmp_path / "said").exists()


def test_a_job_that_is_cancelled_while_it_saves_does_not_come_back(tools, tmp_path):
    (tools / "srun").write_text(
        "#!/bin/bash\ntrap 'kill -TERM \"$PPID\"; sleep 0.2; exit 75' USR1\n"
        'kill -USR1 "$PPID"; while :; do sleep 0.05; done\n'
    )
    assert run(script("--nodes", "2", "train.py"), tmp_path).returncode == 75
    assert not (tmp_path / "said").exists()


def test_nodes_without_a_process_are_refused():
    with pytest.raises(ConfigError, match="leave some of 4 nodes without a process"):
        script("--nodes", "4", "--server_num", "1", "--worker_num", "2", "train.py")


def test_a_request_that_comes_before_the_launchers_is_passed_on(tools, tmp_path):
    (tools / "scontrol").write_text(
        '#!/bin/bash\nif [ "$1" = show ]; then kill -USR1 "$BATCH"; sleep 0.1; fi\n'
    )
    (tools / "srun").write_text("#!/bin/bash\nwhile :; do sleep 0.05; done\n")
    text = script("--nodes", "2", "train.py").replace("unset", "export BATCH=$$; unset", 1)
    assert run(text, tmp_path).returncode == 138


def test_scancel_awaits_the_launchers(tools, tmp_path):
    (tools / "srun").write_text(
        '#!/bin/bash\nkill -TERM "$PPID"; sleep 0.2; touch ended; exit 143\n'
    )
    assert run(script("--nodes", "2", "train.py"), tmp_path).returncode == 143
    assert (tmp_path / "ended").exists()
    assert not list(tmp_path.glob(".argosy*"))


@pytest.mark.parametrize("word", WORDS)
def test_a_quoted_word_is_one_line_that_bash_reads_as_the_word(word):
    line = quoted(word)
    assert "\n" not in line
    assert "\r" not in line
    found = subprocess.run(
        ["bash", "-c", os.fsencode(f"printf %s {line}")], capture_output=True, check=True
    ).stdout
    assert os.fsdecode(found) == word


REFUSED = {
    "--scheduler pbs t.py": (NotSupported, "can be handed to slurm"),
    "--time 1:00 t.py": (ConfigError, "--time is for a scheduler"),
    "--dry_run t.py": (ConfigError, "--dry_run is for a scheduler"),
    "--scheduler slurm --rank 0 t.py": (ConfigError, "--rank tells of hosts"),
    "--scheduler slurm --ips 10.0.0.1,10.0.0.2 t.py": (ConfigError, "--ips tells of hosts"),
    "--scheduler slurm --servers 10.0.0.1:5 t.py": (ConfigError, "--servers tells of hosts"),
    "--scheduler slurm --sbatch n3 t.py": (ConfigError, "'n3' is none"),
    "--scheduler slurm --time '1\n#SBATCH --uid=0' t.py": (ConfigError, "must be one line"),
    '--scheduler slurm --sbatch "\'x" t.py': (ConfigError, "cannot be read"),
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_call_that_cannot_be_meant_is_refused(line):
    kind, said = REFUSED[line]
    with pytest.raises(kind, match=said):
        parse(shlex.split(line), {}, 0)


def test_a_host_without_sbatch_is_told_of_the_dry_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--scheduler", "slurm", "--nodes", "2", "train.py"]) == 2
    assert "--dry_run prints the script" in capsys.readouterr().err


def test_a_dry_run_prints_the_script(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    assert main(["--scheduler", "slurm", "--nodes", "2", "--dry_run", "train.py"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("#!/bin/bash\n#SBATCH --job-name=train\n")
    assert out.endswith('exit "$code"\n')
