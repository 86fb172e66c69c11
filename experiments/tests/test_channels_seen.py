# SPDX-License-Identifier: Apache-2.0
"""Upstream channels in results: the MAPs that are kept, their picture, captures and traces."""

from __future__ import annotations

import io
import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from channel_states import answer, state
from fake_switches import switch
from matplotlib.colors import to_rgb
from rich.console import Console
from scenario_files import NETWORK, TEXT, write

from docsis_control.mac.channel_state import METHOD, FlowName, channel_from
from docsis_control.status.upstream import UpstreamChannel, UpstreamMap, decode_channels
from docsis_control.topology.loader import load_topology
from docsis_experiments.experiment.loader import load
from docsis_experiments.measurement.channel_looks import LOOKS, ChannelLooks, times, told
from docsis_experiments.repetition import once
from docsis_experiments.reports import document, upstream_channels
from docsis_experiments.reports.plots.look import COLLISION, OF_FLOWS, OTHER_FLOWS
from docsis_experiments.reports.plots.single import channel_maps
from docsis_experiments.stages.mininet.channels_seen import ChannelsSeen, channels_of
from docsis_experiments.stages.views import Views
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES


def channel(minislots_per_frame: int = 1) -> UpstreamChannel:
    message = state()
    message.shape.minislots_per_frame = minislots_per_frame
    return channel_from(
        message.SerializeToString(), lambda _device, _queue: FlowName("home", 1, "primary upstream")
    )


def maps(*collided: int) -> tuple[UpstreamMap, ...]:
    """MAPs with nothing but so many requests that collide in each."""
    return tuple(
        UpstreamMap(
            number=number, made_ns=0, start_ns=number, end_ns=number + 1, first_minislot=0,
            minislots=80, ack_minislot=0, backoff_start=0, backoff_end=0, bytes=0, elements=(),
            pending=(), requests=(), requests_sent=requests, requests_collided=requests,
        )
        for number, requests in enumerate(collided)
    )  # fmt: skip


def test_maps_with_collisions_show_more() -> None:
    assert told(maps()) == 0
    assert told(channel().last_maps) == 2 + 3 + 4 * 2
    assert told(maps(0, 2)) > told(maps(0, 1))


def test_looks_are_spread_over_the_measured_time() -> None:
    looks = times(24.0)
    assert len(looks) == LOOKS
    assert (looks[0], looks[-1]) == (1.0, 23.0)


def test_of_each_channel_the_look_that_shows_the_most_is_kept() -> None:
    looks, one = ChannelLooks(), channel()
    for collided in ((0, 1, 0), (0, 0, 2), (1, 0, 0)):
        looks.add(replace(one, last_maps=maps(*collided), time_ns=3))
    # What becomes of a MAP that has not ended is not known.
    looks.add(replace(one, last_maps=maps(0, 0, 9), time_ns=2))
    other = replace(one, name="us2")
    kept, nothing = looks.with_maps((one, other))
    assert [each.requests_collided for each in kept.last_maps] == [0, 0, 2]
    assert nothing == replace(other, last_maps=())


def test_switches_of_a_testbed_tell_of_their_channels() -> None:
    def named(device: int, queue: int) -> FlowName:
        return FlowName(f"home of {device}, {queue}", 1, "primary upstream")

    told_of, later = state(), state()
    # In time to come when it is looked at.
    told_of.maps[1].end_ns = told_of.now_ns + 1
    later.counters.maps += 7
    answers = (answer(each).SerializeToString() for each in (told_of, later))
    with switch(METHOD, answers) as address:
        seen = ChannelsSeen(address, 1, named)
        seen.look()
        (one,) = seen.channels()
    assert one.counters.maps == 30_607
    assert [each.number for each in one.last_maps] == [30_598]
    assert one.service_flows[0].modem.startswith("home of ")


