# ruff: noqa: PT028 -- test is a part of the dataset, not a test
"""Oxford flowers, 102 kinds: 3x224x224 floats, flat, and a label from 0 to 101. Needs SciPy, and
Pillow or OpenCV.
"""

from __future__ import annotations

import functools
import os
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

from argosy.dataset.common import download
from argosy.dataset.image import load_image_bytes, simple_transform
from argosy.reader import map_readers, xmap_readers
from argosy.utils import try_import

__all__ = ["train", "test", "valid"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/flowers/102flowers.tgz"
LABEL_URL = "http://paddlemodels.bj.bcebos.com/flowers/imagelabels.mat"
SETID_URL = "http://paddlemodels.bj.bcebos.com/flowers/setid.mat"
DATA_MD5 = "52808999861908f626f3c1f4e79d11fa"
LABEL_MD5 = "e0620be6f572b9609742df49c70aed4d"
SETID_MD5 = "a5357ecc9cb78c4bef273ce3793fc85c"
# The official test part is the larger one, so Paddle trains on it.
TRAIN_FLAG = "tstid"
TEST_FLAG = "trnid"
VALID_FLAG = "valid"


def default_mapper(is_train: bool, sample: tuple[bytes, int]) -> tuple[Any, int]:
    """Decode and prepare one sample."""
    image = simple_transform(
        load_image_bytes(sample[0]), 256, 224, is_train, mean=[103.94, 116.78, 123.68]
    )
    return image.flatten().astype("float32"), sample[1]


train_mapper = functools.partial(default_mapper, True)
test_mapper = functools.partial(default_mapper, False)


def reader_creator(
    data_file: str,
    label_file: str,
    setid_file: str,
    dataset_name: str,
    mapper: Callable[[Any], Any],
    buffered_size: int = 1024,
    use_xmap: bool = True,
    cycle: bool = False,
) -> Callable[[], Any]:
    """A reader over one part; ``use_xmap`` decodes in up to four threads, ``cycle`` begins anew
    without end.
    """

    def samples() -> Iterator[tuple[bytes, int]]:
        read_matrix = try_import("scipy.io").loadmat
        labels = read_matrix(label_file)["labels"][0]
        label_by_name = {
            f"jpg/image_{i:05}.jpg": int(labels[i - 1]) - 1
            for i in read_matrix(setid_file)[dataset_name][0]
        }
        while True:
            with tarfile.open(data_file) as archive:
                for member in archive:
                    if member.name in label_by_name:
                        file: Any = archive.extractfile(member)
                        yield file.read(), label_by_name[member.name]
            if not cycle:
                return

    if use_xmap:
        return xmap_readers(mapper, samples, min(4, os.cpu_count() or 1), buffered_size)
    return map_readers(mapper, samples)


def _part(
    flag: str, mapper: Callable[[Any], Any], buffered_size: int, use_xmap: bool, cycle: bool
) -> Callable[[], Any]:
    return reader_creator(
        download(DATA_URL, "flowers", DATA_MD5),
        download(LABEL_URL, "flowers", LABEL_MD5),
        download(SETID_URL, "flowers", SETID_MD5),
        flag,
        mapper,
        buffered_size,
        use_xmap,
        cycle,
    )


def train(
    mapper: Callable[[Any], Any] = train_mapper,
    buffered_size: int = 1024,
    use_xmap: bool = True,
    cycle: bool = False,
) -> Callable[[], Any]:
    """A reader over the training part."""
    return _part(TRAIN_FLAG, mapper, buffered_size, use_xmap, cycle)


def test(
    mapper: Callable[[Any], Any] = test_mapper,
    buffered_size: int = 1024,
    use_xmap: bool = True,
    cycle: bool = False,
) -> Callable[[], Any]:
    """A reader over the test part."""
    return _part(TEST_FLAG, mapper, buffered_size, use_xmap, cycle)


def valid(
    mapper: Callable[[Any], Any] = test_mapper, buffered_size: int = 1024, use_xmap: bool = True
) -> Callable[[], Any]:
    """A reader over the validation part."""
    return _part(VALID_FLAG, mapper, buffered_size, use_xmap, False)
