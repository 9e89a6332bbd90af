"""Seeds and the state of the random generators; the generators are torch's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.foundation.process_state import register
from argosy.tensor.engine import defaults

__all__ = [
    "Generator",
    "seed",
    "get_rng_state",
    "set_rng_state",
    "get_cuda_rng_state",
    "set_cuda_rng_state",
]


_CUDA_STATE_BYTES = 16  # a seed and an offset; the state of the CPU's generator is larger


class GeneratorState:
    """What a generator was at one moment: hand it back to ``set_state`` to repeat the numbers that
    followed.
    """

    __slots__ = ("bits",)

    def __init__(self, bits: torch.Tensor) -> None:
        self.bits = bits

    def current_seed(self) -> int:
        """The seed that the generator was last given."""
        generator = torch.Generator()
        generator.set_state(self.bits)
        return generator.initial_seed()

    def __str__(self) -> str:
        """Device (-1: the CPU), seed and offset, in Paddle's order; then a digest of all of it."""
        if self.bits.numel() == _CUDA_STATE_BYTES:
            seed, offset = self.bits.view(torch.int64).tolist()
            return f"0 {seed} {offset} {self._digest()}"
        return f"-1 {self.current_seed()} 0 {self._digest()}"

    def _digest(self) -> str:
        return hashlib.md5(self.bits.numpy().tobytes(), usedforsecurity=False).hexdigest()


class _States:
    """The states that a device's generator can be switched between, and which of them it is in; the
    entry of that one is out of date until it is left.
    """

    def __init__(self) -> None:
        self.all: dict[str, list[torch.Tensor]] = {}
        self.index: dict[str, int] = {}


_states = register("states of random generators", _States())


class Generator:
    """The default generator of a device (Paddle has one per device too): every random op of the
    device draws from it.
    """

    def __init__(self, device: Any = None) -> None:
        self._device = defaults.device if device is None else to_place(device).device

    @property
    def _engine(self) -> torch.Generator:
        if self._device.type == "cuda":
            return torch.cuda.default_generators[self._device.index or 0]
        return torch.default_generator

    def manual_seed(self, seed: int) -> Generator:
        self._engine.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Seed with a number from the system, and return it."""
        return self._engine.seed()

    def initial_seed(self) -> int:
        return self._engine.initial_seed()

    def random(self) -> int:
        """The next random 64-bit integer."""
        return int(torch.empty((), dtype=torch.int64, device=self._device).random_().item())

    def get_state(self) -> GeneratorState:
        return GeneratorState(self._engine.get_state())

    def set_state(self, state: GeneratorState) -> None:
        if not isinstance(state, GeneratorState):
            raise DtypeError(
                "Generator.set_state: expected what get_state() returned, but received "
                f"{type(state).__name__}"
            )
        self._engine.set_state(state.bits)

    def get_state_index(self) -> int:
        """Which of the states that were registered the generator is in; 0 is its own."""
        return _states.index.get(str(self._device), 0)

    def register_state_index(self, state: GeneratorState) -> int:
        """Keep ``state`` as one more, switch to it, and return its index."""
        kept = self._leave()
        kept.append(state.bits.clone())
        _states.index[str(self._device)] = len(kept) - 1
        self.set_state(state)
        return len(kept) - 1

    def set_state_index(self, index: int) -> None:
        """Switch to another state, which goes on where it was left."""
        kept = self._leave()
        if not 0 <= index < len(kept):
            raise UsageError(
                f"Generator.set_state_index: index is {index}, but there are {len(kept)} states"
            )
        _states.index[str(self._device)] = index
        self._engine.set_state(kept[index])

    def _leave(self) -> list[torch.Tensor]:
        """Note where the state that the generator is in has come to; returns all."""
        kept = _states.all.setdefault(str(self._device), [self._engine.get_state()])
        kept[self.get_state_index()] = self._engine.get_state()
        return kept


def seed(seed: int) -> Generator:
    """Seed the generators of every device; returns the CPU's.

    NumPy's generator, which shuffles in ``paddle.io``, is not touched, as in Paddle.

    Example:
        >>> generator = paddle.seed(102)
        >>> generator.initial_seed()
        102
    """
    torch.manual_seed(int(seed))
    return Generator("cpu")


def default_cpu_generator() -> Generator:
    """The generator that ops draw from on the CPU."""
    return Generator("cpu")


_GENERATOR = torch.default_generator
_FIRST = _GENERATOR.get_state()
register(
    "random numbers",
    _GENERATOR,
    state=lambda: _GENERATOR.get_state().numpy().tobytes(),
    reset=lambda: _GENERATOR.set_state(_FIRST),
)


def _generators(device: Any) -> list[Generator]:
    place = defaults.place if device is None else to_place(to_place(device).device)
    if place.is_gpu_place():
        return [Generator(f"gpu:{i}") for i in range(torch.cuda.device_count())]
    return [Generator("cpu")]


def get_rng_state(device: str | None = None) -> list[GeneratorState]:
    """The state of each generator of a kind of device, by default the current one."""
    return [generator.get_state() for generator in _generators(device)]


def set_rng_state(state_list: Sequence[GeneratorState], device: str | None = None) -> None:
    """Put back what ``get_rng_state`` returned."""
    _restore("set_rng_state", _generators(device), state_list)


def get_cuda_rng_state() -> list[GeneratorState]:
    """The state of each GPU's generator; empty where there is none."""
    return [Generator(f"gpu:{i}").get_state() for i in range(torch.cuda.device_count())]


def set_cuda_rng_state(state_list: Sequence[GeneratorState]) -> None:
    """Put back what ``get_cuda_rng_state`` returned."""
    if torch.cuda.is_available():
        _restore(
            "set_cuda_rng_state",
            [Generator(f"gpu:{i}") for i in range(torch.cuda.device_count())],
            state_list,
        )


def _restore(call: str, generators: list[Generator], states: Sequence[GeneratorState]) -> None:
    if len(states) != len(generators):
        raise UsageError(
            f"{call}: received {len(states)} states for {len(generators)} generators; there must "
            "be one for each"
        )
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)
