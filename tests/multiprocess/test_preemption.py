"""A scheduler asks a job to make room: it saves, leaves, and goes on later as if nothing had
happened. ``faults/test_preemption.py`` has every phase, and jobs with servers.
"""

from __future__ import annotations

import signal

from support.preempted import Ring, assert_undisturbed, run_collective, saved_step


def test_a_signal_to_the_launcher_saves_after_the_step_under_way(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    code, said = run_collective(whole)
    assert code == 0, said
    ring = Ring("backward", 3, signal.SIGUSR1, "launcher")
    code, said = run_collective(parts, ring, flags=("--max_restart", "2", "--requeue_code", "99"))
    assert code == 99, said
    assert "launch: asked by SIGUSR1 to save and to leave, within 60 s" in said
    assert saved_step(parts, said, 99) >= 4
    code, said = run_collective(parts)
    assert code == 0, said
    assert_undisturbed(whole, parts)
