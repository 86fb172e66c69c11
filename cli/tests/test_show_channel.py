# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 show channel`: what a switch tells of an upstream channel, as tables and as JSON."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest
from channel_states import state
from command_line import docsis_p4
from rich.console import Console
from test_show import STATUS, controller

from docsis_cli import channel_tables as view
from docsis_control.mac.channel_state import FlowName, channel_from
from docsis_control.status.model import Status
from docsis_control.status.upstream import UpstreamChannel, decode_channels
from docsis_testbed.errors import TestbedError


def channel(name: str = "us1") -> UpstreamChannel:
    return channel_from(
        state(name).SerializeToString(),
        lambda _device, _queue: FlowName("cm1", 1, "primary upstream"),
    )


def status(*channels: UpstreamChannel) -> Status:
    return dataclasses.replace(STATUS, upstream_channels=channels)


def lines_of(status: Status, *, in_detail: bool = False) -> list[str]:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(view.render(status, in_detail=in_detail))
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_the_tables_hold_every_figure() -> None:
    lines = lines_of(status(channel()))
    assert lines[0].startswith("residential, controller 4242; ")
    assert "Upstream channel us1, docsis-1.1-004, for 61.2 s" in lines
    assert "MAPs 30600 30 bytes each, 12 stretched" in lines
    told = "contention 15.0%, maintenance 3.7%, polls 0.0%, grants 40.8%"
    assert f"minislots 2448192 {told}" in lines
    assert "granted 1000000 used 96.0%, wasted 40000 (4.0%)" in lines
    assert "opportunities 367200 used 9000 (2.5%), collided 1000 (0.3%)" in lines
    told = "contention 10100, of which collided 2100 (20.8%); polls 0; bursts 3000"
    assert f"requests 13100 {told}" in lines
    assert "grants 11000 unsolicited 0; polls 0; pending marks 40" in lines
    told = "mean 5.00, p50 4.00, p90 9.00, p99 9.00, longest 9.00 ms"
    assert f"request to grant 4 {told}" in lines
    assert "1 cm1 primary 10100 2100 0 3000 11000 7 1000000 4.0% 10990 3" in lines
    assert "30598 0.000 80 12 0 1 50 48 2 2 2 0" in lines
    assert "30599 2.000 80 12 0 1 50 0 0 1 0 1" in lines


def test_faults_are_told() -> None:
    one = channel()
    counted = dataclasses.replace(one.counters, maps_lost=2, missed=3)
    lines = lines_of(status(dataclasses.replace(one, counters=counted)))
    assert any(line.endswith("stretched, 2 lost: a fault") for line in lines)
    assert any("unsolicited 0, 3 missed: a fault" in line for line in lines)


def test_a_channel_that_has_done_nothing_is_no_division_by_zero() -> None:
    one = channel()
    none = type(one.counters)(**dict.fromkeys(vars(one.counters), 0))
    delays = dataclasses.replace(
        one.request_to_grant, count=0, mean_ms=None, p50_ms=None, p90_ms=None, p99_ms=None,
        max_ms=None,
    )  # fmt: skip
    lines = lines_of(
        status(
            dataclasses.replace(
                one, counters=none, request_to_grant=delays, service_flows=(), last_maps=()
            )
        )
    )
    assert "granted 0 used -, wasted 0 (-)" in lines
    assert not any(line.startswith("Last MAPs") for line in lines)


def test_of_many_flows_the_busiest_are_shown_unless_the_channel_is_named() -> None:
    one = channel()
    (flow,) = one.service_flows
    many = tuple(
        dataclasses.replace(flow, sid=sid, minislots_granted=1000 * sid) for sid in range(1, 41)
    )
    told = status(dataclasses.replace(one, service_flows=many))
    lines = lines_of(told)
    shown = [line for line in lines if " cm1 primary " in line]
    assert [int(line.split()[0]) for line in shown] == list(range(25, 41))
    assert any(line.startswith("The 16 with the most minislots, of 40;") for line in lines)
    assert sum(" cm1 primary " in line for line in lines_of(told, in_detail=True)) == 40


def test_one_is_chosen_by_name() -> None:
    both = status(channel("us1"), channel("us2"))
    assert view.chosen(both, None) is both
    assert [one.name for one in view.chosen(both, "us2").upstream_channels] == ["us2"]
    with pytest.raises(TestbedError, match='no upstream channel "us3"; there are us1, us2'):
        view.chosen(both, "us3")
    with pytest.raises(TestbedError, match="residential has no upstream channel with a"):
        view.chosen(STATUS, None)


def test_the_command_shows_tables_and_json(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with controller(tmp_path, status(channel("us1"), channel("us2"))):
        tables = docsis_p4("show", "channel", "us2", "--status-folder", folder)
        listed = docsis_p4("show", "channel", "us2", "--json", "--status-folder", folder)
        unknown = docsis_p4("show", "channel", "us9", "--status-folder", folder)
    assert (tables.returncode, listed.returncode) == (0, 0), tables.stderr + listed.stderr
    assert "Upstream channel us2" in tables.stdout
    assert "Upstream channel us1" not in tables.stdout
    assert decode_channels(listed.stdout.encode()) == (channel("us2"),)
    assert json.loads(listed.stdout)[0]["counters"]["minislots_wasted"] == 40_000
    assert unknown.returncode == 1
    assert 'there is no upstream channel "us9"' in unknown.stderr
