# SPDX-License-Identifier: Apache-2.0
"""Parsing of what irtt and iperf3 said on a plain veth pair (recorded in data/)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docsis_testbed.errors import TestbedError
from docsis_testbed.traffic import iperf3, irtt

DATA = Path(__file__).parent / "data"


@pytest.fixture
def trips() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((DATA / "irtt.json").read_text())
    return recorded


def test_probe_is_a_frame_of_218_bytes() -> None:
    assert irtt.PAYLOAD_BYTES + 8 + 20 + 14 == 218
    command = irtt.client_command("10.0.0.101", 30.0, Path("out.json"))
    assert command[command.index("-l") + 1] == "176"
    assert command[command.index("-i") + 1] == "20ms"
    assert command[command.index("-d") + 1] == "30000ms"


def test_one_way_delay_is_server_receive_less_client_send(trips: dict[str, Any]) -> None:
    probes = irtt.parse(trips)
    assert probes.sent_ns.size == 20
    assert probes.arrived.all()
    # irtt's own figure, from the same clocks.
    expected = [trip["delay"]["send"] / 1e6 for trip in trips["round_trips"]]
    np.testing.assert_allclose(probes.delay_ms, expected, atol=0.01)
    assert probes.loss_ratio == 0.0


@pytest.mark.parametrize(
    ("lost", "arrived"), [("true", False), ("true_up", False), ("true_down", True)]
)
def test_only_upstream_losses_count(trips: dict[str, Any], lost: str, arrived: bool) -> None:
    trip = trips["round_trips"][4]
    trip["lost"] = lost
    del trip["timestamps"]["server"]
    del trip["timestamps"]["client"]["receive"]
    probes = irtt.parse(trips)
    assert bool(probes.arrived[4]) is arrived
    assert np.isnan(probes.delay_ms[4])
    assert probes.delays.size == 19
    assert probes.loss_ratio == pytest.approx(0.0 if arrived else 0.05)


def test_window_takes_packets_by_the_time_of_sending(trips: dict[str, Any]) -> None:
    probes = irtt.parse(trips)
    chosen = probes.between(int(probes.sent_ns[5]), int(probes.sent_ns[10]))
    np.testing.assert_array_equal(chosen.sent_ns, probes.sent_ns[5:10])


def test_other_formats_are_refused(tmp_path: Path, trips: dict[str, Any]) -> None:
    trips["version"]["json_format"] = 2
    path = tmp_path / "irtt.json"
    path.write_text(json.dumps(trips))
    with pytest.raises(TestbedError, match="json_format 2, expected 1"):
        irtt.load(path)
    with pytest.raises(TestbedError, match="left no result"):
        irtt.load(tmp_path / "missing.json")


def test_upload_result() -> None:
    result = iperf3.load(DATA / "iperf3-client.json")
    assert result == iperf3.UploadResult(5111808, 2.016061, 0, "cubic")


def test_uploads_name_cubic() -> None:
    command = iperf3.client_command("10.0.0.101", 5201, 30.0)
    assert command[command.index("--congestion") + 1] == "cubic"


def test_another_congestion_control_is_an_error(tmp_path: Path) -> None:
    recorded = json.loads((DATA / "iperf3-client.json").read_text())
    recorded["end"]["sender_tcp_congestion"] = "bbr"
    path = tmp_path / "client.json"
    path.write_text(json.dumps(recorded))
    with pytest.raises(TestbedError, match="iperf3 used bbr, not cubic"):
        iperf3.load(path)


def test_iperf3s_own_error_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text(json.dumps({"start": {}, "error": "unable to connect to server"}))
    with pytest.raises(TestbedError, match="iperf3 failed: unable to connect"):
        iperf3.load(path)
