"""Config: names of files, what is kept, what is refused; defaults are those of Paddle 3.3.1."""

from __future__ import annotations

import pytest

from paddle.inference import (
    Config,
    DataType,
    PlaceType,
    PrecisionType,
    XpuConfig,
    get_num_bytes_of_data_type,
    get_trt_compile_version,
    get_version,
)


def places(config):
    return config.model_dir(), config.prog_file(), config.params_file()


def test_names_of_files_are_kept():
    assert places(Config()) == ("", "", "")
    config = Config("folder")
    assert places(config) == ("folder", "", "")
    config.set_model("model", "params")
    assert places(config) == ("folder", "model", "params")
    config.set_model("other")
    config.set_prog_file("p")
    config.set_params_file("q")
    assert places(config) == ("other", "p", "q")
    assert places(Config(config)) == ("other", "p", "q")
    with pytest.raises(TypeError, match="received int"):
        Config(3)


def test_defaults_are_paddles():
    config = Config()
    asked = {
        "use_gpu": False,
        "gpu_device_id": 0,
        "memory_pool_init_size_mb": 100,
        "fraction_of_gpu_memory_for_pool": 0.0,
        "ir_optim": True,
        "use_feed_fetch_ops_enabled": False,
        "specify_input_name": False,
        "cpu_math_library_num_threads": 1,
        "mkldnn_enabled": True,
        "onednn_enabled": True,
        "mkldnn_int8_enabled": False,
        "tensorrt_engine_enabled": False,
        "tensorrt_precision_mode": PrecisionType.Float32,
        "tensorrt_dynamic_shape_enabled": False,
        "tensorrt_optimization_level": 3,
        "tuned_tensorrt_dynamic_shape": False,
        "trt_allow_build_at_runtime": False,
        "shape_range_info_path": "",
        "onnxruntime_enabled": False,
        "model_from_memory": False,
        "glog_info_disabled": False,
        "use_xpu": False,
        "xpu_device_id": 0,
        "new_ir_enabled": False,
        "openvino_engine_enabled": False,
    }
    assert {name: getattr(config, name)() for name in asked} == asked


def test_what_tunes_is_kept():
    config = Config()
    config.switch_ir_optim(False)
    config.switch_specify_input_names()
    config.set_cpu_math_library_num_threads(4)
    config.disable_mkldnn()
    config.enable_mkldnn_int8({"conv2d"})
    config.disable_glog_info()
    config.enable_new_ir()
    config.set_trt_dynamic_shape_info({"x": [1]}, {"x": [4]}, {"x": [2]})
    config.set_tensorrt_optimization_level(5)
    copy = Config(config)
    config.switch_ir_optim()
    assert config.ir_optim()
    assert not copy.ir_optim()
    assert copy.specify_input_name()
    assert copy.cpu_math_library_num_threads() == 4
    assert not copy.mkldnn_enabled()
    assert copy.mkldnn_int8_enabled()
    assert copy.glog_info_disabled()
    assert copy.new_ir_enabled()
    assert copy.tensorrt_dynamic_shape_enabled()
    assert copy.tensorrt_optimization_level() == 5


def test_wrong_values_are_refused_at_once():
    config = Config()
    with pytest.raises(TypeError, match="must be a int"):
        config.set_cpu_math_library_num_threads("4")
    with pytest.raises(ValueError, match="0 to 5"):
        config.set_tensorrt_optimization_level(9)
    with pytest.raises(AttributeError):
        config.unknown = 1


@pytest.mark.parametrize(
    "method",
    ["enable_tensorrt_engine", "enable_xpu", "enable_ipu", "enable_cinn", "quantizer_config"],
)
def test_engines_that_paddle_for_cpus_lacks_raise_as_there(method):
    with pytest.raises(RuntimeError, match=f"{method}: there is no support"):
        getattr(Config(), method)()


