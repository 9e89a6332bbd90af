"""File systems: the local one, and HDFS through a stand-in for the hadoop command."""

from __future__ import annotations

import stat
import textwrap
import time

import pytest

from paddle.distributed.fleet.utils import HDFSClient, LocalFS, fs


def test_a_file_system_of_ones_own_defines_what_it_needs():
    class Listing(fs.FS):
        def ls_dir(self, fs_path):
            return ["a"], ["b"]

    assert Listing().list_dirs("/") == ["a"]
    for method, args in [("is_file", 1), ("mv", 4), ("touch", 2), ("need_upload_download", 0)]:
        with pytest.raises(NotImplementedError, match=f"Listing does not define {method}"):
            getattr(Listing(), method)(*["x"] * args)


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
    assert (
        local.is_dir(folder),
        local.is_file(file),
        local.is_exist(file),
        local.need_upload_download(),
    ) == (
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
              -ls) for name in "$2"/*; do kind=-
               [ -d "$name" ] && kind=d; echo "${kind}rw 1 me us 0 2020-01-01 00:00 $name"
               done ;;
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
    assert (client.is_dir(there), client.is_file(there), client.is_file(f"{there}/file")) == (
        True,
        False,
        True,
    )
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


def fake_hadoop(folder, text):
    command = folder / "fake" / "bin" / "hadoop"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/bash\n{text}\n")
    command.chmod(0o700)
    return str(folder / "fake")


@pytest.mark.attack("a hadoop that hangs")
@pytest.mark.parametrize("call", ["is_exist", "mkdirs", "ls_dir", "upload"])
def test_a_hadoop_that_hangs_is_ended_in_time(tmp_path, call, record_property):
    """Also one that has done part of its work: -test answers, and the copy hangs."""
    hangs = '[ "$2" = -test ] && [ "$3" = -e ] || [ "$2" = -mkdir ] || sleep 1000'
    home = fake_hadoop(
        tmp_path, hangs if call in ("ls_dir", "upload") else "echo trying >&2; sleep 1000"
    )
    arguments = [str(tmp_path / "fake"), "/x"] if call == "upload" else ["/x"]
    start = time.monotonic()
    with pytest.raises(fs.FSTimeOut, match=r"hadoop fs -\w+ .* so it was ended"):
        getattr(HDFSClient(home, {}, time_out=500, sleep_inter=10), call)(*arguments)
    record_property("named_s", time.monotonic() - start)
    assert time.monotonic() - start < 20


@pytest.mark.attack("a hadoop whose child keeps the pipe open")
def test_a_child_of_hadoop_holds_nobody_up(tmp_path):
    home = fake_hadoop(tmp_path, "sleep 1000 & echo 'drw 1 me us 0 2020-01-01 00:00 /x/sub'")
    start = time.monotonic()
    assert HDFSClient(home, {}, time_out=60_000).ls_dir("/x") == (["sub"], [])
    assert time.monotonic() - start < 20


@pytest.mark.attack("a hadoop that floods its standard error")
def test_a_hadoop_that_floods_is_told_in_part(tmp_path):
    home = fake_hadoop(
        tmp_path, "head -c 9000000 /dev/zero | tr '\\0' e >&2; echo the reason >&2; exit 2"
    )
    with pytest.raises(fs.FSTimeOut) as caught:
        HDFSClient(home, {}, time_out=0).mkdirs("/x")
    message = str(caught.value)
    assert len(message) < 1000
    assert "exit code 2" in message
    assert message.endswith("ethe reason")


@pytest.mark.attack("a hadoop that dies in the middle")
@pytest.mark.parametrize("death", ["kill -9 $$", "exit 134"])
def test_a_hadoop_that_dies_in_the_middle(tmp_path, death):
    home = fake_hadoop(tmp_path, f'[ "$2" = -test ] && exec test "$3" = -e; echo half; {death}')
    with pytest.raises(fs.FSShellCmdAborted, match=r"hadoop fs -cat /x: ended by signal (9|6)"):
        HDFSClient(home, {}).cat("/x")


def test_a_failing_hadoop_is_tried_again(tmp_path):
    home = fake_hadoop(tmp_path, f"echo . >> {tmp_path}/tries; [ $(wc -l < {tmp_path}/tries) = 3 ]")
    HDFSClient(home, {}, time_out=60_000, sleep_inter=1).mkdirs("/x")
    assert (tmp_path / "tries").read_text() == ".\n" * 3
