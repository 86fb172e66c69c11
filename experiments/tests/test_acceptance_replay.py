# SPDX-License-Identifier: Apache-2.0
"""Recordings replayed: a run on Mininet, and files that are none or differ."""

from __future__ import annotations

import io
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from command_line import docsis_p4
from rich.console import Console

from docsis_experiments.acceptance import replay
from docsis_testbed import switch_report
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RUN_STATE


def report(**changes: Any) -> dict[str, Any]:
    """Makes the switch's report of a recording that is the same."""
    counts = dict.fromkeys((key for _, key in replay._ROWS), 7)
    said = {
        "file": "/somewhere/cm1.rec", "device_id": 1, "ended": "stopped",
        "first_ns": 0, "last_ns": 2_000_000_000, "dropped": {"ingress": 3, "queue_full": 1},
        **counts, "first_difference": None,
    }  # fmt: skip
    return {**said, **changes}


def said_of(*reports: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    told = {"recordings": list(reports)}
    monkeypatch.setattr(switch_report, "run", lambda *arguments, differs: told)
    out = io.StringIO()
    replay.replay([Path("cm1.rec")], console=Console(file=out, width=100))
    return out.getvalue()


def test_the_table_has_every_switch_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    other = report(file="/somewhere/cmts1.rec", ended="limit", dropped={})
    said = said_of(report(), other, monkeypatch=monkeypatch)
    for words in ("cm1", "cmts1", "dropped: queue full", "2.000", "until its limit", "yes"):
        assert words in said


def test_a_difference_fails_with_what_when_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {
        "what": "the due time of a frame that leaves", "at_ns": 12, "port": 2,
        "recorded": "this", "replayed": "that",
    }  # fmt: skip
    with pytest.raises(TestbedError, match="due time of a frame .* at 12 ns, port 2"):
        said_of(report(first_difference=first), monkeypatch=monkeypatch)


def test_a_recording_of_nothing_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoVerdict, match="has no output"):
        said_of(report(same=0), monkeypatch=monkeypatch)


def test_what_is_no_recording_is_said(tmp_path: Path) -> None:
    file = tmp_path / "cm1.rec"
    file.write_bytes(b"something else")
    with pytest.raises(TestbedError, match="this is no recording"):
        replay.replay([file], console=Console(file=io.StringIO()))


@pytest.mark.parametrize("option", ["--seconds", "--tier", "--results"])
def test_options_of_a_run_have_no_place_beside_a_recording(option: str, tmp_path: Path) -> None:
    found = docsis_p4("accept", "replay", "--recording", str(tmp_path / "cm1.rec"), option, "20")
    assert found.returncode == 1
    assert found.stderr == (
        f"docsis-p4: {option} has no place here: --recording replays files and writes nothing\n"
    )


@pytest.mark.end_to_end
@pytest.mark.root
def test_a_run_on_mininet_happens_again(tmp_path: Path) -> None:
    from docsis_testbed.testbed import root_interfaces

    topology = replay.topology(None)
    # It raises where anything differs.
    folder = replay.run(
        topology, seconds=1.0, console=Console(file=io.StringIO()), results=tmp_path
    )
    document: dict[str, Any] = json.loads((folder / replay.DOCUMENT).read_text())
    assert [r["device_id"] for r in document["recordings"]] == [
        topology.cable_modem.device_id,
        topology.cmts.device_id,
    ]
    for recorded in document["recordings"]:
        assert recorded["ended"] == "stopped"
        assert recorded["first_difference"] is None
        assert recorded["frames_out"] > 100
    # The controller read and wrote the modem's queues every 16 ms.
    assert document["recordings"][0]["requests"] > 100
    present = {name for _, name in socket.if_nameindex()}
    assert not present & set(root_interfaces(topology))
    assert not list(RUN_STATE.glob("*.json"))
