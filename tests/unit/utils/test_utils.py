"""paddle.utils and paddle.version."""

from collections import namedtuple

import pytest

from argosy import sysconfig, utils, version
from argosy.utils import unique_name
from argosy.utils._deprecated import VisibleDeprecationWarning

Point = namedtuple("Point", "x y")


def test_unique_names_restart_in_a_guard():
    with unique_name.guard():
        assert unique_name.generate("fc") == "fc_0"
        with unique_name.guard("outer/"):
            assert unique_name.generate("fc") == "outer/fc_0"
        with unique_name.guard(b"bytes_"):
            assert unique_name.generate("fc") == "bytes_fc_0"
        assert unique_name.generate("fc") == "fc_1"


def test_unique_names_switch_back():
    with unique_name.guard():
        unique_name.generate("fc")
        old, _ = unique_name.switch()
        assert unique_name.generate("fc") == "fc_0"
        unique_name.switch(old)
        assert unique_name.generate("fc") == "fc_1"
        with pytest.raises(ValueError):
            unique_name.switch("counters")
        with pytest.raises(ValueError):
            unique_name.guard(3)


def test_structures_round_trip():
    nest = {"b": [1, (2, 3)], "a": Point(4, {"z": 5})}
    assert utils.flatten(nest) == [4, 5, 1, 2, 3]
    doubled = utils.map_structure(lambda x: 2 * x, nest)
    assert doubled == {"b": [2, (4, 6)], "a": Point(8, {"z": 10})}
    assert list(doubled) == ["b", "a"]
    assert utils.flatten("abc") == ["abc"]
    assert utils.pack_sequence_as(nest, utils.flatten(nest)) == nest


def test_structure_errors():
    with pytest.raises(ValueError, match="has 2 leaves, but received 3"):
        utils.pack_sequence_as([1, 2], [1, 2, 3])
    with pytest.raises(TypeError):
        utils.pack_sequence_as([1], 1)
    with pytest.raises(TypeError, match="sorted"):
        utils.flatten({1: 1, "a": 2})
    utils.assert_same_structure([1, (2,)], [3, (4,)])
    for other, kind in (([1, [2]], TypeError), ([1, 2], ValueError), ([1, (2, 3)], ValueError)):
        with pytest.raises(kind):
            utils.assert_same_structure([1, (2,)], other)
    utils.assert_same_structure([1, (2,)], [1, [2]], check_types=False)


def test_convert_to_list():
    assert utils.convert_to_list(3, 2, "stride") == [3, 3]
    assert utils.convert_to_list((1, 2), 2, "stride") == [1, 2]
    for value in ((1, 2, 3), "ab", 1.5):
        with pytest.raises(ValueError, match="stride"):
            utils.convert_to_list(value, 2, "stride")


def test_try_import():
    assert utils.try_import("math").pi > 3
    with pytest.raises(ImportError, match="pip install opencv-python"):
        utils.try_import("cv2")
    with pytest.raises(ImportError, match="mine"):
        utils.try_import("no_such_module", "mine")


def test_deprecated():
    @utils.deprecated(update_to="paddle.new", since="2.0", reason="old", level=1)
    def f():
        """Do it."""
        return 3

    with pytest.warns(VisibleDeprecationWarning, match=r'since 2.0.*use "paddle.new" instead'):
        assert f() == 3
    assert "Do it." in f.__doc__
    assert "Warning" in f.__doc__
    with pytest.raises(RuntimeError, match="has been deprecated"):
        utils.deprecated(level=2)(lambda: 1)()
    silent = lambda: 1  # noqa: E731
    assert utils.deprecated()(silent) is silent
    with pytest.raises(AssertionError):
        utils.deprecated(level=3)


def test_require_version():
    utils.require_version("2.0")
    utils.require_version("2.0", "3.3.1")
    for wrong in (("9.0",), ("1.0", "3.0"), ("abc",)):
        with pytest.raises(ValueError):
            utils.require_version(*wrong)
    with pytest.raises(TypeError):
        utils.require_version(3)


def test_require_version_reads_the_module(monkeypatch):
    for name, value in zip(("major", "minor", "patch", "rc"), "1410", strict=True):
        monkeypatch.setattr(version, name, value)
    utils.require_version("1.4.1", "1.6.0")
    with pytest.raises(ValueError, match=r"1\.4\.1\.0"):
        utils.require_version("1.5")
    for name in ("major", "minor", "patch", "rc"):
        monkeypatch.setattr(version, name, "0")
    with pytest.warns(UserWarning, match="is not compared"):
        utils.require_version("9.0")


def test_run_check(capsys):
    utils.run_check()
    assert "installed successfully" in capsys.readouterr().out


def test_version(capsys):
    assert version.full_version == "3.3.1"
    assert (version.major, version.minor, version.patch) == ("3", "3", "1")
    version.show()
    out = capsys.readouterr().out
    assert "full_version: 3.3.1" in out
    assert f"argosy: {version.argosy_version()}" in out
    assert isinstance(version.cuda(), str)
    assert isinstance(version.cudnn(), str)
    assert isinstance(version.nccl(), str)


def test_sysconfig_points_at_torch():
    assert sysconfig.get_include().endswith("torch/include")
    assert sysconfig.get_lib().endswith("torch/lib")