def test_a_switch_that_does_not_tell_of_its_channels_is_an_error() -> None:
    with switch(METHOD, None) as address:
        seen = ChannelsSeen(address, 1, lambda *_: None)
        with pytest.raises(TestbedError, match="does not tell of its upstream channels"):
            seen.look()


def test_a_testbed_without_channels_has_none_to_look_at() -> None:
    assert channels_of(load_topology(TOPOLOGIES / "residential.yaml")) is None
    assert channels_of(load_topology(TOPOLOGIES / "telephony.yaml")) is not None


def test_shown_are_the_consecutive_maps_in_which_most_happens() -> None:
    every = maps(0, 0, 3, 0, 4, 0, 0, 2, 0)
    assert [one.number for one in channel_maps.shown(every, 3)] == [2, 3, 4]
    assert channel_maps.shown(every[:2], 3) == every[:2]
    # Among equal ones the first are shown.
    assert channel_maps.shown(maps(0, 0, 0), 2) == maps(0, 0)


@pytest.mark.parametrize("colour", [*OF_FLOWS, OTHER_FLOWS, COLLISION])
def test_what_is_drawn_stands_out_from_white(colour: str) -> None:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = map(linear, to_rgb(colour))
    assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 3.7


def labels(panel: channel_maps._Panel) -> list[object]:
    return [one.get_label() for one in channel_maps._legend(panel)]


def test_the_legend_has_names_and_what_is_there() -> None:
    one = channel()
    assert labels(channel_maps._panel(one)) == [
        "home primary", "SID 2", "contention", "maintenance", "granted, not used",
        "request, heard", "requests collide",
    ]  # fmt: skip


