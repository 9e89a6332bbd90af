"""Datasets of text over small files of the real formats."""

from __future__ import annotations

import gzip
import io
import tarfile
import threading
import zipfile

import numpy as np
import pytest

from argosy import dataset
from argosy.dataset import common


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    return tmp_path / "dataset"


@pytest.fixture
def put(home, monkeypatch):
    """Writes a file where a module looks for it, and lets its checksum be the right one."""

    def write(folder, name, content, module, md5="MD5"):
        path = home / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        monkeypatch.setattr(module, md5, common.md5file(str(path)))

    return write


def tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            content = text if isinstance(text, bytes) else text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def packed(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text.encode("latin"))
    return buffer.getvalue()


def test_imikolov(put):
    folder = "./simple-examples/data/ptb."
    archive = tar({f"{folder}train.txt": "a b a\nb c\n", f"{folder}valid.txt": "a c\n"})
    put("imikolov", "imikolov%2Fsimple-examples.tgz", archive, dataset.imikolov)
    words = dataset.imikolov.build_dict(1)
    assert words == {"<e>": 0, "<s>": 1, b"a": 2, b"b": 3, b"c": 4, "<unk>": 5}
    assert list(dataset.imikolov.test(words, 3)()) == [(1, 2, 4), (2, 4, 0)]
    kind = dataset.imikolov.DataType.SEQ
    assert list(dataset.imikolov.train(words, 3, kind)()) == [([1, 3, 4], [3, 4, 0])]
    with pytest.raises(AssertionError, match="Unknow data type"):
        next(dataset.imikolov.train(words, 3, 7)())


def test_movielens(put):
    archive = packed(
        {
            "ml-1m/movies.dat": "1::Toy Story (1995)::Animation|Comedy\n3::Heat (1995)::Action\n",
            "ml-1m/users.dat": "2::M::25::7::00000\n5::F::56::1::00000\n",
            "ml-1m/ratings.dat": "2::3::4::0\n5::1::1::0\n2::1::5::0\n5::3::3::0\n",
        }
    )
    put("movielens", "movielens%2Fml-1m.zip", archive, dataset.movielens)
    assert (dataset.movielens.max_movie_id(), dataset.movielens.max_user_id()) == (3, 5)
    assert dataset.movielens.max_job_id() == 7
    assert dataset.movielens.movie_categories() == {"Animation": 0, "Comedy": 1, "Action": 2}
    assert dataset.movielens.get_movie_title_dict() == {"toy": 0, "story": 1, "heat": 2}
    assert repr(dataset.movielens.user_info()[5]) == "<UserInfo id(5), gender(F), age(56), job(1)>"
    draws = np.random.RandomState(0).random_sample(4) < 0.5
    train, test = (list(f(test_ratio=0.5)()) for f in (dataset.movielens.train,
                                                        dataset.movielens.test))  # fmt: skip
    assert (len(train), len(test)) == (4 - draws.sum(), draws.sum())
    assert [5, 1, 6, 1, 1, [0, 1], [0, 1], [-3.0]] in train + test


def test_conll05(put):
    module = dataset.conll05
    words, props = "A\ncat\nsees\nus\n\n", "-\t(A0*\n-\t*)\nsee\t(V*)\n-\t(A1*)\n\n"
    place = "conll05st-release/test.wsj"
    archive = tar(
        {
            f"{place}/words/test.wsj.words.gz": gzip.compress(words.encode()),
            f"{place}/props/test.wsj.props.gz": gzip.compress(props.encode()),
        }
    )
    put("conll05st", "conll05st-tests.tar.gz", archive, module, "DATA_MD5")
    texts = {
        "wordDict.txt": ("<unk>\nbos\neos\nA\ncat\nsees\nus\n", "WORDDICT_MD5"),
        "verbDict.txt": ("see\n", "VERBDICT_MD5"),
        "targetDict.txt": ("B-A0\nI-A0\nB-A1\nI-A1\nB-V\nI-V\nO\n", "TRGDICT_MD5"),
        "emb": ("", "EMB_MD5"),
    }
    for name, (text, md5) in texts.items():
        put("conll05st", f"conll05st%2F{name}", text.encode(), module, md5)
    [sample] = module.test()()
    assert sample[0] == [3, 4, 5, 6]
    assert [column[0] for column in sample[1:6]] == [3, 4, 5, 6, 2]  # two before, it, two behind
    assert sample[6:] == ([0] * 4, [1, 1, 1, 1], [0, 1, 4, 2])
    assert module.get_embedding().endswith("emb")


def test_wmt14(put):
    marks = "<s>\n<e>\n<unk>\n"
    archive = tar(
        {
            "wmt14/train/train": "the cat\tle chat\n",
            "wmt14/src.dict": f"{marks}the\ncat\n",
            "wmt14/trg.dict": f"{marks}le\nchat\n",
        }
    )
    put("wmt14", "wmt14.tgz", archive, dataset.wmt14, "MD5_TRAIN")
    assert list(dataset.wmt14.train(4)()) == [([0, 3, 2, 1], [0, 3, 2], [3, 2, 1])]
    source, target = dataset.wmt14.get_dict(5)
    assert (source[4], target[4]) == ("cat", "chat")


def test_wmt16_keeps_its_dictionary(put, home):
    lines = "the cat\tdie Katze\nthe dog\tder Hund\nno tab\n"
    archive = tar({"wmt16/train": lines, "wmt16/test": "a cat\tdie Katze\n"})
    put("wmt16", "wmt16.tar.gz", archive, dataset.wmt16, "DATA_MD5")
    with pytest.raises(AssertionError, match="Word dictionary does not exist"):
        dataset.wmt16.get_dict("en", 5)
    assert list(dataset.wmt16.test(5, 5)()) == [([0, 2, 4, 1], [0, 3, 4], [3, 4, 1])]
    assert dataset.wmt16.get_dict("en", 5) == {"<s>": 0, "<e>": 1, "<unk>": 2, "the": 3, "cat": 4}
    assert (home / "wmt16" / "de_5.dict").read_text() == "<s>\n<e>\n<unk>\ndie\nKatze\n"
    with pytest.raises(ValueError, match="An error language type"):
        dataset.wmt16.train(5, 5, "fr")


def test_sentiment(put):
    files = {f"movie_reviews/{k}/cv{i}.txt": f"a {k} film ." for k in ("pos", "neg") for i in "01"}
    put("corpora", "movie_reviews.zip", packed(files), dataset.sentiment)
    assert dataset.sentiment.get_word_dict()[:3] == [("a", 0), ("film", 1), (".", 2)]
    assert list(dataset.sentiment.train())[:2] == [([0, 3, 1, 2], 0), ([0, 4, 1, 2], 1)]
    assert list(dataset.sentiment.test()) == []


def test_images_are_decoded_in_threads():
    image = pytest.importorskip("PIL.Image")
    buffer = io.BytesIO()
    image.new("RGB", (2, 2), (255, 0, 0)).save(buffer, "PNG")
    found = []

    def decode():
        found.append(dataset.image.load_image_bytes(buffer.getvalue())[0, 0].tolist())

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [[0, 0, 255]] * 4