@pytest.mark.parametrize("method", ["enable_tensorrt_memory_optim", "enable_low_precision_io"])
def test_what_needs_another_switch_says_so(method):
    with pytest.raises(ValueError, match=f"Config.{method}"):
        getattr(Config(), method)()


def test_what_would_change_results_or_files_is_refused():
    with pytest.raises(NotImplementedError, match="no optimized form"):
        Config().enable_save_optim_model(True)
    with pytest.raises(NotImplementedError, match="no optimized form"):
        Config().use_optimized_model()
    with pytest.raises(NotImplementedError, match="passes over Paddle's IR"):
        Config().enable_custom_passes(["mine"])
    with pytest.raises(NotImplementedError, match="TensorRT"):
        Config().collect_shape_range_info("shapes.txt")


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        (lambda c: c.enable_use_gpu(100, 0, PrecisionType.Half), "use_gpu"),
        (lambda c: c.enable_onnxruntime(), "onnxruntime_enabled"),
        (lambda c: c.enable_openvino_engine(), "openvino_engine_enabled"),
        (lambda c: c.enable_lite_engine(), "lite_engine_enabled"),
    ],
)
def test_what_is_lacking_is_logged_and_the_cpu_computes(method, asked, caplog, monkeypatch):
    monkeypatch.setattr("argosy.device.cuda.device_count", lambda: 0)
    config = Config()
    method(config)
    assert not getattr(config, asked)()
    assert "computes" in caplog.text


def test_lists_of_passes_are_kept():
    config = Config()
    passes = config.pass_builder()
    passes.set_passes(["a", "b", "c"])
    config.delete_pass("b")
    config.delete_pass("unknown")
    passes.append_pass("d")
    passes.insert_pass(0, "first")
    assert passes.all_passes() == ["first", "a", "c", "d"]
    copy = Config(config)
    passes.delete_pass("a")
    assert copy.pass_builder().all_passes() == ["first", "a", "c", "d"]


def test_the_summary_is_paddles_table():
    config = Config()
    config.set_prog_file("net.pdmodel")
    config.set_params_file("net.pdiparams")
    config.set_cpu_math_library_num_threads(7)
    lines = config.summary().splitlines()
    assert lines[:8] == [
        "",
        "+------------------------------+---------------+",
        "| Option                       | Value         |",
        "+------------------------------+---------------+",
        "| model_file                   | net.pdmodel   |",
        "| params_file                  | net.pdiparams |",
        "+------------------------------+---------------+",
        "| cpu_math_thread              | 7             |",
    ]
    assert "| ir_optim                     | true          |" in lines


def test_kinds_print_as_paddles_and_equal_no_numbers():
    assert repr(PrecisionType.Half) == "<Precision.Half: 2>"
    assert str(PrecisionType.Half) == "Precision.Half"
    assert int(PrecisionType.Half) == 2
    assert PrecisionType.Half != 2
    assert Config.Precision.Int8 is PrecisionType.Int8 is Config.Int8
    assert repr(DataType.INT64) == "<PaddleDType.INT64: 1>"
    assert repr(PlaceType.UNK) == "<PaddlePlace.UNK: -1>"
    assert [get_num_bytes_of_data_type(kind) for kind in (DataType.FLOAT32, DataType.INT64)] == [
        4,
        8,
    ]
    with pytest.raises(TypeError, match="must be a PaddleDType"):
        get_num_bytes_of_data_type("float32")


def test_settings_of_xpus_are_checked_and_refused():
    settings = XpuConfig()
    settings.device_id = 3
    assert (settings.device_id, settings.gemm_compute_precision) == (3, 1)
    with pytest.raises(TypeError, match="must be a int"):
        settings.device_id = "a"
    with pytest.raises(AttributeError):
        settings.unknown = 1
    with pytest.raises(RuntimeError, match="XPUs"):
        Config().set_xpu_config(settings)


def test_versions_are_told_in_paddles_lines():
    assert get_version().splitlines()[0].startswith("version: ")
    assert get_trt_compile_version() == (0, 0, 0)
