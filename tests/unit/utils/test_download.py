"""Files by their address."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

import paddle.utils.download as download
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


def test_weights_are_looked_for_where_the_script_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert download.WEIGHTS_HOME.endswith("hapi/weights")
    monkeypatch.setitem(vars(download), "WEIGHTS_HOME", str(tmp_path))
    (tmp_path / "weights.pdparams").write_bytes(b"1")
    assert download.get_weights_path_from_url(URL) == str(tmp_path / "weights.pdparams")


def test_what_is_no_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="not an address"):
        download.get_path_from_url("models/weights.pdparams", str(tmp_path))


def test_one_endpoint_of_each_host_is_unique() -> None:
    endpoints = ["10.0.0.2:6170", "10.0.0.1:6171", "10.0.0.1:6170"]
    assert download._get_unique_endpoints(endpoints) == {"10.0.0.1:6170", "10.0.0.2:6170"}
    assert endpoints == sorted(endpoints)


def test_the_checksum_of_a_file_is_compared(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    assert download._md5check(str(file))
    assert download._md5check(str(file), "c4ca4238a0b923820dcc509a6f75849b")
    assert not download._md5check(str(file), "0" * 32)
    assert download._map_path("http://x/y/a", str(tmp_path)) == str(file)
    with pytest.raises(TypeError, match="no archive"):
        download._decompress(str(file))


def _tar(path: Path, name: str, kind: bytes = tarfile.REGTYPE) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, "/etc/passwd", 1
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("good"), io.BytesIO(b""))
        archive.addfile(member, io.BytesIO(b"1"))


def _zip(path: Path, name: str, mode: int = stat.S_IFREG) -> None:
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("good", "")
        archive.writestr(member, "/etc/passwd")


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(lambda path: _tar(path, "../evil"), id="tar, above"),
        pytest.param(lambda path: _tar(path, "a/../../evil"), id="tar, above by a detour"),
        pytest.param(lambda path: _tar(path, "/evil"), id="tar, absolute"),
        pytest.param(lambda path: _tar(path, "evil", tarfile.SYMTYPE), id="tar, symbolic link"),
        pytest.param(lambda path: _tar(path, "evil", tarfile.LNKTYPE), id="tar, hard link"),
        pytest.param(lambda path: _tar(path, "evil", tarfile.FIFOTYPE), id="tar, device"),
        pytest.param(lambda path: _zip(path, "../evil"), id="zip, above"),
        pytest.param(lambda path: _zip(path, "/evil"), id="zip, absolute"),
        pytest.param(lambda path: _zip(path, "C:\\evil"), id="zip, another drive"),
        pytest.param(lambda path: _zip(path, "evil", stat.S_IFLNK), id="zip, symbolic link"),
    ],
)
def test_an_archive_that_reaches_out_is_refused_whole(pack, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    pack(inside / "archive")
    with pytest.raises(ValueError, match="is refused"):
        download._decompress(str(inside / "archive"))
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "archive"]
