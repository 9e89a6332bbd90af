"""What is in the built files, and that they work where nothing else is installed."""

from __future__ import annotations

import email
import tarfile
import zipfile

import pytest

from argosy._release import VERSION
from support.venvs import ROOT

pytestmark = pytest.mark.timeout(1800)  # installs torch

# two processes that average gradients, with a check that they agree
SMOKE = """
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
paddle.seed(dist.get_rank())
model = paddle.DataParallel(paddle.nn.Linear(4, 1))
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for step in range(3):
    model(paddle.full([2, 4], float(dist.get_rank() + step))).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
weights = []
dist.all_gather(weights, model.parameters()[0])
assert len(weights) == 2 and bool((weights[0] == weights[1]).all())
print("trained", paddle.__name__)
"""


def metadata(built, distribution):
    with zipfile.ZipFile(next(built.glob(f"{distribution}-{VERSION}-*.whl"))) as wheel:
        text = wheel.read(f"{distribution}-{VERSION}.dist-info/METADATA").decode()
    return email.message_from_string(text)


def names(built, distribution):
    with zipfile.ZipFile(next(built.glob(f"{distribution}-{VERSION}-*.whl"))) as wheel:
        return wheel.namelist()


def test_argosy_has_no_package_paddle_of_its_own(built):
    tops = {name.split("/")[0] for name in names(built, "argosy")}
    assert tops == {"argosy", "argosy_torch", f"argosy-{VERSION}.dist-info"}
    assert {"argosy/py.typed", "argosy/paths.txt"} <= set(names(built, "argosy"))


def test_argosy_paddle_is_a_module_and_a_pth_file(built):
    files = {name for name in names(built, "argosy_paddle") if ".dist-info/" not in name}
    assert files == {"argosy_paddle.py", "argosy_paddle.pth"}


def test_the_two_go_in_lockstep(built):
    assert metadata(built, "argosy")["Version"] == VERSION
    alias = metadata(built, "argosy_paddle")
    assert alias["Version"] == VERSION
    assert alias.get_all("Requires-Dist") == [f"argosy=={VERSION}"]


def test_extras_and_versions_are_those_that_the_documents_name(built):
    told = metadata(built, "argosy")
    assert {"paddle", "ray", "tensorboard", "all", "dev"} <= set(told.get_all("Provides-Extra"))
    assert told["Requires-Python"] == "<3.14,>=3.11"
    assert "torch<2.16,>=2.13" in told.get_all("Requires-Dist")


def test_the_source_distributions_hold_what_they_need_and_no_more(built):
    for distribution in ("argosy", "argosy_paddle"):
        with tarfile.open(built / f"{distribution}-{VERSION}.tar.gz") as archive:
            inside = {name.partition("/")[2] for name in archive.getnames()}
        assert {"LICENSE", "README.md", "pyproject.toml"} <= inside
        assert not [name for name in inside if name.startswith(("tests", "docs", "src/paddle"))]


def test_wheels_and_source_distributions_train_in_a_bare_environment(venv, script):
    path = script(SMOKE)
    run = ("fleetrun", "--nproc_per_node", "2", "--log_dir", path + ".log", path)
    wheel = next(venv.built.glob(f"argosy-{VERSION}-*.whl"))
    venv.install(f"{wheel}[paddle]", with_needs=True)
    assert venv.run("argosy", "--version") == f"argosy {VERSION}"
    assert "trained argosy" in venv.run(*run)
    venv.remove("argosy", "argosy-paddle")
    venv.install(f"argosy-{VERSION}.tar.gz", f"argosy_paddle-{VERSION}.tar.gz")
    assert "trained argosy" in venv.run(*run)
    assert venv.damage() == []


def test_licences_are_the_same():
    assert (ROOT / "packages/argosy-paddle/LICENSE").read_text() == (ROOT / "LICENSE").read_text()
