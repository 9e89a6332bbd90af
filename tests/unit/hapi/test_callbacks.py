"""Callbacks: order, defaults, files; those for other programs, which are played here."""

from __future__ import annotations

import sys
import types

import pytest

import paddle
from goldens import model_runs
from paddle import callbacks
from paddle.hapi.callbacks import CallbackList, config_callbacks


class Trace(callbacks.Callback):
    def __init__(self, name, seen):
        self.name, self.seen = name, seen

    def on_train_begin(self, logs=None):
        self.seen.append(self.name)


def kinds(found):
    return [type(callback).__name__ for callback in found]


def test_a_run_gets_the_callbacks_that_it_lacks():
    always = ["ModelCheckpoint", "LRScheduler"]
    assert kinds(config_callbacks()) == ["ProgBarLogger", *always]
    assert kinds(config_callbacks(verbose=0)) == always
    own = [callbacks.LRScheduler(), callbacks.ProgBarLogger(), callbacks.ModelCheckpoint()]
    assert list(config_callbacks(own)) == own
    stop = callbacks.EarlyStopping()
    assert kinds(config_callbacks(stop, verbose=0)) == ["EarlyStopping", *always]


def test_callbacks_are_called_in_their_order():
    seen: list[str] = []
    CallbackList([Trace("a", seen), Trace("b", seen)]).on_begin("train")
    assert seen == ["a", "b"]
    with pytest.raises(AssertionError, match="train, eval or predict"):
        CallbackList([]).on_begin("test")


def test_checkpoints_are_written_after_some_epochs_and_at_the_end(tmp_path, capsys):
    model_runs.model(paddle).fit(
        model_runs.dataset(paddle, 2), epochs=3, save_dir=str(tmp_path), save_freq=2, verbose=0
    )
    assert sorted(p.name for p in tmp_path.glob("*.pdparams")) == [
        "0.pdparams", "2.pdparams", "final.pdparams",
    ]  # fmt: skip
    assert capsys.readouterr().out.count("save checkpoint at") == 3


def test_the_best_model_is_kept(tmp_path, capsys):
    data = model_runs.dataset(paddle, 4)
    model = model_runs.model(paddle)
    stop = callbacks.EarlyStopping("acc_top1", patience=1, min_delta=2.0)
    model.fit(data, data, epochs=5, save_dir=str(tmp_path), verbose=0, callbacks=stop)
    assert model.stop_training
    assert (tmp_path / "best_model.pdparams").exists()
    assert "Epoch 2: Early stopping." in capsys.readouterr().out


def test_what_stopping_watches_must_be_there():
    data = model_runs.dataset(paddle, 2)
    model = model_runs.model(paddle)
    with pytest.warns(UserWarning, match="needs validation data"):
        model.fit(data, verbose=0, callbacks=callbacks.EarlyStopping())
    with pytest.warns(UserWarning, match="should be loss or metric name"):
        model.fit(data, data, verbose=0, callbacks=callbacks.EarlyStopping("other"))
    with pytest.warns(UserWarning, match="fallback to auto"):
        callbacks.EarlyStopping(mode="up")


def test_a_reduced_rate_is_what_the_next_steps_take():
    data = model_runs.dataset(paddle, 4)
    model = model_runs.model(paddle, 0.5, "SGD")
    never = callbacks.ReduceLROnPlateau(patience=1, factor=0.0, min_delta=100.0, verbose=0)
    model.fit(data, data, epochs=2, batch_size=4, verbose=0, callbacks=never)
    before = model.parameters()[0].numpy()
    model.fit(data, batch_size=4, verbose=0)
    assert model._optimizer.get_lr() == 0.0
    assert (model.parameters()[0].numpy() == before).all()


def test_a_scheduler_is_not_reduced_by_hand():
    rate = paddle.optimizer.lr.StepDecay(0.5, 3)
    callback = callbacks.ReduceLROnPlateau(patience=1)
    callback.set_model(model_runs.model(paddle, rate))
    with pytest.warns(UserWarning, match="Expected learning_rate be float"):
        callback.on_eval_end({"loss": [1.0]})
    with pytest.raises(ValueError, match=r"factor >= 1\.0"):
        callbacks.ReduceLROnPlateau(factor=1.0)


