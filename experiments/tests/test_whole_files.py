# SPDX-License-Identifier: Apache-2.0
"""A full disk leaves no file that could be taken for a whole one, and readers say so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from docsis_experiments.stages.mininet.run import _rows
from docsis_experiments.stages.mininet.traffic import capture, flows, requests
from docsis_experiments.stages.mininet.traffic.whole_files import whole
from docsis_testbed.errors import TestbedError

PATIENCE = 60.0

# A process cannot write files longer than 20,000 bytes, as if the disk were full.
FULL = """
import resource
import sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
path = Path(sys.argv[1])
"""

CAPTURE = """
from docsis_experiments.stages.mininet.traffic.capture import Counted, leave
counts = {"sender": Counted(9, 0), "receiver": Counted(9, 0)}
leave(counts, ((5201, number, 1000) for number in range(10_000)), path)
"""

REQUESTS = """
import socket
from docsis_experiments.stages.mininet.traffic.requests import Client
client = Client(socket.socket(), 1, 64)
client.asked = list(range(10_000))
client.answered = [None] * 10_000
client.write(path)
"""

RETRANSMITTED = """
from docsis_experiments.stages.mininet.traffic.flows import write_retransmitted
write_retransmitted({f"flow-{number}": 1000 for number in range(10_000)}, path)
"""


@pytest.mark.parametrize(
    ("program", "reader"),
    [
        (CAPTURE, _rows),
        (REQUESTS, requests.read_round_trips),
        (RETRANSMITTED, flows.read_retransmitted),
    ],
)
def test_a_full_disk_leaves_no_file_that_could_be_taken_for_a_whole_one(
    program: str, reader: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "left.csv"
    command = [sys.executable, "-c", FULL + program, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 1
    assert "OSError" in ended.stderr
    # It had begun.
    assert path.with_name("left.csv.part").stat().st_size == 20_000
    with pytest.raises(TestbedError, match=r"left\.csv: .*log beside it may say why"):
        reader(path)


def test_a_file_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "left.csv"
    with whole(path) as part:
        part.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_regular_file_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(OSError, match="is no regular file"), whole(path) as part:
        part.write_text("in its place")
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


def test_a_capture_that_is_left_is_read(tmp_path: Path) -> None:
    path = tmp_path / "captured.csv"
    found: dict[capture.End, capture.Counted] = {
        "sender": capture.Counted(2, 0),
        "receiver": capture.Counted(1, 0),
    }
    capture.leave(found, [(5201, 10, 3), (5201, 20, None)], path)
    assert capture.counts(path) == found
    assert _rows(path) == [
        {"port": "5201", "sent_ns": "10", "delay_ns": "3"},
        {"port": "5201", "sent_ns": "20", "delay_ns": ""},
    ]
    assert {one.name for one in tmp_path.iterdir()} == {"captured.csv", "captured.json"}
