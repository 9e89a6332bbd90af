"""Numbers for people."""

from __future__ import annotations

import pytest

from argosy.foundation.quantities import count_text, size_text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (999.6, "1.0k"), (1234, "1.2k"), (99_960, "100k"),
    (1_250_000, "1.2M"), (7e9, "7.0G"), (3e12, "3000G")],
)  # fmt: skip
def test_counts_are_short(number, text):
    assert count_text(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (512, "512 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB")]
)
def test_sizes_have_a_unit(number, text):
    assert size_text(number) == text