def test_minislots_of_a_frame_are_beside_each_other_and_go_on_in_the_next() -> None:
    panel = channel_maps._panel(channel(minislots_per_frame=20))
    one = panel.maps[0]
    # 12 to 61, in frames of 20: 8 of the first, two whole, 2 of the last.
    pieces = list(channel_maps._pieces(panel, one, 12, 50))
    share = channel_maps._BAND
    assert [left for left, *_ in pieces] == pytest.approx([0.0, 0.025, 0.05, 0.075])
    assert [low for _, _, low, _ in pieces] == pytest.approx([12 / 20 * share, 0, 0, 0])
    heights = [height for *_, height in pieces]
    assert heights == pytest.approx([8 / 20 * share, share, share, 2 / 20 * share])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a run of two modems on a channel, and that of its captures and traces."""
    folder = tmp_path_factory.mktemp("granted")
    (folder / "home.yaml").write_text(f"{NETWORK.read_text()}\nupstream_channel: docsis-3.0\n")
    (folder / "tiers").symlink_to(NETWORK.parent / "tiers")
    text = TEXT.split("expectations:")[0].replace(str(NETWORK), str(folder / "home.yaml"))
    text = text.replace("measured: 10 s", "measured: 3 s").replace(
        "start: 2 s, end: 4 s", "start: 1 s, end: 2 s"
    )
    views = folder / "views"
    once.run(
        load(write(folder, text=text)),
        stage=VirtualStage(3, views=Views(captures=("all",), traces=views)),
        console=Console(file=io.StringIO()),
        only=["tail"],
        results=folder / "results",
    )
    (made,) = (folder / "results").iterdir()
    return made, views


def test_a_run_keeps_what_its_channels_did(results: tuple[Path, Path]) -> None:
    folder, _ = results
    (file,) = folder.glob("runs/*/upstream-channels.json")
    (kept,) = decode_channels(file.read_bytes())
    assert kept.profile == "docsis-3.0"
    assert kept.counters.frames > 1000
    assert {flow.modem for flow in kept.service_flows} != {""}
    assert 1 < len(kept.last_maps) <= 16
    # All is over: what became of every grant is known.
    for one in kept.last_maps:
        assert all(e.burst is not None for e in one.elements if e.usage == "grant")
    for before, after in zip(kept.last_maps, kept.last_maps[1:], strict=False):
        assert before.end_ns == after.start_ns
    summary = json.loads((folder / "summary.json").read_text())
    document.validate(summary)
    (row,) = upstream_channels.rows(summary)
    assert not list(upstream_channels.lateness(summary)), "all is in time in virtual time"
    assert row["cells"][0] == str(kept.counters.maps)
    assert (folder / "plots" / "channel-maps.png").stat().st_size > 10_000
    report = (folder / "report.html").read_text()
    assert "One MAP after another" in report
    assert "us1, docsis-3.0" in report


def test_a_report_of_a_run_in_real_time_says_how_late_maps_were() -> None:
    message = state()
    message.maps_late.CopyFrom(
        message.maps_late.__class__(count=2, sum_ns=11_000_000, least_ns=1, most_ns=9_000_000)
    )
    for upto_ns in (2_000_000, 9_200_000):
        message.maps_late.places.add(upto_ns=upto_ns, count=1)
    late = channel_from(message.SerializeToString(), lambda *_: None)
    run = {"name": "CoDel", "upstream_channels": [upstream_channels.figures(late)]}
    (sentence,) = upstream_channels.lateness({"runs": [run]})
    assert sentence.startswith("CoDel: MAPs of us1 were made 2.00, 9.00 and 9.00 ms after")


def test_a_run_writes_a_capture_of_its_channel(results: tuple[Path, Path]) -> None:
    folder, _ = results
    content = (folder / "runs" / "tail" / "captures" / "channels" / "us1.pcap").read_bytes()
    magic, link_type = struct.unpack("<I16xI", content[:24])
    assert (magic, link_type) == (0xA1B23C4D, 143)
    assert len(content) > 100_000
    [run] = json.loads((folder / "summary.json").read_text())["runs"]
    [capture] = run["captures"]
    assert (folder / capture["file"]).is_file()
    assert (capture["name"], capture["words"]) == ("us1", "")
    assert capture["frames"] > 1000
    assert capture["file"] in (folder / "report.html").read_text()


def test_a_run_writes_what_happened_to_packets(results: tuple[Path, Path]) -> None:
    modem, cmts = ((results[1] / "tail" / f"{name}.txt").read_text() for name in ("cm1", "cmts1"))
    assert "  asked for in contention at " in modem
    assert "  asked for in the burst at " in modem
    assert "  granted minislots " in modem
    assert "granted minislots" not in cmts


def test_of_a_testbed_the_switches_write_them(tmp_path: Path) -> None:
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    views = Views(captures=("all",), traces=tmp_path / "traces")
    captures, traces = views.of_channels(tmp_path, topology), views.of_devices("tail", topology)
    assert captures["us1"] == tmp_path / "captures" / "channels" / "us1.pcap"
    assert set(captures) == {"us1", "us2"}
    assert set(Views(captures=("us2",)).of_channels(tmp_path, topology)) == {"us2"}
    modem, cmts = topology.cable_modem.name, topology.cmts.name
    assert traces[modem] == tmp_path / "traces" / "tail" / f"{modem}.txt"
    assert set(traces) == {modem, cmts}
    assert all(file.parent.is_dir() for file in (*captures.values(), *traces.values()))
    (tmp_path / "file").touch()
    with pytest.raises(TestbedError, match=r"file/tail: cannot be written .*another folder"):
        Views(traces=tmp_path / "file").of_devices("tail", topology)
    with pytest.raises(TestbedError, match="no place beside --target bmv2"):
        views.check(topology, "bmv2", interfaces=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cpe1", "virtual time has no interfaces to capture at, but only upstream channels, of wh"),
        ("all", "virtual time has no interfaces"),
        ("us1", "topology .* has nothing of that name to capture; it has cpe1, "),
    ],
)
def test_virtual_time_captures_channels_alone(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=f"^--pcap {name}: {words}"):
        once.run(
            load(write(tmp_path, text=TEXT)),
            stage=VirtualStage(views=Views(captures=(name,))),
            console=Console(file=io.StringIO()),
            results=tmp_path / "results",
        )
