"""What a process calls itself, by the variables of each launcher."""

from __future__ import annotations

import pytest

from argosy.foundation import env
from argosy.runtime.observe.label import is_server, own_label

SERVERS = {"PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:70,10.0.0.2:70"}
WORLD = {"PADDLE_TRAINERS_NUM": "4", "PADDLE_TRAINER_ID": "3"}
POD = {"POD_IP": "10.0.0.2", "PADDLE_PORT": "70"}


@pytest.mark.parametrize(
    ("variables", "label"),
    [
        ({}, "rank 0"),
        (WORLD, "rank 3"),  # ours, without servers
        ({**WORLD, "TRAINING_ROLE": "TRAINER"}, "rank 3"),  # ours, in a pod of paddle-operator
        ({**WORLD, **SERVERS, "TRAINING_ROLE": "TRAINER", "PADDLE_ROLE": "TRAINER"}, "worker 3"),
        ({**SERVERS, "TRAINING_ROLE": "PSERVER", "PADDLE_PSERVER_ID": "2"}, "server 2"),
        ({**SERVERS, "PADDLE_ROLE": "PSERVER", "PADDLE_PSERVER_ID": "1"}, "server 1"),
        ({**SERVERS, **POD, "TRAINING_ROLE": "PSERVER"}, "server 1"),  # a pod without launcher
    ],
)
def test_a_process_is_called_as_in_the_launchers_table(monkeypatch, variables, label):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert own_label() == label
    assert is_server(label) == ("server" in label)


def test_what_other_launchers_set_is_translated_first(monkeypatch):
    complete = {"PADDLE_TRAINER_ID": "1", "PADDLE_TRAINERS_NUM": "2"}
    translate = [lambda: [monkeypatch.setenv(*pair) for pair in complete.items()]]
    monkeypatch.setattr(env, "_descriptions", translate)
    assert own_label() == "rank 1"
