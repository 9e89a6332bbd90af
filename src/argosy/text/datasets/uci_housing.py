"""UCI housing: 13 facts about a place, and the price of a house there."""

from __future__ import annotations

import numpy as np

from argosy.dataset.uci_housing import load_data
from argosy.tensor.engine import get_default_dtype
from argosy.text.datasets._texts import Source, Texts


class UCIHousing(Texts):
    """Facts, scaled to their range around the mean, and the price."""

    SOURCE = Source(
        "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data",
        "d4accdce7a25600298819f8e28e8d593",
        "uci_housing",
    )

    def __init__(
        self, data_file: str | None = None, mode: str = "train", download: bool = True
    ) -> None:
        super().__init__(data_file, mode, download, self.SOURCE)
        self.data = load_data(str(self.data_file))[("train", "test").index(self.mode)]
        self.dtype = get_default_dtype()

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray]:
        row = self.data[idx]
        return row[:-1].astype(self.dtype), row[-1:].astype(self.dtype)

    def __len__(self) -> int:
        return len(self.data)
