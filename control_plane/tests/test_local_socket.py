# SPDX-License-Identifier: Apache-2.0
"""Controllers are found by their sockets, also from where their process is not seen."""

import os
import socket
from pathlib import Path

import pytest

from docsis_control import local_socket

ELSEWHERE = 2**31 - 1
"""No process id here: the kernel's largest is 2^22."""


def listener(folder: Path, pid: int) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(local_socket.socket_of(folder, pid)))
    made.listen()
    return made


def test_one_in_another_pid_namespace_is_found_and_left_alone(tmp_path: Path) -> None:
    path = local_socket.socket_of(tmp_path, ELSEWHERE)
    with listener(tmp_path, ELSEWHERE):
        assert local_socket.running(tmp_path) == {ELSEWHERE: path}
        local_socket.remove_dead(tmp_path)
        assert path.exists()
    assert local_socket.running(tmp_path) == {}
    local_socket.remove_dead(tmp_path)
    assert not path.exists()


def test_a_process_has_the_id_that_others_see(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_socket.own_pid() == os.getpid()
    # As in a PID namespace that sees the /proc of another.
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert local_socket.own_pid() != 1
