"""Files by their address."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import paddle.utils.download as download
import pytest

from argosy.utils import _dataset_file

URL = "https://example.com/models/weights.pdparams"


def test_a_file_in_the_folder_is_found(tmp_path: Path) -> None:
    file = tmp_path / "weights.pdparams"
    with pytest.raises(RuntimeError, match="Fetch it from https"):
        download.get_path_from_url(URL, str(tmp_path))
    file.write_bytes(b"1")
    assert download.get_path_from_url(URL, str(tmp_path)) == str(file)
    with pytest.raises(RuntimeError, match="MD5"):
        download.get_path_from_url(URL, str(tmp_path), md5sum="0" * 32)
    good = _dataset_file.md5file(str(file))
    assert download.get_path_from_url(URL, str(tmp_path), md5sum=good) == str(file)


def test_weights_lie_below_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    folder = tmp_path / "hapi" / "weights"
    folder.mkdir(parents=True)
    (folder / "weights.pdparams").write_bytes(b"1")
    assert download.get_weights_path_from_url(URL) == str(folder / "weights.pdparams")


def test_archives_are_unpacked_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with tarfile.open(tmp_path / "one.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.txt", "inside/a.txt")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as zipped:
        zipped.writestr("b.txt", "b")
        zipped.writestr("c.txt", "c")
    one = download.get_path_from_url("http://x/one.tar.gz", str(tmp_path))
    assert Path(one, "a.txt").read_text() == "a"
    assert one == str(tmp_path / "inside")
    for _ in range(2):
        two = download.get_path_from_url("http://x/two.zip", str(tmp_path))
        assert sorted(p.name for p in Path(two).iterdir()) == ["b.txt", "c.txt"]
    assert download.is_url(URL)
    assert not download.is_url(one)
