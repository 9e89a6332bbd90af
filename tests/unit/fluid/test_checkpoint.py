"""``save_dygraph`` and ``load_dygraph``."""

import pickle

import numpy as np
import pytest

import paddle.fluid as fluid
from goldens import harness


@pytest.fixture(autouse=True)
def guard():
    with fluid.dygraph.guard():
        yield


def trained():
    layer = fluid.dygraph.Linear(2, 1)
    adam = fluid.optimizer.Adam(
        fluid.dygraph.ExponentialDecay(0.1, 1, 0.5), parameter_list=layer.parameters()
    )
    loss = fluid.layers.mean(layer(fluid.dygraph.to_variable(np.ones([1, 2], "float32"))))
    loss.backward()
    adam.minimize(loss)
    return layer, adam


def test_round_trip(tmp_path):
    layer, adam = trained()
    prefix = str(tmp_path / "new" / "model")
    fluid.save_dygraph(layer.state_dict(), prefix)
    fluid.save_dygraph(adam.state_dict(), prefix)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["model.pdopt", "model.pdparams"]
    for given in (prefix, prefix + ".pdparams", prefix + ".pdopt"):
        parameters, optimizer = fluid.load_dygraph(given)
        assert set(parameters) == {"weight", "bias"}
        np.testing.assert_array_equal(parameters["weight"], layer.weight.numpy())
        assert optimizer["LR_Scheduler"] == {"step_num": 1}
        assert optimizer["global_step"].tolist() == [1]
    with fluid.unique_name.guard():
        other, fresh = fluid.dygraph.Linear(2, 1), None
        other.set_dict(parameters)
        fresh = fluid.optimizer.Adam(
            fluid.dygraph.ExponentialDecay(0.1, 1, 0.5), parameter_list=other.parameters()
        )
        fresh.set_dict(optimizer)
    assert other.weight.tolist() == layer.weight.tolist()
    assert fresh._learning_rate.step_num == 1


def test_parameters_alone(tmp_path):
    layer, _ = trained()
    fluid.save_dygraph(layer.state_dict(), str(tmp_path / "m"))
    parameters, optimizer = fluid.load_dygraph(str(tmp_path / "m"), keep_name_table=True)
    assert optimizer is None
    assert parameters["StructuredToParameterName@@"] == {
        "weight": "linear_0.w_0",
        "bias": "linear_0.b_0",
    }


def test_files_are_plain_pickles_of_protocol_2(tmp_path):
    layer, _ = trained()
    fluid.save_dygraph(layer.state_dict(), str(tmp_path / "m"))
    content = (tmp_path / "m.pdparams").read_bytes()
    assert content[:2] == b"\x80\x02"
    assert b"numpy._core" not in content  # which NumPy 1 does not have
    loaded = pickle.loads(content)
    np.testing.assert_array_equal(loaded["weight"], layer.weight.numpy())


def test_files_of_real_paddle():
    prefix = harness.DATA / "fluid_checkpoint"
    parameters, optimizer = fluid.load_dygraph(str(prefix))
    layer = fluid.dygraph.Linear(2, 1)
    layer.set_dict(parameters)
    np.testing.assert_allclose(layer.weight.numpy(), [[0.5], [-1.5]], rtol=1e-6)
    adam = fluid.optimizer.Adam(
        fluid.dygraph.ExponentialDecay(0.1, 1, 0.5), parameter_list=layer.parameters()
    )
    adam.set_dict(optimizer)
    loss = fluid.layers.mean(layer(fluid.dygraph.to_variable(np.ones([1, 2], "float32"))))
    loss.backward()
    adam.minimize(loss)
    # the second step of a constant gradient moves by the rate, which has been halved once
    np.testing.assert_allclose(layer.weight.numpy(), [[0.45], [-1.55]], rtol=1e-5)


def test_errors(tmp_path):
    with pytest.raises(AssertionError, match="empty"):
        fluid.save_dygraph({}, str(tmp_path / "m"))
    with pytest.raises(AssertionError, match="folder"):
        fluid.save_dygraph({"a": 1}, str(tmp_path) + "/")
    with pytest.raises(RuntimeError, match="not exists"):
        fluid.load_dygraph(str(tmp_path / "nothing"))