def test_a_rate_is_scheduled_by_step_or_by_epoch():
    data = model_runs.dataset(paddle, 4)
    for options, steps in (({}, 4), ({"by_step": False, "by_epoch": True}, 2)):
        rate = paddle.optimizer.lr.NaturalExpDecay(0.5, 0.1)
        model_runs.model(paddle, rate).fit(
            data, batch_size=2, epochs=2, verbose=0, callbacks=callbacks.LRScheduler(**options)
        )
        assert rate.last_epoch == steps
    with pytest.raises(ValueError, match="mutually exclusive"):
        callbacks.LRScheduler(True, True)


# -- other programs


class Writer:
    def __init__(self, folder):
        self.folder, self.scalars, self.is_open = folder, [], True

    def add_scalar(self, tag, step, value):
        self.scalars.append((tag, step, value))

    def close(self):
        self.is_open = False


def test_visualdl_is_given_training_by_step_and_evaluation_by_epoch(monkeypatch):
    made: list[Writer] = []

    def new_writer(folder):
        made.append(Writer(folder))
        return made[-1]

    monkeypatch.setitem(sys.modules, "visualdl", types.SimpleNamespace(LogWriter=new_writer))
    data = model_runs.dataset(paddle, 4)
    board = callbacks.VisualDL("boards")
    model = model_runs.model(paddle, metrics=paddle.metric.Accuracy())
    model.fit(data, data, batch_size=2, epochs=2, verbose=0, callbacks=board)
    (writer,) = made
    assert (writer.folder, writer.is_open) == ("boards", False)
    train = [step for tag, step, _ in writer.scalars if tag == "train/loss"]
    tested = [step for tag, step, _ in writer.scalars if tag == "eval/acc"]
    assert (train, tested) == ([1, 2, 3, 4], [0, 1])


class Run:
    def __init__(self):
        self.logged, self.metrics, self.is_open = [], [], True

    def define_metric(self, name, step_metric=None):
        self.metrics.append((name, step_metric))

    def log(self, values):
        self.logged.append(values)

    def finish(self):
        self.is_open = False


def test_wandb_is_given_the_same(monkeypatch):
    run = Run()
    wandb = types.SimpleNamespace(run=None, init=lambda **options: run)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    data = model_runs.dataset(paddle, 4)
    callback = callbacks.WandbCallback(project="p", mode="offline")
    assert callback.run is run
    model_runs.model(paddle).fit(data, data, batch_size=2, verbose=0, callbacks=callback)
    assert ("eval/*", "epoch") in run.metrics
    assert [values.get("train/step") for values in run.logged] == [1, 2, None]
    assert run.logged[-1]["epoch"] == 0
    assert not run.is_open


@pytest.mark.parametrize("module", ["visualdl", "wandb"])
def test_another_program_must_be_installed(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    data = model_runs.dataset(paddle, 2)
    with pytest.raises(ImportError, match=f"pip install {module}"):
        model_runs.model(paddle).fit(
            data,
            verbose=0,
            callbacks=callbacks.VisualDL("b") if module == "visualdl" else wandb_callback(),
        )


def wandb_callback():
    return callbacks.WandbCallback()


def test_a_subclass_of_the_logger_tells_what_it_likes(capsys):
    class Perplexity(callbacks.ProgBarLogger):
        def on_train_begin(self, logs=None):
            super().on_train_begin(logs)
            self.train_metrics = ["ppl"]

        def on_train_batch_begin(self, step, logs=None):
            if step == 0:
                self.train_progbar._num = 7

        def on_train_batch_end(self, step, logs=None):
            logs["ppl"] = 2.0 ** logs["loss"][0]
            super().on_train_batch_end(step, logs)

    data = model_runs.dataset(paddle, 4)
    logger = Perplexity(log_freq=1)
    model_runs.model(paddle).fit(data, data, batch_size=2, callbacks=logger)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("step 1/7 - ppl: ")
    assert "loss" not in lines[2]
    assert "loss" in lines[-2]
    assert (logger.train_step, logger.eval_steps, logger.evaled_samples) == (2, 2, 4)
