"""``tests/usage.py``, which counts the names that public files use."""

from pathlib import Path

import pytest
from tests import usage


def test_names_are_followed_through_imports():
    names = usage.names_of(
        "import paddle\nimport paddle.nn.functional as F\nfrom paddle import fluid as f\n"
        "F.relu(paddle.ones([1]).sum())\nf.layers.fc.name\n"
    )
    assert names == {
        "paddle",
        "paddle.nn.functional",
        "paddle.fluid",
        "paddle.nn.functional.relu",
        "paddle.ones",
        "paddle.fluid.layers.fc.name",
    }


def test_an_import_that_the_file_guards_does_not_count():
    source = "try:\n    from paddle import nowhere\nexcept ImportError:\n    nowhere = None\n"
    assert usage.names_of(source) == set()


def test_a_name_that_is_bound_again_is_not_followed():
    assert usage.names_of("from paddle import nn\ndef f(nn):\n    nn.nowhere\n") == {
        "paddle",
        "paddle.nn",
    }


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("paddle.nn.Linear.forward", True),
        ("paddle.io.dataloader", True),
        ("paddle.nn.Nil", False),
        ("paddle.distributed.communication.reduce.ReduceOp", True),
    ],
)
def test_a_name_is_found_as_a_script_would(name, is_found):
    assert usage.found(name)[0] is is_found


def test_files_and_names_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "good.py").write_text("import paddle\npaddle.ones\n")
    (tmp_path / "bad.py").write_text("import paddle\npaddle.nowhere.deep\n")
    (tmp_path / "old.py").write_text("print 'python 2'\n")
    usage.report_files([tmp_path], least=1)
    out = capsys.readouterr().out
    assert "1 of     2 files  50.0 %" in out
    assert out.endswith("     1 paddle.nowhere\n")
    table = tmp_path / "usage.tsv"
    table.write_text("name\tfiles\npaddle.ones\t3\npaddle.nowhere\t2\n")
    usage.report_names(table)
    assert capsys.readouterr().out.endswith("1 of 2 names, 3 of 5 uses\n")
