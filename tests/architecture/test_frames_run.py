"""How many calls a run of a small program takes beside the work of its operators."""

import sys
from pathlib import Path

import numpy as np

import argosy
import paddle
from paddle import static

_PACKAGE = str(Path(argosy.__file__).parent)


def _frames_of(call):
    """The functions of argosy, and of the text that it generates, that ``call`` enters."""
    found = []

    def note(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith((_PACKAGE, "<program")):
            found.append(f"{code.co_filename.removeprefix(_PACKAGE)}: {code.co_qualname}")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_a_warm_run_of_a_small_program_takes_few_frames():
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x, y = static.data("x", [None, 8]), static.data("y", [None, 1])
            hidden = static.nn.fc(x, 16, activation="relu")
            error = paddle.nn.functional.square_error_cost(static.nn.fc(hidden, 1), y)
            loss = paddle.mean(error)
            paddle.optimizer.Adam(0.01).minimize(loss)
        assert len(main.global_block().ops) == 10  # of which some run as one
        with static.scope_guard(static.Scope()):
            executor = static.Executor()
            executor.run(startup)
            feed = {"x": np.ones((4, 8), "float32"), "y": np.ones((4, 1), "float32")}
            for _ in range(2):
                executor.run(main, feed=feed, fetch_list=[loss])
            frames = _frames_of(lambda: executor.run(main, feed=feed, fetch_list=[loss]))
    finally:
        paddle.disable_static()
    assert len(frames) <= 40, "\n".join(frames)
