# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 show`: a status of a modem under load beside a CMTS that does not answer."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import jsonschema
import pytest
from command_line import docsis_p4
from rich.console import Console

from docsis_cli import status_tables as show
from docsis_cli.conditions import short
from docsis_control.queue_managers.document import changed
from docsis_control.queue_managers.management import QueueManagement, as_written
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.status.model import (
    Lateness,
    Link,
    Scheduling,
    Status,
    Traffic,
    decode,
    json_schema,
)
from docsis_control.status.server import serving
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT

STATUS = decode((ROOT / "control_plane" / "tests" / "data" / "status.json").read_bytes())


def text_of(status: Status, width: int = 110, *, in_detail: bool = False) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(show.render(status, in_detail=in_detail))
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_the_tables_hold_every_figure() -> None:
    lines = text_of(STATUS)
    assert lines[0].startswith("residential, cable-20, docsis-pie; controller 4242 up 62 s; ")
    assert lines[1] == "channel 100 Mbit/s up, 300 Mbit/s down"
    assert "1 cm1 up 1 primary 0 20 (25) 2 500.0 625.0 10" in lines
    assert "2 cm1 down 11 home-down 3 100 - 33000.0 250.0 -" in lines
    assert "3 (cmts1) down - group 0 - - - 256.0 -" in lines
    assert "1 36.3 14.5 1.2 0.062500 ACTIVE" in lines
    # 1 malformed frame is among the others.
    assert "1 1100 1650000 1000 900 70 3 2 1 5" in lines
    assert "1 3 20 protocol=udp dst_address=10.0.0.101 dst_port=5000-5010 100 21800" in lines
    assert "1 4 10 tos=0xb8-0xb8&0xfc (inactive) - -" in lines
    assert "1 - - all else 1000 1628200" in lines
    assert "cm1 registers 3700 2 0.10/0.50/3.25 0.90/1.50/4.75 0" in lines


def scheduled(**given: object) -> Status:
    """The status with the scheduling of its first service flow."""
    values: dict[str, object] = {
        "upstream_channel": None,
        "scheduling_type": "best-effort",
        "request_transmission_policy": 0,
        "maximum_concatenated_burst_bytes": 0,
        "backoff_window_multiplier_eighths": 8,
        "bytes_requested_multiplier": 4,
        "activity_detection_disabled": False,
        "absolute_queue_depth_requests": False,
    }
    names = [field.name for field in dataclasses.fields(Scheduling)]
    scheduling = Scheduling(**{name: (values | given).get(name) for name in names})  # type: ignore[arg-type]
    modem, *others = STATUS.modems
    flow, *rest = modem.service_flows
    flow = dataclasses.replace(
        flow, provisioned=dataclasses.replace(flow.provisioned, scheduling=scheduling)
    )
    modem = dataclasses.replace(modem, service_flows=(flow, *rest))
    return dataclasses.replace(STATUS, modems=(modem, *others))


def test_scheduling_is_shown_where_it_is_more_than_best_effort() -> None:
    assert not any("scheduling" in line for line in text_of(scheduled()))
    lines = text_of(
        scheduled(
            upstream_channel="us1",
            scheduling_type="ugs-ad",
            request_transmission_policy=0x17F,
            unsolicited_grant_size_bytes=232,
            nominal_grant_interval_ms=20.0,
            tolerated_grant_jitter_ms=0.8,
            grants_per_interval=2,
            nominal_polling_interval_ms=40.0,
            tolerated_poll_jitter_ms=2.0,
        )
    )
    assert "1 us1 ugs-ad 0x17f 2 x 232 B every 20 + 0.8 40 + 2 - 8/8 4" in lines
    assert not any(line.startswith("Not in force") for line in lines)


def test_scheduling_without_a_mac_is_said_not_to_be_in_force() -> None:
    lines = text_of(
        scheduled(
            scheduling_type="pgs",
            guaranteed_grant_rate_bps=5_000_000,
            guaranteed_grant_interval_ms=0.0,
            maximum_concatenated_burst_bytes=3044,
        )
    )
    assert "1 - pgs 0x0 5 Mbit/s every MAP - 3044 8/8 4" in lines
    assert any(line.startswith("Not in force: the topology has no upstream") for line in lines)


def test_polls_and_activity_detection_of_proactive_grants_are_shown() -> None:
    lines = text_of(
        scheduled(
            upstream_channel="us1",
            scheduling_type="pgs",
            guaranteed_grant_rate_bps=5_000_000,
            guaranteed_grant_interval_ms=0.0,
            guaranteed_request_interval_ms=10.0,
            activity_detection_disabled=True,
            absolute_queue_depth_requests=True,
        )
    )
    assert "1 us1 pgs 0x0 5 Mbit/s every MAP, also while idle 10 + 10 - 8/8 4" in lines


