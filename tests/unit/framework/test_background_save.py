"""``paddle.async_save``."""

import pytest

import paddle


def test_what_is_saved_is_what_was_there_at_the_call(tmp_path):
    w = paddle.ones([2])
    w.name = "mine"
    paddle.async_save({"w": w, "epoch": 3}, str(tmp_path / "a"))
    w.zero_()
    paddle.async_save({"w": w}, str(tmp_path / "b"), sync_other_task=True)
    paddle.clear_async_save_task_queue()
    loaded = paddle.load(str(tmp_path / "a"))
    assert (loaded["w"].tolist(), loaded["w"].name, loaded["epoch"]) == ([1, 1], "mine", 3)
    assert paddle.load(str(tmp_path / "b"))["w"].tolist() == [0, 0]


def test_what_went_wrong_is_raised_to_who_waits(tmp_path):
    paddle.async_save({"w": paddle.ones([2])}, str(tmp_path))
    with pytest.raises(ValueError, match="dirname/filename"):
        paddle.clear_async_save_task_queue()


def test_other_objects_and_static_mode_are_refused(tmp_path):
    with pytest.raises(TypeError, match="expected a dict or a Tensor"):
        paddle.async_save((1, 2), str(tmp_path / "a"))
    paddle.enable_static()
    try:
        with pytest.raises(ValueError, match="dynamic mode"):
            paddle.async_save({}, str(tmp_path / "a"))
    finally:
        paddle.disable_static()
