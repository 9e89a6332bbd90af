"""Data sets out of files in the cache folder."""

from __future__ import annotations

import io
import tarfile
import zipfile

import numpy as np
import pytest

import paddle
from argosy.utils import _dataset_file


def _archive(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))


def test_imdb_out_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    folder = tmp_path / "dataset" / "imdb"
    folder.mkdir(parents=True)
    path = folder / "imdb%2FaclImdb_v1.tar.gz"
    _archive(
        path,
        {
            "aclImdb/train/pos/0.txt": "Good, good film.\n",
            "aclImdb/train/neg/0.txt": "bad film",
            "aclImdb/test/pos/0.txt": "good",
        },
    )
    with pytest.raises(RuntimeError, match="MD5"):
        paddle.text.Imdb()
    monkeypatch.setattr(_dataset_file, "md5file", lambda path: paddle.text.Imdb.SOURCE.md5)
    data = paddle.text.Imdb(cutoff=1)
    assert data.word_idx == {b"good": 0, b"film": 1, "<unk>": 2}
    assert [(doc.tolist(), label.tolist()) for doc, label in data] == [
        ([0, 0, 1], [0]),
        ([2, 1], [1]),
    ]
    with pytest.raises(AssertionError, match="mode"):
        paddle.text.Imdb(mode="dev")


def test_imikolov(tmp_path):
    path = tmp_path / "ptb.tgz"
    lines = {"train": "a b c\na b\n", "valid": "a\n", "test": "b a\n"}
    _archive(path, {f"./simple-examples/data/ptb.{k}.txt": v for k, v in lines.items()})
    grams = paddle.text.Imikolov(str(path), "NGRAM", 2, min_word_freq=1)
    numbers = grams.word_idx
    assert set(numbers) == {b"a", b"b", "<s>", "<e>", "<unk>"}
    assert grams.data[0] == (numbers["<s>"], numbers[b"a"])
    assert len(grams) == 7
    (src, trg), *_ = paddle.text.Imikolov(str(path), "SEQ", mode="test", min_word_freq=1)
    assert src[1:].tolist() == trg[:-1].tolist() == [numbers[b"b"], numbers[b"a"]]
    with pytest.raises(AssertionError, match="gram"):
        paddle.text.Imikolov(str(path))


def test_movielens(tmp_path):
    path = tmp_path / "ml.zip"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("ml-1m/movies.dat", "1::Toy Story (1995)::Animation|Comedy\n")
        package.writestr("ml-1m/users.dat", "1::F::18::10::48067\n")
        package.writestr("ml-1m/ratings.dat", "1::1::5::978300760\n" * 20)
    parts = [paddle.text.Movielens(str(path), mode=mode) for mode in ("train", "test")]
    assert sum(map(len, parts)) == 20
    assert [array.tolist() for array in parts[0][0]] == [
        [1],
        [1],
        [1],
        [10],
        [1],
        [0, 1],
        [0, 1],
        [5.0],
    ]


def test_uci_housing(tmp_path):
    path = tmp_path / "housing.data"
    np.savetxt(path, np.arange(140.0).reshape(10, 14))
    train = paddle.text.UCIHousing(str(path))
    assert len(train) == 8
    facts, price = train[0]
    assert facts.dtype == np.float32
    np.testing.assert_allclose(facts, -0.5, rtol=1e-6)
    assert price.tolist() == [13.0]