@pytest.mark.parametrize(
    ("rule", "in_force", "line"),
    [
        ("safe", True, "1 safe 120 8400"),
        ("always", False, "1 always, but flow queues have none 120 8400"),
    ],
)
def test_suppressed_acknowledgements_are_shown(rule: str, in_force: bool, line: str) -> None:
    modem, *others = STATUS.modems
    flow, *rest = modem.service_flows
    given = dataclasses.replace(flow.provisioned, ack_suppression=rule, suppresses_acks=in_force)
    flow = dataclasses.replace(
        flow, provisioned=given, suppressed=Traffic(packets=120, octets=8400)
    )
    modem = dataclasses.replace(modem, service_flows=(flow, *rest))
    lines = text_of(dataclasses.replace(STATUS, modems=(modem, *others)))
    assert line in lines
    assert not any("ACK suppression" in line for line in text_of(STATUS))


def test_frames_that_a_switch_lost_inside_are_told() -> None:
    said = "SFID 1 lost frames inside the switch; its backlog was made right 2 times."
    assert said in text_of(STATUS)


def test_lossy_links_are_shown() -> None:
    link = Link(
        name="cpe1", port=2, loss_ppm=5_000, jitter_ms=2.5,
        lost_from_host=Traffic(packets=7, octets=700), lost_to_host=None,
    )  # fmt: skip
    modem, *others = STATUS.devices
    devices = (dataclasses.replace(modem, links=(link,)), *others)
    lines = text_of(dataclasses.replace(STATUS, devices=devices), width=100)
    assert "cpe1 cm1 0.5 % 2.5 7 700 ? ?" in lines
    assert not any("Links with loss" in line for line in text_of(STATUS))


@pytest.mark.parametrize(
    ("p99_ms", "jumps", "line"),
    [
        (0.3, 0, "cm1 7000 0.040 0.300 4.500 never valid"),
        (1.2, 0, "cm1 7000 0.040 1.200 4.500 never too late for a verdict"),
        (0.3, 2, "cm1 7000 0.040 0.300 4.500 2 times, 9.0 ms not valid"),
    ],
)
def test_lateness_of_a_switch_is_shown(p99_ms: float, jumps: int, line: str) -> None:
    late = Lateness(
        events=7000, p50_ms=0.04, p99_ms=p99_ms, max_ms=4.5, bound_ms=20.0, jumps=jumps,
        jumped_ms=4.5 * jumps,
    )  # fmt: skip
    modem, *others = STATUS.devices
    devices = (dataclasses.replace(modem, lateness=late), *others)
    lines = text_of(dataclasses.replace(STATUS, devices=devices), width=80)
    assert line in lines
    # One that does not tell is not there.
    assert not any("Lateness" in line for line in text_of(STATUS))


def test_what_does_not_answer_is_told_from_nothing() -> None:
    lines = text_of(STATUS)
    assert "2 ? ? ? - -" in lines
    assert "2 ? ? ? ? ? ? ? ? ?" in lines
    assert "cmts1 no answer - - - - 1" in lines


@pytest.mark.parametrize(
    ("management", "words"),
    [
        (PRESETS[Preset.PIE], "pie"),
        (PRESETS[Preset.SFQ_LRED], "lred, 256 queues"),
        (PRESETS[Preset.DRR], "16 queues"),
        (
            changed(PRESETS[Preset.DRR], {"flow_queues": {"round_robin": "packets"}}),
            "16 queues by packets",
        ),
        (PRESETS[Preset.DROP_TAIL], "-"),
    ],
)
def test_other_queue_managers_are_named(management: QueueManagement, words: str) -> None:
    (modem,) = STATUS.modems
    flow, *others = modem.service_flows
    given = dataclasses.replace(
        flow.provisioned,
        queue_manager=management.queue_manager.label,
        queue_management=as_written(management),
        aqm_enabled=management.queue_manager is not QueueManager.DROP_TAIL,
    )
    flow = dataclasses.replace(flow, provisioned=given, aqm=None)
    modem = dataclasses.replace(modem, service_flows=(flow, *others))
    assert f"1 36.3 14.5 1.2 - {words}" in text_of(dataclasses.replace(STATUS, modems=(modem,)))


def test_everything_fits_a_hundred_columns() -> None:
    for status in (STATUS, many(64)):
        for line, wide in zip(text_of(status, 100), text_of(status, 200), strict=True):
            assert line == wide


def many(modems: int) -> Status:
    """A status with that many modems, each like the example's modem."""
    (modem,) = STATUS.modems
    copies = (
        dataclasses.replace(modem, name=f"home{number}", number=number)
        for number in range(1, modems + 1)
    )
    return dataclasses.replace(STATUS, modems=tuple(copies))


