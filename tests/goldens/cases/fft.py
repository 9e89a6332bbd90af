"""Fourier transforms and short-time ones. Other FFT libraries round differently, hence 1e-5
throughout.
"""

import numpy as np

from goldens.harness import Cases

cases = Cases("fft")


def complex_normal(d, *shape):
    return (d.normal(*shape) + 1j * d.normal(*shape)).astype("complex64")


def add(name, fn, inputs, grad=True):
    cases.op(name, fn, inputs, grad=grad, rtol=1e-5)


for fn, is_real_input in {
    "fft": False,
    "ifft": False,
    "rfft": True,
    "irfft": False,
    "hfft": False,
    "ihfft": True,
}.items():

    def draw(d, real=is_real_input):
        return d.normal(3, 6) if real else complex_normal(d, 3, 6)

    for label, kwargs in {
        "default": {}, "cut": {"n": 4}, "padded": {"n": 9}, "axis": {"axis": 0},
        "ortho": {"norm": "ortho"}, "forward": {"norm": "forward"},
    }.items():  # fmt: skip
        add(
            f"{fn}_{label}",
            lambda paddle, x, fn=fn, k=kwargs: getattr(paddle.fft, fn)(x, **k),
            draw,
            grad=label == "default" and is_real_input,
        )
    add(f"{fn}2", lambda paddle, x, fn=fn: getattr(paddle.fft, fn + "2")(x), draw, grad=False)
    add(
        f"{fn}2_sizes",
        lambda paddle, x, fn=fn: getattr(paddle.fft, fn + "2")(x, s=[4, 5], axes=[1, 0]),
        draw,
        grad=False,
    )
    add(f"{fn}n", lambda paddle, x, fn=fn: getattr(paddle.fft, fn + "n")(x), draw, grad=False)
    add(
        f"{fn}n_axes",
        lambda paddle, x, fn=fn: getattr(paddle.fft, fn + "n")(x, axes=[1], norm="ortho"),
        draw,
        grad=False,
    )
add("fft_real", lambda paddle, x: paddle.fft.fft(x), lambda d: d.normal(5))
add("fft_int", lambda paddle, x: paddle.fft.fft(x), lambda d: d.integers(5), grad=False)
add(
    "rfft_float64",
    lambda paddle, x: paddle.fft.rfft(x),
    lambda d: d.normal(5, dtype="float64"),
    grad=False,
)
add("fftshift", lambda paddle, x: paddle.fft.fftshift(x), lambda d: d.normal(4, 5))
add("ifftshift", lambda paddle, x: paddle.fft.ifftshift(x), lambda d: d.normal(4, 5))
for n in (5, 6):
    cases.add(f"fftfreq_{n}")(
        lambda paddle, d, n=n: (paddle.fft.fftfreq(n, 0.3), paddle.fft.rfftfreq(n, dtype="float64"))
    )
cases.error("fft_norm", lambda paddle: paddle.fft.fft(paddle.ones([4]), norm="full"))
cases.error("fft2_axes", lambda paddle: paddle.fft.fft2(paddle.ones([4, 4]), axes=[0]))

HANN = np.hanning(8).astype("float32") + 0.1
for label, kwargs in {
    "default": {}, "hop": {"hop_length": 3}, "short": {"win_length": 6},
    "plain": {"center": False}, "zeros": {"pad_mode": "constant"},
    "normalized": {"normalized": True}, "both_sides": {"onesided": False},
}.items():  # fmt: skip
    add(
        f"stft_{label}",
        lambda paddle, x, k=kwargs: paddle.signal.stft(x, 8, **k),
        lambda d: d.normal(2, 30),
    )
add(
    "stft_window",
    lambda paddle, x: paddle.signal.stft(x, 8, window=paddle.to_tensor(HANN)),
    lambda d: d.normal(30),
)
add(
    "istft",
    lambda paddle, x: paddle.signal.istft(paddle.signal.stft(x, 8), 8),
    lambda d: d.normal(2, 32),
    grad=False,
)
add(
    "istft_window",
    lambda paddle, x: paddle.signal.istft(
        paddle.signal.stft(x, 8, window=paddle.to_tensor(HANN), normalized=True),
        8,
        window=paddle.to_tensor(HANN),
        normalized=True,
        length=25,
    ),
    lambda d: d.normal(32),
    grad=False,
)
cases.error("stft_too_long", lambda paddle: paddle.signal.stft(paddle.ones([2, 10]), 16))
cases.error(
    "stft_window_size",
    lambda paddle: paddle.signal.stft(paddle.ones([2, 10]), 8, window=paddle.ones([7])),
)
