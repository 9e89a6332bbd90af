import hashlib
import json

import pytest

from argosy.foundation import manifest
from argosy.foundation.errors import CheckpointError
from argosy.foundation.manifest import Layout

LAYOUT = Layout("argosy test", {"step": int}, {"table": str})


@pytest.fixture
def folder(tmp_path):
    """A checkpoint of two files."""
    (tmp_path / "sub").mkdir()
    facts = []
    for name in ("a", "sub/b"):
        (tmp_path / name).write_bytes(name.encode() * 3)
        facts.append({"table": f"table {name}", **manifest.fact_of(tmp_path / name, name)})
    manifest.write(tmp_path, LAYOUT, {"step": 7}, facts)
    return tmp_path


def sealed(content):
    """The text of a manifest that says ``content``, by whoever knows how a seal is made."""

    def text(value):
        return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()

    plain = {name: value for name, value in content.items() if name != "seal"}
    return text({**plain, "seal": hashlib.sha256(text(plain)).hexdigest()})


def test_what_was_written_is_read(folder):
    found = manifest.read(folder, LAYOUT)
    assert found.fields == {"step": 7}
    assert [(f["file"], f["table"], f["bytes"]) for f in found.files] == [
        ("a", "table a", 3),
        ("sub/b", "table sub/b", 15),
    ]
    assert [manifest.verified(folder, fact) for fact in found.files] == [
        folder / "a",
        folder / "sub" / "b",
    ]
    path = folder / manifest.NAME
    assert path.read_bytes() == sealed(json.loads(path.read_bytes()))
    assert sorted(entry.name for entry in folder.iterdir()) == ["a", manifest.NAME, "sub"]


@pytest.mark.attack("one byte of a manifest is hit")
def test_every_byte_counts(folder):
    path = folder / manifest.NAME
    data = path.read_bytes()
    for place in range(len(data)):
        for mask in (0x01, 0x03, 0x20, 0x80):
            path.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
            with pytest.raises(CheckpointError, match=r"manifest\.json"):
                manifest.read(folder, LAYOUT)
    path.write_bytes(data)
    manifest.read(folder, LAYOUT)


@pytest.mark.attack("a manifest is cut short, or a byte of it is lost or doubled")
def test_every_length_counts(folder):
    path = folder / manifest.NAME
    data = path.read_bytes()
    for place in range(len(data)):
        for changed in (
            data[:place],
            data[:place] + data[place + 1 :],
            data[: place + 1] + data[place:],
        ):
            path.write_bytes(changed)
            with pytest.raises(CheckpointError, match=r"manifest\.json"):
                manifest.read(folder, LAYOUT)


def entry(**changes):
    return {"table": "t", "file": "a", "bytes": 3, "sha256": "0" * 64, **changes}


def content(**changes):
    files = changes.get("files", [entry()])
    return {"format": LAYOUT.format, "step": 7, "num_files": len(files), "files": files, **changes}


HOSTILE = {
    "out of the folder": content(files=[entry(file="../../x")]),
    "absolute": content(files=[entry(file="/etc/passwd")]),
    "a name that is none": content(files=[entry(file=None)]),
    "a negative size": content(files=[entry(bytes=-1)]),
    "a size that is true": content(files=[entry(bytes=True)]),
    "a size beyond all": content(files=[entry(bytes=1 << 70)]),
    "a digest that is none": content(files=[entry(sha256="x" * 64)]),
    "an entry of another kind": content(files=["a"]),
    "an entry with more": content(files=[entry(more=1)]),
    "an entry with less": content(files=[{"file": "a"}]),
    "a file twice": content(files=[entry(), entry()]),
    "a file left out": content(num_files=2),
    "no list": content(files={"a": 1}, num_files=1),
    "no step": {k: v for k, v in content().items() if k != "step"},
    "a step of another kind": content(step="7"),
    "something more": content(more=1),
}


@pytest.mark.attack("a manifest with a right seal and wrong contents")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_seal_alone_is_not_enough(tmp_path, name):
    (tmp_path / manifest.NAME).write_bytes(sealed(HOSTILE[name]))
    with pytest.raises(CheckpointError, match=r"manifest\.json"):
        manifest.read(tmp_path, LAYOUT)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "damaged"),
        (b"[" * 100_000, "damaged"),
        (b'{"a":' * 100_000, "damaged"),
        (b"[1]", "holds no object"),
        (b'{"format": 1}', "format 1, not 'argosy test 2'"),
        (b'{"format": "argosy test 3"}', "format 'argosy test 3'"),
        (b'{"format": "argosy test 2", "step": NaN}', "seal"),
        (b"\xff\xfe", "damaged"),
        (b"9" * 10_000, "damaged"),
    ],
)
@pytest.mark.attack("a manifest that is nonsense")
def test_nonsense_is_named(tmp_path, data, words):
    (tmp_path / manifest.NAME).write_bytes(data)
    with pytest.raises(CheckpointError, match=words):
        manifest.read(tmp_path, LAYOUT)


def test_a_folder_without_one_is_no_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match="has no manifest"):
        manifest.read(tmp_path, LAYOUT)
    (tmp_path / manifest.NAME).mkdir()
    with pytest.raises(CheckpointError, match=r"manifest\.json"):
        manifest.read(tmp_path, LAYOUT)


def test_one_from_before_seals_is_read_with_a_warning(folder, caplog):
    path = folder / manifest.NAME
    old = json.loads(path.read_text())
    old = {"format": "argosy test 1", "step": 7, "files": old["files"]}
    path.write_text(json.dumps(old))
    assert manifest.read(folder, LAYOUT).fields == {"step": 7}
    assert "has no seal" in caplog.text
    with pytest.raises(CheckpointError, match="format 'argosy test 1'"):
        manifest.read(
            folder, Layout("argosy test", {"step": int}, {"table": str}, is_read_unsealed=False)
        )


def test_a_sealed_one_does_not_pass_for_an_old_one(folder):
    path = folder / manifest.NAME
    path.write_text(path.read_text().replace("argosy test 2", "argosy test 1"))
    with pytest.raises(CheckpointError, match="has no seal"):
        manifest.read(folder, LAYOUT)


def test_what_could_not_be_read_is_not_written(tmp_path):
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        manifest.write(tmp_path, LAYOUT, {"step": 1}, [entry(file="../x")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "a folder"])
def test_files_are_compared(folder, damage):
    fact = manifest.read(folder, LAYOUT).files[0]
    path = folder / "a"
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes(b"aa" if damage == "cut" else b"aab")
    with pytest.raises(CheckpointError, match="missing, cut short or damaged"):
        manifest.verified(folder, fact)
