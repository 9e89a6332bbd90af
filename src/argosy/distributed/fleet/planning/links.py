"""Which form gradients take between hosts when ``auto`` may choose: pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ROWS", "Choice", "Link", "choose_form"]

ROWS = 64  # samples in a step of a rank, for whoever has to guess: a plan is made before the first
_WORK_PER_PARAMETER = 6  # multiplications and additions for a sample, forward and backward
_VALUE_BYTES = 4
_SLOW_BYTES_PER_S = 250e6  # a link that is slower carries gradients packed, without loss
_PACKED, _PACKED_HALVES = 0.86, 0.89  # of their bytes


@dataclass(frozen=True, kw_only=True)
class Link:
    """What was measured: bytes that a host sends and receives in a second at once, and additions
    and multiplications that a rank does.
    """

    bytes_per_s: float
    operations_per_s: float

    def compute_s(self, gradient_bytes: int) -> float:
        """A guess at what a step computes, from the size of its gradients."""
        work = _WORK_PER_PARAMETER * ROWS * gradient_bytes / _VALUE_BYTES
        return work / self.operations_per_s


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A switch, empty for gradients as they are, and why."""

    switch: str
    reason: str


def choose_form(bytes_per_s: float, compute_s: float, gradient_bytes: int) -> Choice:
    """The first form whose exchange hides behind the computing of a step; the last if none does."""
    wire_s = gradient_bytes / bytes_per_s
    is_packed = bytes_per_s < _SLOW_BYTES_PER_S
    packed = f" ({wire_s * _PACKED * 1e3:.0f} packed)" if is_packed else ""
    facts = (
        f"gradients of {gradient_bytes / 1e6:.1f} MB take {wire_s * 1e3:.0f} ms{packed} of a link "
        f"of {bytes_per_s * 8 / 1e9:.2f} Gb/s; a step computes about {compute_s * 1e3:.0f} ms "
        f"({ROWS} samples)"
    )
    # in the order of what they change: the switch, and the share of the bytes that it sends
    forms = (
        ("", _PACKED if is_packed else 1.0),
        ("fp16_allreduce", 0.5 * (_PACKED_HALVES if is_packed else 1.0)),
        ("int8_allreduce", 0.27),
    )
    for switch, share in forms:
        if wire_s * share <= compute_s:
            name = switch or "no switch"
            return Choice(switch=switch, reason=f"{facts}, behind which {name} hides the exchange")
    switch, share = forms[-1]
    return Choice(
        switch=switch,
        reason=f"{facts}, so {wire_s * share * 1e3:.0f} ms are waited for in part; powersgd, dgc "
        "and diloco send less, but train otherwise, so they have to be asked for",
    )
