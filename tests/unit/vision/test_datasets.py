"""Datasets over small files of the real formats."""

import gzip
import io
import pickle
import re
import struct
import tarfile

import numpy as np
import pytest

import paddle
from argosy import dataset
from argosy.dataset import common
from argosy.foundation.errors import CheckpointError
from argosy.vision import datasets
from argosy.vision.datasets import formats

IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype("uint8")
LABELS = np.array([7, 0, 9], "uint8")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    return tmp_path / "dataset"


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return common.md5file(str(path))


def idx(array):
    return gzip.compress(
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def put_mnist(home, monkeypatch, cls=datasets.MNIST):
    sums = {
        name: put(home / cls.NAME / name, idx(IMAGES if "images" in name else LABELS))
        for name in cls.MD5_BY_FILE
    }
    for name, value in sums.items():
        monkeypatch.setitem(cls.MD5_BY_FILE, name, value)


def test_missing_file_says_what_to_put_where(home):
    path = home / "mnist" / "train-images-idx3-ubyte.gz"
    with pytest.raises(RuntimeError, match=rf"{re.escape(str(path))}.*\n.*Fetch it from https://"):
        dataset.mnist.train()
    put(path, b"wrong")
    with pytest.raises(RuntimeError, match="torn or another version"):
        dataset.mnist.train()
    assert common.DATA_HOME == str(home)


def test_mnist_reader(home, monkeypatch):
    put_mnist(home, monkeypatch)
    samples = list(dataset.mnist.test()())
    assert [label for _, label in samples] == [7, 0, 9]
    expected = IMAGES[1].reshape(-1).astype("float32") / 255.0 * 2.0 - 1.0
    np.testing.assert_array_equal(samples[1][0], expected)


@pytest.mark.parametrize("kind", [datasets.MNIST, datasets.FashionMNIST])
def test_mnist_dataset(home, monkeypatch, kind):
    put_mnist(home, monkeypatch, kind)
    data = kind(mode="test", backend="cv2", transform=lambda x: x / 255)
    image, label = data[2]
    assert len(data) == 3
    assert label.tolist() == [9]
    assert image.dtype == np.float32
    np.testing.assert_allclose(image, IMAGES[2] / 255, rtol=1e-6)
    (x, y), *_ = paddle.io.DataLoader(data, batch_size=2)
    assert (x.shape, y.shape) == ([2, 28, 28], [2, 1])
    with pytest.raises(AssertionError, match="mode should be"):
        kind(mode="valid")
    with pytest.raises(AssertionError, match="image_path is not set"):
        kind(download=False, backend="cv2")


def test_idx_errors(tmp_path):
    put(tmp_path / "bad", gzip.compress(b"not idx"))
    with pytest.raises(CheckpointError, match="not an IDX file"):
        formats.read_idx(str(tmp_path / "bad"))
    put(tmp_path / "short", gzip.compress(gzip.decompress(idx(LABELS))[:-1]))
    with pytest.raises(CheckpointError, match="cut short: it has 2 values"):
        formats.read_idx(str(tmp_path / "short"))


@pytest.mark.parametrize("kind", [str, str.encode])
def test_cifar(home, monkeypatch, kind):
    def batch(start, key):
        data = (np.arange(2 * 3072).reshape(2, 3072) + start).astype("uint8")
        return pickle.dumps({kind("data"): data, kind(key): [start, start + 1]}, protocol=2)

    names = {"c/data_batch_2": 2, "c/data_batch_1": 0, "c/test_batch": 8}
    content = tar({name: batch(start, "labels") for name, start in names.items()})
    md5 = put(home / "cifar" / "cifar-10-python.tar.gz", content)
    monkeypatch.setattr(datasets.Cifar10, "MD5", md5)
    assert [label for _, label in dataset.cifar.train10()()] == [2, 3, 0, 1]
    image, label = next(iter(dataset.cifar.test10(cycle=True)()))
    assert (image.dtype, image.shape, label) == (np.float32, (3072,), 8)
    data = datasets.Cifar10(backend="cv2")
    assert [int(label) for _, label in data] == [0, 1, 2, 3]
    np.testing.assert_array_equal(data[0][0][0, :3, 1], (np.arange(3) + 1024).astype("uint8"))

    path = home / "hundred.tar.gz"
    put(path, tar({"c/train": batch(4, "fine_labels")}))
    hundred = datasets.Cifar100(str(path), backend="cv2")
    assert len(hundred) == 2
    assert hundred[1][1] == 5


@pytest.mark.attack("damaged files of datasets")
def test_damaged_files_are_named(tmp_path):
    whole = gzip.decompress(idx(LABELS))
    for name, data in {
        "extents": whole[:5],
        "shape": whole[:3] + b"\xff" + whole[4:] + b"\xff" * 2000,
    }.items():
        put(tmp_path / name, gzip.compress(data))
    put(tmp_path / "cut", gzip.compress(whole)[:-9])
    put(tmp_path / "other", b"no gzip")
    for name in ("extents", "shape", "cut", "other"):
        with pytest.raises(CheckpointError, match=name):
            formats.read_idx(str(tmp_path / name))
    for batch in (
        [1],
        {"data": np.zeros((2, 3072))},
        {"data": np.zeros((2, 3072)), "labels": [1]},
        {"data": 1, "labels": []},
    ):
        put(tmp_path / "batches.tar.gz", tar({"c/train": pickle.dumps(batch)}))
        with pytest.raises(CheckpointError, match="is no batch of CIFAR"):
            list(formats.read_cifar(str(tmp_path / "batches.tar.gz"), "train", True))


@pytest.mark.attack("damaged text of a dataset")
@pytest.mark.parametrize("text", ["", "1 2 3", "1 2 x", "\xff"])
def test_damaged_numbers_are_named(tmp_path, text):
    (tmp_path / "housing").write_text(text)
    with pytest.raises(CheckpointError, match="housing"):
        dataset.uci_housing.load_data(str(tmp_path / "housing"))


def test_uci_housing(home, monkeypatch):
    rows = np.random.RandomState(0).rand(10, 14).round(3)
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    monkeypatch.setattr(
        dataset.uci_housing, "MD5", put(home / "uci_housing" / "housing.data", text.encode())
    )
    train, test = list(dataset.uci_housing.train()()), list(dataset.uci_housing.test()())
    assert (len(train), len(test)) == (8, 2)
    features = rows[:, :-1]
    expected = (features - features.mean(0)) / (features.max(0) - features.min(0))
    np.testing.assert_allclose(train[3][0], expected[3])
    np.testing.assert_allclose(test[1][1], rows[9, -1:])
    np.testing.assert_allclose(dataset.uci_housing.predict_reader()[0], expected[8])


def test_imdb(home, monkeypatch):
    reviews = {
        "aclImdb/train/pos/1.txt": b"Good, good film!\n",
        "aclImdb/train/neg/1.txt": b"A bad film...",
        "aclImdb/test/pos/1.txt": b"good bad unseen",
    }
    monkeypatch.setattr(
        dataset.imdb, "MD5", put(home / "imdb" / "imdb%2FaclImdb_v1.tar.gz", tar(reviews))
    )
    words = dataset.imdb.build_dict(re.compile(r"aclImdb/.*\.txt$"), 1)
    assert words == {b"good": 0, b"bad": 1, b"film": 2, "<unk>": 3}
    assert list(dataset.imdb.train(words)()) == [([0, 0, 2], 0), ([3, 1, 2], 1)]
    assert list(dataset.imdb.test(words)()) == [([0, 1, 3], 0)]
    assert dataset.imdb.word_dict() == {"<unk>": 0}


def test_image_preparation():
    image = np.random.RandomState(0).randint(0, 256, (20, 30, 3)).astype("uint8")
    assert dataset.image.resize_short(image, 10).shape == (10, 15, 3)
    assert dataset.image.resize_short(image.transpose(1, 0, 2), 10).shape == (15, 10, 3)
    out = dataset.image.simple_transform(image, 10, 8, is_train=False, mean=[1.0, 2.0, 3.0])
    assert (out.shape, out.dtype) == ((3, 8, 8), np.float32)
    np.random.seed(0)
    assert dataset.image.simple_transform(image, 10, 8, is_train=True).shape == (3, 8, 8)
    np.testing.assert_array_equal(dataset.image.left_right_flip(image), image[:, ::-1])


def test_flowers_names_its_files(home):
    with pytest.raises(RuntimeError, match=r"102flowers\.tgz"):
        dataset.flowers.train()


def test_folders(tmp_path):
    for name in ("b/2.png", "a/x/1.JPG", "a/note.txt"):
        put(tmp_path / name, b"")
    data = datasets.DatasetFolder(str(tmp_path), loader=str, transform=lambda path: path[-5:])
    assert data.classes == ["a", "b"]
    assert list(data) == [("1.JPG", 0), ("2.png", 1)]
    assert data.targets == [0, 1]
    everything = datasets.ImageFolder(str(tmp_path), loader=len, is_valid_file=lambda path: True)
    assert len(everything) == 3
    assert isinstance(everything[0], list)
    with pytest.raises(RuntimeError, match="Found 0 files"):
        datasets.ImageFolder(str(tmp_path / "b"), extensions=[".gif"])
