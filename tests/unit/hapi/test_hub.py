"""Models that a folder's hubconf.py names."""

from __future__ import annotations

import sys

import pytest

import paddle

ENTRIES = '''
dependencies = ["paddle"]
from beside import WIDTH
import paddle as _paddle

def net(out=2):
    """A small network."""
    return _paddle.nn.Linear(WIDTH, out)

hidden = 3
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(ENTRIES)
    (tmp_path / "beside.py").write_text("WIDTH = 4\n")
    before = list(sys.path)
    yield str(tmp_path)
    sys.modules.pop("beside", None)
    assert sys.path == before


def test_entries_of_a_folder_are_listed_explained_and_called(folder):
    assert paddle.hub.list(folder, source="local") == ["net"]
    assert paddle.hub.help(folder, "net", source="local") == "A small network."
    assert paddle.hub.load(folder, "net", source="local", out=3).weight.shape == [4, 3]
    assert paddle.hub is paddle.hapi.hub


def test_nothing_is_fetched():
    for source in ("github", "gitee"):
        with pytest.raises(NotImplementedError, match="source='local'"):
            paddle.hub.load("owner/name", "net", source=source)
    with pytest.raises(ValueError, match="Unknown source"):
        paddle.hub.list("owner/name", source="ftp")


def test_what_is_wrong_with_a_folder_is_told(folder, tmp_path):
    with pytest.raises(RuntimeError, match=r"no hubconf\.py"):
        paddle.hub.list(str(tmp_path / "none"), source="local")
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        paddle.hub.load(folder, "other", source="local")
    with pytest.raises(ValueError, match="str of function name"):
        paddle.hub.help(folder, 3, source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['not_installed_anywhere']")
    with pytest.raises(RuntimeError, match="not_installed_anywhere"):
        paddle.hub.load(folder, "net", source="local")


def test_weights_come_from_a_folder(tmp_path):
    paddle.save({"w": paddle.ones([2])}, str(tmp_path / "net.pdparams"))
    url = "https://example.org/weights/net.pdparams"
    found = paddle.hub.load_state_dict_from_url(url, model_dir=str(tmp_path), map_location="np")
    assert found["w"].tolist() == [1.0, 1.0]
    assert paddle.hub.load_state_dict_from_url(url, str(tmp_path))["w"].tolist() == [1.0, 1.0]
