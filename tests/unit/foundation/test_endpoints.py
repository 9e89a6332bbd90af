import socket

import pytest

from argosy.foundation.endpoints import (
    Endpoint,
    bind_listener,
    endpoint_of,
    is_open,
    is_refused,
    parse,
    parse_list,
)
from argosy.foundation.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:6170", "127.0.0.1", 6170),
        ("[::1]:80", "::1", 80),
        (" node-1.local:0 ", "node-1.local", 0),
    ],
)
def test_parse(text, host, port):
    assert parse(text) == Endpoint(host, port)
    assert str(parse(text)) == text.strip()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("localhost", "expected 'host:port'"),
        (":80", "expected 'host:port'"),
        ("", "expected 'host:port'"),
        ("::1:80", "ambiguous"),
        ("host:", "must be a number"),
        ("host:http", "must be a number"),
        ("host:65536", "0 to 65535"),
        ("host:-1", "must be a number"),
        ("host:١", "must be a number"),
    ],
)
def test_errors_name_the_variable_and_the_text(text, problem):
    with pytest.raises(ConfigError, match=problem) as caught:
        parse(text, "PADDLE_MASTER")
    assert str(caught.value).startswith("PADDLE_MASTER: ")
    assert repr(text) in str(caught.value)


def test_lists():
    assert parse_list("a:1,[::1]:2") == (Endpoint("a", 1), Endpoint("::1", 2))
    assert parse_list("a:1;b:2,") == (Endpoint("a", 1), Endpoint("b", 2))


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "expected a list"), (",", "expected a list"), ("a:1,b:2,a:1", "a:1 appears twice")],
)
def test_wrong_lists(text, problem):
    with pytest.raises(
        ConfigError,
        match=f"PADDLE_TRAINER_ENDPOINTS: .*{problem}|PADDLE_TRAINER_ENDPOINTS: {problem}",
    ):
        parse_list(text, "PADDLE_TRAINER_ENDPOINTS")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_listener_has_a_port_of_its_own(host):
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        first = bind_listener(host)
    except ConfigError:
        pytest.skip(f"{host} is not configured here")
    with first, bind_listener(host) as second:
        assert endpoint_of(first).host == host
        assert endpoint_of(first).port not in (0, endpoint_of(second).port)
        with socket.create_connection((host, endpoint_of(first).port), 5):
            pass


def test_a_taken_port_is_an_error():
    with (
        bind_listener() as taken,
        pytest.raises(ConfigError, match=rf"127.0.0.1:{endpoint_of(taken).port}: "),
    ):
        bind_listener(port=endpoint_of(taken).port)


def test_a_foreign_address_is_an_error():
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1:0"):
        bind_listener("192.0.2.1")


def test_an_endpoint_is_open_while_somebody_listens():
    with bind_listener() as listener:
        endpoint = endpoint_of(listener)
        assert is_open(endpoint)
        assert not is_refused(endpoint)
    assert not is_open(endpoint)
    assert is_refused(endpoint)


def test_who_says_nothing_has_not_refused(monkeypatch):
    def nothing(*args):
        raise TimeoutError

    monkeypatch.setattr("socket.create_connection", nothing)
    assert not is_refused(Endpoint("192.0.2.1", 1))
    assert not is_open(Endpoint("192.0.2.1", 1))
