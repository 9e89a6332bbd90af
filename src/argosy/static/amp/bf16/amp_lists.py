"""The lists of operators for bfloat16."""

from __future__ import annotations

from collections.abc import Iterable

from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists

__all__ = ["AutoMixedPrecisionListsBF16"]


class AutoMixedPrecisionListsBF16(AutoMixedPrecisionLists):
    """The lists for bfloat16."""

    def __init__(
        self,
        custom_bf16_list: Iterable[str] | None = None,
        custom_fp32_list: Iterable[str] | None = None,
        custom_fp32_varnames: Iterable[str] | None = None,
    ) -> None:
        super().__init__(custom_bf16_list, custom_fp32_list, custom_fp32_varnames, "bfloat16")

    @property
    def bf16_list(self) -> set[str]:
        return self.white_list

    @property
    def fp32_list(self) -> set[str]:
        return self.black_list

    @property
    def fp32_varnames(self) -> set[str]:
        return self.black_varnames
