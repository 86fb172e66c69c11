# SPDX-License-Identifier: Apache-2.0
"""Parsing of what irtt and iperf3 said on a plain veth pair (recorded in data/)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docsis_control.lengths import frame_length
from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.stages.mininet.run import packets_of_call
from docsis_experiments.stages.mininet.traffic import iperf3, irtt
from docsis_testbed.errors import TestbedError

DATA = Path(__file__).parent / "data"


@pytest.fixture
def trips() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((DATA / "irtt.json").read_text())
    return recorded


def test_probe_is_a_frame_of_218_bytes_with_its_crc() -> None:
    # As 000 has it: 20 ms of G.711, and headers of RTP, UDP, IPv4 and Ethernet.
    assert irtt.PAYLOAD_BYTES == 160 + 12
    assert frame_length(14 + 20 + 8 + irtt.PAYLOAD_BYTES) == 218
    command = irtt.client_command("10.0.0.101", 30.0, Path("out.json"))
    assert command[command.index("-l") + 1] == "172"
    assert command[command.index("-i") + 1] == "20ms"
    assert command[command.index("-d") + 1] == "30000ms"


def test_one_way_delay_is_server_receive_less_client_send(trips: dict[str, Any]) -> None:
    probes = irtt.parse(trips)
    assert probes.sent_ns.size == 20
    assert probes.arrived.all()
    # irtt's own figure, from the same clocks.
    expected = [trip["delay"]["send"] / 1e6 for trip in trips["round_trips"]]
    np.testing.assert_allclose(probes.delay_ms, expected, atol=0.01)


def lose(trips: dict[str, Any], way: str, *numbers: int) -> None:
    """No reply came to these packets, and irtt says which way they were lost."""
    for number in numbers:
        trip = trips["round_trips"][number]
        trip["lost"] = way
        del trip["timestamps"]["server"]
        del trip["timestamps"]["client"]["receive"]


@pytest.mark.parametrize(("lost", "arrived"), [("true_up", False), ("true_down", True)])
def test_only_upstream_losses_count(trips: dict[str, Any], lost: str, arrived: bool) -> None:
    lose(trips, lost, 4)
    probes = irtt.parse(trips)
    assert bool(probes.arrived[4]) is arrived
    assert np.isnan(probes.delay_ms[4])
    assert probes.delays.size == 19
    assert loss_percent(packets_of_call(probes, 0, 0.0)) == pytest.approx(0.0 if arrived else 5.0)
    assert probes.undetermined == 0


@pytest.mark.parametrize(
    ("received", "arrived"), [(20, 3), (19, 2), (18, 1), (17, 0), (16, 0), (98, 3)]
)
def test_server_says_how_many_came_where_no_reply_tells(
    trips: dict[str, Any], received: int, arrived: int
) -> None:
    """A gap longer than the window of irtt's replies leaves each packet's way unknown."""
    lose(trips, "true", 4, 5, 6)
    trips["stats"]["server_packets_received"] = received
    probes = irtt.parse(trips)
    assert int(probes.arrived[4:7].sum()) == arrived
    assert int(probes.arrived.sum()) == 17 + arrived
    assert probes.undetermined == 0


def test_after_the_last_reply_nobody_knows(trips: dict[str, Any]) -> None:
    # The server's count came with the last reply, so it does not tell of what was sent later.
    lose(trips, "true", 18, 19)
    trips["stats"]["server_packets_received"] = 18
    probes = irtt.parse(trips)
    assert not probes.arrived[18:].any()
    assert probes.undetermined == 2
    assert probes.between(0, int(probes.sent_ns[18])).undetermined == 0


def test_quality_of_a_call_is_that_of_its_way(trips: dict[str, Any]) -> None:
    def quality() -> float:
        packets = packets_of_call(irtt.parse(trips), 0, 0.0)
        return voice.mos(packets.delays, loss_percent(packets) / 100)

    whole = quality()
    lose(trips, "true_down", *range(2, 10))
    # The talker's packets all came, and it is these that are listened to.
    assert quality() == pytest.approx(whole, abs=0.01)
    for number in range(2, 10):
        trips["round_trips"][number]["lost"] = "true_up"
    assert quality() < 2.5


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


@pytest.mark.parametrize("content", [b"", b'{"version": {"json_', b"no JSON", b"\xff", b"[]", b"7"])
def test_files_that_are_not_of_irtt_are_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "irtt.json"
    path.write_bytes(content)
    with pytest.raises(TestbedError, match=r"irtt\.json: not a result of irtt .* another try"):
        irtt.load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'"server": \{', '"server": null, "other": {'),
        (r'"wall": \d+', '"wall": "noon"'),
        (r'"wall": \d+', '"wall": 1e400'),
        (r'"wall": \d+', f'"wall": {10**30}'),
        (r'"round_trips": \[', '"round_trips": null, "other": ['),
        (r'"server_packets_received": \d+', '"server_packets_received": "all"'),
    ],
)
def test_results_of_irtt_with_something_else_in_them_are_told(
    old: str, new: str, tmp_path: Path, trips: dict[str, Any]
) -> None:
    # With a gap, so that the server's count is used.
    trips["round_trips"][3]["lost"] = "true"
    path = tmp_path / "irtt.json"
    content, changed = re.subn(old, new, json.dumps(trips))
    assert changed
    path.write_text(content)
    with pytest.raises(TestbedError, match=r"irtt\.json: not a result of irtt .* another try"):
        irtt.load(path)


def test_upload_result() -> None:
    result = iperf3.load(DATA / "iperf3-client.json")
    assert result == iperf3.UploadResult(5111808, 2.016061, "cubic")


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
