"""Short-time Fourier transforms under the names of ``paddle.signal``."""

from argosy.tensor.stft import istft, stft

__all__ = ["istft", "stft"]
