"""``paddle.profiler``."""

import json

import pytest

import paddle
from argosy.foundation.errors import NotSupported
from argosy.foundation.trace import trace
from paddle import profiler
from paddle.profiler import ProfilerState, SortedKeys, SummaryView
from support.traces import checked, spans_of


def _states(schedule, count):
    return "".join(schedule(step).name[0] for step in range(count))


def test_a_schedule_goes_round():
    assert _states(profiler.make_scheduler(closed=1, ready=1, record=3), 8) == "CRRRRCRR"
    schedule = profiler.make_scheduler(closed=1, ready=1, record=2, repeat=1, skip_first=2)
    assert [schedule(step).value for step in range(8)] == [0, 0, 0, 1, 2, 3, 0, 0]


def test_a_schedule_without_a_ready_step_warns():
    with pytest.warns(UserWarning, match="its own start"):
        profiler.make_scheduler(closed=0, ready=0, record=1)
    with pytest.raises(AssertionError, match="record=0"):
        profiler.make_scheduler(closed=0, ready=1, record=0)


def _train(measured, steps):
    weight = paddle.ones([4, 4])
    weight.stop_gradient = False
    for _ in range(steps):
        with profiler.RecordEvent("my forward"):
            loss = paddle.matmul(weight, weight).sum()
        loss.backward()
        measured.step(num_samples=2)


def test_the_chosen_steps_are_handed_over_as_a_chrome_trace(tmp_path):
    with profiler.Profiler(
        scheduler=(1, 3), on_trace_ready=profiler.export_chrome_tracing(str(tmp_path), "me")
    ) as measured:
        _train(measured, 5)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("me_time_")
    assert path.name.endswith(".paddle_trace.json")
    names = [event.get("name") for event in json.loads(path.read_text())["traceEvents"]]
    assert names.count("my forward") == 2
    assert {"ProfileStep#1", "ProfileStep#2"} <= set(names)
    assert not {"ProfileStep#0", "ProfileStep#3"} & set(names)
    loaded = profiler.load_profiler_result(str(path))
    assert any(event.get("name") == "aten::matmul" for event in loaded.get_data())


def test_what_runs_at_the_end_is_a_profile(tmp_path):
    seen = []
    measured = profiler.Profiler(on_trace_ready=seen.append)
    measured.start()
    assert profiler.utils.in_profiler_mode()
    _train(measured, 2)
    measured.stop()
    assert seen == [measured]
    assert not profiler.utils.in_profiler_mode()
    measured.export(str(tmp_path / "trace.json"))
    assert (tmp_path / "trace.json").exists()


@pytest.mark.parametrize(
    ("view", "line"),
    [
        (SummaryView.OperatorView, "aten::matmul"),
        (SummaryView.UDFView, "my forward"),
        (SummaryView.OverView, "Operator"),
        (SummaryView.ModelView, "Backward"),
        (SummaryView.DeviceView, "CPU(Process)"),
        (SummaryView.MemoryView, "aten::mm"),
    ],
)
def test_a_summary_has_the_tables_that_are_asked_for(view, line, capsys):
    with profiler.Profiler(on_trace_ready=lambda _: None, profile_memory=True) as measured:
        _train(measured, 2)
    measured.summary(sorted_by=SortedKeys.CPUMax, views=view)
    printed = capsys.readouterr().out
    assert line in printed
    assert printed.count("Summary") == 1
    measured.summary(time_unit="us", thread_sep=True, op_detail=False)
    assert capsys.readouterr().out.count("Summary") >= 5


def test_a_schedule_that_forgets_its_profile_warns():
    states = [ProfilerState.RECORD, ProfilerState.CLOSED, ProfilerState.CLOSED]
    measured = profiler.Profiler(scheduler=lambda step: states[step])
    measured.start()
    with pytest.warns(UserWarning, match="RECORD->CLOSED"):
        measured.step()
    measured.stop()
    assert measured.profiler_result is None


def test_steps_and_their_data_are_timed(capsys):
    data = paddle.io.TensorDataset([paddle.arange(60).reshape([60, 1])])
    with profiler.Profiler(timer_only=True) as measured:
        for (batch,) in paddle.io.DataLoader(data, batch_size=4):
            measured.step(num_samples=len(batch))
        info = measured.step_info("images")
        assert measured.step_info() == ""
    assert info.startswith(" reader_cost: ")
    assert " batch_cost: " in info
    assert info.endswith(" images/s")
    assert "Reader Ratio" in capsys.readouterr().out


def test_another_loader_pauses_the_timer():
    train, other = (paddle.io.TensorDataset([paddle.zeros([4, 1])]) for _ in range(2))
    with profiler.Profiler(timer_only=True) as measured:
        for _ in paddle.io.DataLoader(train):
            measured.step(1)
        measured.step_info()
        for _ in paddle.io.DataLoader(other):
            measured.step(1)
        assert measured.step_info() == ""


def test_a_step_without_samples_counts_steps():
    with profiler.Profiler(timer_only=True) as measured:
        measured.step()
        assert measured.step_info("images").endswith(" steps/s")


def test_paddles_own_format_is_refused(tmp_path):
    with pytest.raises(NotSupported, match="export_chrome_tracing"):
        profiler.export_protobuf(str(tmp_path))
    (tmp_path / "profile.pb").write_bytes(b"\x08\x96\x01")
    with pytest.raises(NotSupported, match="protobuf"):
        profiler.load_profiler_result(str(tmp_path / "profile.pb"))


def test_a_device_that_is_not_there_is_left_out():
    with pytest.warns(UserWarning, match=r"ProfilerTarget\.XPU is not supported"):
        measured = profiler.Profiler(
            targets=[profiler.ProfilerTarget.CPU, profiler.ProfilerTarget.XPU]
        )
    assert measured.targets == {profiler.ProfilerTarget.CPU}


def test_the_script_ends_after_its_marked_iterations():
    for step in range(3):
        with profiler.utils._nvprof_range(step, 1, 4):
            pass
    with pytest.raises(SystemExit), profiler.utils._nvprof_range(3, 1, 4):
        pass


def test_a_profile_is_a_trace_with_the_steps_and_waits_of_this_process(tmp_path):
    data = paddle.io.TensorDataset([paddle.ones([6, 4])])
    layer = paddle.nn.Linear(4, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    with profiler.Profiler(on_trace_ready=lambda _: None) as measured:
        for (batch,) in paddle.io.DataLoader(data, batch_size=2):
            with profiler.RecordEvent("my forward"):
                loss = layer(batch).sum()
            loss.backward()
            optimizer.step()
            measured.step()
    measured.export(str(tmp_path / "trace.json"))
    found = checked(tmp_path / "trace.json")
    assert len(spans_of(found, 0, "step")) == 3
    assert [event["name"] for event in spans_of(found, 0, "wait")][:3] == ["data"] * 3
    assert found["otherData"]["processes"][0]["label"] == "rank 0"
    # the engine has another clock: each operation of an update lies in its step all the same
    (*_, last) = spans_of(found, 0, "step")
    forward = spans_of(found, 0, "user_annotation")
    named = [event for event in forward if event["name"] == "my forward"]
    assert len(named) == 3
    assert last["ts"] - 50 <= named[-1]["ts"]
    assert named[-1]["ts"] + named[-1]["dur"] <= last["ts"] + last["dur"] + 50


def test_what_a_script_names_is_in_traces_too():
    with profiler.RecordEvent("before"):
        recording = trace.start()
    try:
        with profiler.RecordEvent("within"):
            pass
    finally:
        trace.stop(recording)
    assert [event.name for event in recording.events] == ["within"]