def test_many_modems_are_a_line_each() -> None:
    lines = text_of(many(64))
    # 70 early, 3 for the buffer, 2 policed, 1 malformed; the CMTS does not answer.
    assert "home1 2 1100 76 14.5 ? ? ?" in lines
    assert "home64 2 1100 76 14.5 ? ? ?" in lines
    assert "(cmts1) 1 - - - ? ? ?" in lines
    assert "One in detail: docsis-p4 show --modem home1" in lines
    assert len(lines) < 80


def test_modems_are_chosen_by_name() -> None:
    status = show.chosen(many(64), ["home7", "home3"])
    assert [modem.name for modem in status.modems] == ["home3", "home7"]
    assert show.chosen(many(3), []) == many(3)
    with pytest.raises(TestbedError, match='no modem "attic"; there are home1, home2'):
        show.chosen(many(2), ["attic"])
    # All of them, if so many are named.
    lines = text_of(many(64), in_detail=True)
    assert "1 home64 up 1 primary 0 20 (25) 2 500.0 625.0 10" in lines


def test_chosen_ones_are_shown_in_detail(tmp_path: Path) -> None:
    with controller(tmp_path):
        result = docsis_p4("show", "--modem", "cm1", "--status-folder", str(tmp_path))
        assert result.returncode == 0, result.stderr
        assert "Classifiers" in result.stdout
        result = docsis_p4("show", "-m", "cm1", "-m", "cm2", "--status-folder", str(tmp_path))
    assert result.returncode == 1
    assert result.stderr == 'docsis-p4: there is no modem "cm2"; there are cm1\n'


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ({}, "all frames"),
        ({"ip.destination_port_start": "53"}, "dst_port=53-65535"),
        ({"ip.source_port_end": "9", "ip.source_port_start": "8"}, "src_port=8-9"),
        (
            {"ip.source_address": "10.0.0.0", "ip.source_mask": "255.0.0.0"},
            "src_address=10.0.0.0/255.0.0.0",
        ),
        (
            {"ipv6.destination_address": "2001:db8::", "ipv6.destination_prefix_length": "32"},
            "dst_address=2001:db8::/32",
        ),
        (
            {
                "ethernet.destination_mac.address": "02:00:00:00:01:01",
                "ethernet.destination_mac.mask": "ff:ff:ff:00:00:00",
                "ethernet.ethertype.kind": "dsap",
                "ethernet.ethertype.value": "0x42",
            },
            "dst_mac=02:00:00:00:01:01&ff:ff:ff:00:00:00 dsap=0x42",
        ),
        ({"ethernet.ethertype.value": "0x806"}, "ethertype=0x806"),
        (
            {
                "ieee_802_1q.user_priority.low": "4",
                "ieee_802_1q.user_priority.high": "7",
                "ieee_802_1q.vlan_id": "100",
            },
            "user_priority=4-7 vlan_id=100",
        ),
    ],
)
def test_conditions_are_short(match: dict[str, str], words: str) -> None:
    assert short(match) == words


def test_watching_ends_with_the_controller_or_the_user() -> None:
    seen: list[Status] = []
    answers = iter([STATUS, STATUS])

    def get() -> Status:
        try:
            return next(answers)
        except StopIteration:
            raise TestbedError("no controller runs") from None

    with pytest.raises(TestbedError):
        show.watch(get, seen.append, lambda: None)
    assert seen == [STATUS, STATUS]

    def interrupted() -> None:
        raise KeyboardInterrupt

    show.watch(lambda: STATUS, seen.append, interrupted)
    assert len(seen) == 3


@contextmanager
def controller(folder: Path, told: Status = STATUS) -> Iterator[None]:
    """Serves the status as a controller does."""
    ready, done = Event(), Event()

    async def make() -> Status:
        return told

    async def serve() -> None:
        async with serving(make, folder):
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        yield
    finally:
        done.set()
        thread.join()


def test_json_is_the_document(tmp_path: Path) -> None:
    with controller(tmp_path):
        result = docsis_p4("show", "--json", "--status-folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()
    document = json.loads(line)
    jsonschema.Draft202012Validator(json_schema()).validate(document)
    assert decode(line.encode()) == STATUS


def test_tables_come_out_of_the_command(tmp_path: Path) -> None:
    with controller(tmp_path):
        result = docsis_p4("show", "--status-folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "ACTIVE" in result.stdout


def test_says_how_to_start_something(tmp_path: Path) -> None:
    result = docsis_p4("show", "--status-folder", str(tmp_path))
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        f"docsis-p4: no controller runs (looked in {tmp_path}); start the system with "
        "`docsis-p4 run`, or a controller with `docsis-p4 controller`\n"
    )
