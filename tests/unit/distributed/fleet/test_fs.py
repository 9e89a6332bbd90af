"""File systems: the local one, and HDFS through a stand-in for the hadoop command."""

from __future__ import annotations

import stat
import textwrap

import pytest
from paddle.distributed.fleet.utils import HDFSClient, LocalFS, fs


def test_local(tmp_path):
    local, folder, file = LocalFS(), str(tmp_path / "a" / "b"), str(tmp_path / "a" / "file")
    local.mkdirs(folder)
    local.touch(file)
    local.touch(file)
    with pytest.raises(fs.FSFileExistsError, match="touch"):
        local.touch(file, exist_ok=False)
    assert local.ls_dir(str(tmp_path / "a")) == (["b"], ["file"])
    assert local.list_dirs(str(tmp_path / "a")) == ["b"]
    assert local.ls_dir(str(tmp_path / "none")) == ([], [])
    assert (local.is_dir(folder), local.is_file(file), local.is_exist(file), local.need_upload_download()) == (
        True,
        True,
        True,
        False,
    )
    with pytest.raises(AssertionError, match="already a file"):
        local.mkdirs(file)
    local.mv(file, file + "2")
    local.touch(file)
    with pytest.raises(fs.FSFileExistsError):
        local.mv(file, file + "2")
    local.mv(file, file + "2", overwrite=True)
    with pytest.raises(fs.FSFileNotExistsError):
        local.mv(file, folder)
    (tmp_path / "text").write_text("words\n")
    assert local.cat(str(tmp_path / "text")) == "words"
    local.upload(str(tmp_path / "a"), str(tmp_path / "c"))
    assert local.is_file(str(tmp_path / "c" / "file2"))
    local.delete(str(tmp_path / "a"))
    local.delete(str(tmp_path / "a"))
    assert not local.is_exist(folder)


@pytest.fixture
def hadoop(tmp_path):
    """A Hadoop home whose ``hadoop fs`` works on local files."""
    command = tmp_path / "home" / "bin" / "hadoop"
    command.parent.mkdir(parents=True)
    command.write_text(
        textwrap.dedent(
            """\
            #!/bin/sh
            [ "$1" = fs ] || exit 9
            shift
            [ "$1" = -Dkey=value ] || exit 8
            shift
            case "$1" in
              -test) test "$2" "$3" ;;
              -ls) for name in "$2"/*; do kind=-; [ -d "$name" ] && kind=d; echo "${kind}rw 1 me us 0 2020-01-01 00:00 $name"; done ;;
              -mkdir) mkdir -p "$3" ;;
              -rm) rm -r -f "$4" ;;
              -mv) mv "$2" "$3" ;;
              -touchz) : > "$2" ;;
              -cat) cat "$2" ;;
              -put) cp -r "$2" "$3" ;;
              -get) cp -r "$2" "$3" ;;
              *) exit 7 ;;
            esac
            """
        )
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return str(tmp_path / "home")


def test_hdfs(hadoop, tmp_path):
    client = HDFSClient(hadoop, {"key": "value"}, time_out=0)
    there, here = str(tmp_path / "there"), tmp_path / "here"
    client.mkdirs(f"{there}/sub dir")
    client.touch(f"{there}/file")
    with pytest.raises(fs.FSFileExistsError):
        client.touch(f"{there}/file", exist_ok=False)
    assert client.ls_dir(there) == (["sub dir"], ["file"])
    assert client.ls_dir(f"{there}/none") == ([], [])
    assert (client.is_dir(there), client.is_file(there), client.is_file(f"{there}/file")) == (True, False, True)
    here.mkdir()
    (here / "a").write_text("words\n")
    (here / "b").write_text("more\n")
    client.upload(str(here), f"{there}/copy")
    assert client.cat(f"{there}/copy/a") == "words"
    client.upload_dir(str(here), there)
    assert client.ls_dir(f"{there}/here") == ([], ["a", "b"])
    client.mv(f"{there}/file", f"{there}/moved")
    with pytest.raises(fs.FSFileNotExistsError):
        client.mv(f"{there}/file", f"{there}/again")
    client.download(f"{there}/copy", str(tmp_path / "back"))
    assert (tmp_path / "back" / "b").read_text() == "more\n"
    client.delete(there)
    assert not client.is_exist(there)
    assert client.need_upload_download()
    with pytest.raises(fs.FSTimeOut, match=r"hadoop fs -ls|hadoop fs -mv .*exit code 1"):
        client.mv(f"{there}/x", f"{there}/y", test_exists=False)


def test_hadoop_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"there is no .*/bin/hadoop; hadoop_home must be"):
        HDFSClient(str(tmp_path), {}).ls_dir("/")
