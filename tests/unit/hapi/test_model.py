"""Model: what it takes, refuses, keeps in files. Numbers are in conformance/test_model.py."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from goldens import model_runs
from paddle.hapi import model as hapi_model
from paddle.static import InputSpec

nn = paddle.nn
X = np.ones((2, model_runs.WIDTH), "float32")
Y = np.zeros((2, 1), "int64")


def prepared(**options):
    options.setdefault("metrics", paddle.metric.Accuracy())
    return model_runs.model(paddle, 0.1, "Adam", **options)


# -- what it takes and refuses


def test_inputs_are_one_description_several_or_named_ones():
    spec = InputSpec([None, 4], "float32", "input")
    for inputs in (spec, [spec], (spec,), {"input": spec}):
        assert paddle.Model(nn.Linear(4, 2), inputs)._inputs == [spec]


def test_without_inputs_they_are_named_after_the_arguments_of_forward():
    class Two(nn.Layer):
        def forward(self, left, right):
            return left + right

    for net in (Two(), paddle.jit.to_static(Two())):
        assert [spec.name for spec in paddle.Model(net)._inputs] == ["left", "right"]


def test_an_input_needs_a_name():
    with pytest.raises(ValueError, match=r"Input\[0\].name"):
        paddle.Model(nn.Linear(4, 2), InputSpec([None, 4]))


def test_programs_need_inputs(static_mode):
    with pytest.raises(TypeError, match="couldn't be None"):
        paddle.Model(nn.Linear(4, 2))


def test_a_loss_is_called_and_a_metric_is_one():
    model = paddle.Model(nn.Linear(4, 2))
    with pytest.raises(TypeError, match="callable"):
        model.prepare(loss=3)
    with pytest.raises(AssertionError, match="not sub class of Metric"):
        model.prepare(metrics=[nn.ReLU()])


def test_training_needs_prepare():
    with pytest.raises(AssertionError, match="prepare"):
        paddle.Model(nn.Linear(4, 2)).train_batch([X], [Y])


def test_programs_update_in_every_batch(static_mode):
    with pytest.raises(AssertionError, match="update == False"):
        prepared().train_batch([X], [Y], update=False)


def test_programs_take_as_many_inputs_as_were_described(static_mode):
    with pytest.raises(AssertionError, match="number of inputs"):
        prepared().predict_batch([X, X])


@pytest.mark.parametrize("batch_size", [(1, 2, 3), "4", None])
def test_batch_size_is_one_or_two_numbers(batch_size):
    with pytest.raises(AssertionError, match="batch_size"):
        prepared().fit(model_runs.dataset(paddle, 4), batch_size=batch_size)


def test_batches_may_come_from_a_loader_or_a_generator():
    data = model_runs.dataset(paddle, 4)
    model = prepared()
    for source in (paddle.io.DataLoader(data, batch_size=2), [([X], [Y]), ([X], [Y])]):
        assert model.evaluate(source, verbose=0)["loss"]
    model.fit((batch for batch in [(X, Y), (X, Y)]), verbose=0)


def test_several_losses_are_added():
    class Both(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 1)

        def forward(self, x):
            return self.fc(x), self.fc(2 * x)

    net = Both()
    model = paddle.Model(net)
    sgd = paddle.optimizer.SGD(1.0, parameters=net.parameters())
    model.prepare(sgd, lambda a, b: [a.sum(), b.sum()])
    before = net.fc.weight.numpy()
    assert len(model.train_batch([X])) == 2
    np.testing.assert_allclose(before - net.fc.weight.numpy(), np.full((4, 1), 6.0), rtol=1e-6)


def test_another_model_in_the_same_programs_leaves_the_first_as_it_is(static_mode):
    first = prepared()
    first.train_batch([X], [Y])
    kept = np.array(first.parameters()[0].get_value())
    prepared()
    np.testing.assert_array_equal(np.array(first.parameters()[0].get_value()), kept)


def test_lists_of_lists_are_flattened_and_restored():
    flat, splits = hapi_model.flatten_list([[1, 2], [], [3]])
    assert (flat, splits) == ([1, 2, 3], [2, 0, 1])
    assert hapi_model.restore_flatten_list(flat, splits) == [[1, 2], [], [3]]


def test_one_process_has_no_context():
    assert hapi_model.prepare_distributed_context() is None


# -- mixed precision


@pytest.mark.parametrize(
    ("configs", "told"),
    [
        ("O3", "'O0', 'O1' or 'O2'"),
        ({"level": "O3"}, r"amp_configs\['level'\]"),
        ({"level": "O1", "test": 0}, "'test'"),
        ({"level": "O1", "use_pure_fp16": True}, "use_pure_fp16"),
        ({"level": "O1", "use_fp16_guard": True}, "static graph mode only"),
        ({"level": "O1", "custom_black_varnames": ["x"]}, "static graph mode only"),
    ],
)
def test_settings_of_precision_are_checked(configs, told):
    with pytest.raises(ValueError, match=told):
        prepared(amp_configs=configs)


def test_pure_float16_clips_by_norm_only():
    net = nn.Linear(4, 2)
    sgd = paddle.optimizer.SGD(0.1, net.parameters(), grad_clip=nn.ClipGradByValue(1.0))
    with pytest.raises(AssertionError, match="ClipGradByNorm"):
        paddle.Model(net).prepare(sgd, amp_configs="O2")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["dygraph", "static"])
def test_losses_are_scaled_in_mixed_precision(mode, fresh_programs):
    def losses(configs):
        return model_runs.in_mode(
            paddle, mode, lambda: model_runs.next_losses(paddle, prepared(amp_configs=configs))
        )

    mixed = losses({"level": "O1", "init_loss_scaling": 128.0, "custom_black_list": ["matmul"]})
    assert np.ravel(mixed) == pytest.approx(np.ravel(losses(None)), rel=2e-2)


@pytest.mark.filterwarnings("ignore:paddle.amp")
def test_a_model_in_mixed_precision_keeps_its_scaler(tmp_path):
    configs = {"level": "O1", "init_loss_scaling": 64.0}
    with paddle.utils.unique_name.guard():
        first = prepared(amp_configs=configs)
        for _ in range(2):
            first.train_batch([X], [Y])
    first.save(str(tmp_path / "model"))
    with paddle.utils.unique_name.guard():
        second = prepared(amp_configs=configs)
        second.train_batch([X], [Y])
    assert second._scaler.state_dict() != first._scaler.state_dict()
    second.load(str(tmp_path / "model"))
    assert second._scaler.state_dict() == first._scaler.state_dict()


# -- files


def test_parameters_that_do_not_fit_are_an_error_or_left_out(tmp_path):
    path = str(tmp_path / "model")
    prepared().save(path)
    other = paddle.Model(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 7)))
    with pytest.raises(ValueError, match=r"2\.weight receives a shape \[6, 3\]"):
        other.load(path)
    last = other.network[2].weight.numpy()
    with pytest.warns(UserWarning, match="Skip loading for 2"):
        other.load(path, skip_mismatch=True)
    np.testing.assert_array_equal(other.network[2].weight.numpy(), last)
    loaded = paddle.load(f"{path}.pdparams", return_numpy=True)
    np.testing.assert_array_equal(other.network[0].weight.numpy(), loaded["0.weight"])
    more = paddle.Model(nn.Sequential(*prepared().network, nn.Linear(3, 1)))
    with pytest.raises(ValueError, match=r"3\.\w+ is not found"):
        more.load(path)


def test_the_optimizer_may_start_anew(tmp_path):
    path = str(tmp_path / "model")
    with paddle.utils.unique_name.guard():
        model = prepared()
    model.train_batch([X], [Y])
    model.save(path)
    for reset, kept in ((False, True), (True, False)):
        with paddle.utils.unique_name.guard():
            new = prepared()
        new.load(path, reset_optimizer=reset)
        assert bool(new._optimizer.state_dict()) is kept


@pytest.mark.parametrize("mode", ["dygraph", "static"])
def test_there_must_be_a_file(mode, tmp_path, fresh_programs):
    model = model_runs.in_mode(paddle, mode, prepared)
    with pytest.raises(AssertionError, match="check path"):
        model.load(str(tmp_path / "none"))
    with pytest.raises(AssertionError, match="Unknown postfix"):
        model.load(str(tmp_path / "none.onnx"))


def test_a_file_of_optimizer_state_must_have_every_variable(static_mode, tmp_path):
    path = str(tmp_path / "model")
    model = prepared()
    model.save(path)
    state = paddle.load(f"{path}.pdopt", return_numpy=True)
    name = next(n for n in state if "moment1" in n)
    del state[name]
    paddle.save(state, f"{path}.pdopt")
    with pytest.raises(AssertionError, match="is not in optimizer state file"):
        model.load(path)


@pytest.mark.parametrize("mode", ["dygraph", "static"])
def test_a_network_is_saved_for_inference(mode, tmp_path, fresh_programs):
    path = str(tmp_path / "folder" / "net")

    def save():
        model = prepared()
        model.save(path, training=False)
        return model.predict_batch([X])[0]

    expected = model_runs.in_mode(paddle, mode, save)
    net = paddle.jit.load(path)
    np.testing.assert_allclose(net(paddle.to_tensor(X)).numpy(), expected, rtol=1e-6)


def test_inputs_for_inference_are_those_of_the_first_batch(tmp_path):
    net = nn.Linear(4, 2)
    model = paddle.Model(net)
    model.prepare()
    with pytest.raises(RuntimeError, match="needs 'inputs'"):
        model.save(str(tmp_path / "net"), training=False)
    model.predict_batch([X])
    with pytest.warns(UserWarning, match=r"\[\[2, 4\]\]"):
        model.save(str(tmp_path / "net"), training=False)


def test_a_program_for_inference_has_a_name(static_mode):
    with pytest.raises(ValueError, match="file_prefix is empty"):
        prepared().save("", training=False)
