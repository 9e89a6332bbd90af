"""Bars on terminals; lines are compared with Paddle's in conformance/test_model.py."""

from __future__ import annotations

import io

import numpy as np
import pytest

from paddle.hapi.progressbar import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_drawn_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    bar = ProgressBar(num=4, file=file)
    for step in range(1, 5):
        bar.update(step, [("loss", [0.5 / step])])
    text = file.getvalue()
    assert "4/4" in text
    assert "loss: 0.1250" in text
    assert text.endswith(("\n", "\x1b[?25h"))  # the cursor is shown again


def test_a_file_gets_plain_text():
    file = io.StringIO()
    ProgressBar(num=4, file=file).update(1, [("loss", 0.5)])
    assert file.getvalue().startswith("\rstep 1/4 [")


def test_silence_prints_nothing(capsys):
    ProgressBar(num=4, verbose=0).update(1, [("loss", 0.5)])
    assert capsys.readouterr().out == ""


def test_losses_in_bfloat16_are_told_as_numbers(capsys):
    bits = np.float32(0.5).view(np.uint32) >> 16
    ProgressBar(num=4, verbose=2).update(1, [("loss", [np.uint16(bits)])])
    assert "loss: 0.5000" in capsys.readouterr().out


def test_a_number_of_steps_is_positive():
    with pytest.raises(TypeError, match="> 0"):
        ProgressBar(num=0)


@pytest.mark.parametrize(
    ("elapsed_s", "pace", "left"),
    [(2.0, "2s/step", "2:18"), (0.25, "250ms/step", "17s"), (2e-4, "200us/step", "0s"),
     (100.0, "100s/step", "1:55:00")],
)  # fmt: skip
def test_times_are_told_in_their_unit(elapsed_s, pace, left, monkeypatch):
    import time

    clock = [0.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    file = io.StringIO()
    bar = ProgressBar(num=70, file=file)
    clock[0] = elapsed_s
    bar.update(1)
    assert file.getvalue().endswith(f" - ETA: {left} - {pace}")
