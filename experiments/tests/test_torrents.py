# SPDX-License-Identifier: Apache-2.0
"""BitTorrent uploads of Mininet: their settings and torrents, what is refused, the client's
timetable and the peers' samples with a session that is none, and libtorrent on the loopback
interface."""

from __future__ import annotations

import hashlib
import io
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.topology.loader import load_topology
from docsis_experiments.experiment.plan import Planned, plan_for
from docsis_experiments.measurement.metrics import retransmissions
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.stages.admission import check_senders
from docsis_experiments.stages.mininet import torrents as stage_torrents
from docsis_experiments.stages.mininet.samples import read_samples
from docsis_experiments.stages.mininet.stage import SENDERS
from docsis_experiments.stages.mininet.torrents import TorrentTraffic, check_torrents, is_upload
from docsis_experiments.stages.mininet.traffic import torrents
from docsis_experiments.stages.mininet.traffic.flows import read_retransmitted, write_retransmitted
from docsis_experiments.stages.mininet.traffic.torrents import client as client_program
from docsis_experiments.stages.mininet.traffic.torrents import torrent
from docsis_experiments.stages.mininet.traffic.torrents.client import Client
from docsis_experiments.stages.mininet.traffic.torrents.peers import Peers
from docsis_experiments.stages.mininet.traffic.torrents.session import Opened, TorrentError
from docsis_experiments.stages.mininet.traffic.torrents.settings import (
    SEGMENT,
    session_settings,
    tick_ms,
)
from docsis_testbed.errors import TestbedError
from docsis_testbed.session import Session

PATIENCE = 40.0
"""Seconds until a test gives up; none waits for as long unless it fails."""

HERE = "127.0.0.1"
GAME = "  - {name: game, kind: game}\n"


# The stage makes uploads of the description.


def test_uploads_yield_as_described() -> None:
    settings = session_settings(25, [("10.0.0.1", 5201), ("10.0.0.1", 5202)], 2)
    # RFC 6817: the target, GAIN 1 (a segment a round trip), and half of the window at a loss.
    assert settings["utp_target_delay"] == 25
    assert settings["utp_gain_factor"] == SEGMENT == 1500 - 20 - 8 - 20
    assert settings["utp_loss_multiplier"] == 50
    assert settings["listen_interfaces"] == "10.0.0.1:5201,10.0.0.1:5202"


def test_a_session_has_utp_alone_and_asks_nobody() -> None:
    settings = session_settings(100, [("10.0.0.1", 5201)], 1)
    off = ("incoming_tcp", "outgoing_tcp", "dht", "lsd", "upnp", "natpmp", "ip_notifier")
    assert [settings[f"enable_{name}"] for name in off] == [False] * len(off)
    assert settings["enable_incoming_utp"] is settings["enable_outgoing_utp"] is True
    # pe_disabled of enc_policy.
    assert (settings["in_enc_policy"], settings["out_enc_policy"]) == (2, 2)
    assert settings["listen_system_port_fallback"] is False


@given(each=st.integers(16_000, 10**9), uploads=st.integers(1, 100))
def test_limited_uploads_are_paced_by_the_packet(each: int, uploads: int) -> None:
    rate = each * uploads
    tick = tick_ms(rate, uploads)
    # 20 times a packet's share is a packet, as far as whole milliseconds allow.
    assert tick == 1 or 20 * tick * each <= 8000 * SEGMENT
    assert tick == 50 or 20 * (tick + 1) * each > 8000 * SEGMENT
    settings = session_settings(25, [(HERE, 1)], uploads, rate)
    assert settings["tick_interval"] == tick
    assert settings["upload_rate_limit"] == rate // 8


def test_a_session_without_a_limit_has_none() -> None:
    # libtorrent's 0.
    assert session_settings(25, [(HERE, 1)], 1)["upload_rate_limit"] == 0


def test_libtorrent_knows_every_setting() -> None:
    import libtorrent

    known = cast(Mapping[str, object], libtorrent.default_settings())
    wanted = session_settings(25, [(HERE, 1)], 1)
    assert {name: type(value) for name, value in wanted.items()} == {
        name: type(known[name]) for name in wanted
    }


@given(rate=st.integers(1, 10**9), seconds=st.floats(0.1, 7200))
def test_no_upload_is_complete_before_the_end(rate: int, seconds: float) -> None:
    size = torrent.size_for(rate, seconds)
    assert size > rate / 8 * seconds
    piece = torrent.piece_length(size)
    assert size % piece == 0
    # A piece takes 20 bytes of memory.
    assert size // piece <= 16_384


def test_a_torrent_is_zeros_under_a_name() -> None:
    size = torrent.size_for(1_000_000, 10)
    info = torrent.document("bits-1", size)[b"info"]
    piece = info[b"piece length"]
    assert isinstance(piece, int)
    assert info[b"pieces"] == hashlib.sha1(bytes(piece)).digest() * (size // piece)
    assert info[b"length"] == size
    assert torrent.document("bits-2", size)[b"info"] != info
    with pytest.raises(ValueError, match="no multiple of pieces"):
        torrent.document("bits-1", size + 1)


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    one = torrents.Upload("a", ("10.0.0.1", 20_001), ("10.0.0.2", 5201), 0.5, None)
    two = replace(one, name="b", peer=("10.0.0.3", 5202), end=9.0)
    group = torrents.Uploads(25, {"10.0.0.1": 8000}, 1 << 20, (one, two))
    torrents.write(group, tmp_path / "uploads.json")
    assert torrents.read(tmp_path / "uploads.json") == group
    assert group.of("10.0.0.1") == (one, two)
    assert group.to("10.0.0.3") == (two,)


# What is refused.


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("round_trip: {at_least: 20 ms, at_most: 200 ms}", "traffic.1.round_trip: Mininet delays"),
        ("target: 25500 us", "traffic.1.target: 25500 us is not a whole number of milliseconds"),
        (
            "rate: 1500 kbps",
            "traffic.1.rate: an equal part for each upload would be 15 kbps, and each needs 16",
        ),
    ],
)
def test_what_libtorrent_cannot_do_is_refused_by_its_key(
    keys: str, words: str, tmp_path: Path
) -> None:
    loaded = scenario_files.loaded(
        tmp_path, (GAME, f"  - {{name: bits, kind: ledbat, {keys}}}\n"), CALL_ALONE
    )
    with pytest.raises(TestbedError, match=words):
        check_torrents(loaded.scenario)


CALL_ALONE = ("  - {name: ftp, kind: transfer, count: 3, servers: [server1, server2]}\n", "")


def uploads_of(folder: Path, keys: str) -> list[Planned]:
    """The planned uploads of a group with some keys, behind others of the same scenario."""
    loaded = scenario_files.loaded(folder, (GAME, f"  - {{name: bits, kind: ledbat, {keys}}}\n"))
    check_senders(loaded.scenario, "Mininet", SENDERS)
    check_torrents(loaded.scenario)
    return [one for one in plan_for(loaded.scenario, loaded.topology).flows if is_upload(one)]


def test_without_libtorrent_a_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads_of(tmp_path, "rate: 10 Mbps")
    monkeypatch.setattr(stage_torrents, "installed", lambda: False)
    with pytest.raises(TestbedError, match="bits is of the kind ledbat, .* run `make setup`"):
        uploads_of(tmp_path, "rate: 10 Mbps")
    loaded = scenario_files.loaded(tmp_path)
    check_torrents(loaded.scenario)


# The stage's part.


@dataclass
class Hosts:
    """Hosts in which nothing is started, in place of Mininet's."""

    folder: Path
    started: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def testbed(self) -> object:
        return SimpleNamespace(topology=load_topology(scenario_files.NETWORK))

    def address(self, name: str) -> str:
        return f"address-of-{name}"

    def launch(self, node: str, command: Sequence[str], name: str) -> object:
        (self.folder / name).write_text("ready\n")
        self.started.append((node, list(command)))
        return SimpleNamespace(poll=lambda: None)

    def watch(self, *_: object) -> None:
        """Nothing ends here."""


def traffic_of(hosts: Hosts, planned: Sequence[Planned]) -> TorrentTraffic:
    return TorrentTraffic(cast(Session, hosts), planned, 15.0, "upstream")


def test_a_client_has_one_port_and_a_peer_for_each_upload(tmp_path: Path) -> None:
    planned = uploads_of(tmp_path, "count: 4, rate: 10 Mbps, servers: [server1, server2]")
    hosts = Hosts(tmp_path)
    traffic = traffic_of(hosts, planned)
    traffic.start_peers()
    traffic.start_clients(7)
    assert [node for node, _ in hosts.started] == ["server1", "server2", "cpe1", "cpe2"]
    group = torrents.read(tmp_path / "utp-bits.json")
    # Half of the rate for each client, and either of its uploads may have all of that.
    assert group.rates == {"address-of-cpe1": 5_000_000, "address-of-cpe2": 5_000_000}
    assert (group.target_ms, group.size) == (25, torrent.size_for(5_000_000, 15.0))
    assert len({one.source for one in group.uploads}) == 2
    assert len({one.peer for one in group.uploads}) == 4
    assert all("7" in command for node, command in hosts.started if node.startswith("cpe"))


def test_an_upload_without_a_limit_has_what_the_service_flow_has(tmp_path: Path) -> None:
    traffic_of(Hosts(tmp_path), uploads_of(tmp_path, "count: 1, target: 100 ms")).start_peers()
    group = torrents.read(tmp_path / "utp-bits.json")
    assert (group.target_ms, group.size) == (100, torrent.size_for(25_000_000, 15.0))
    assert group.rates == {}


def test_no_upload_has_more_than_the_service_flow(tmp_path: Path) -> None:
    planned = uploads_of(tmp_path, "count: 3, rate: 90 Mbps")
    traffic_of(Hosts(tmp_path), planned).start_peers()
    group = torrents.read(tmp_path / "utp-bits.json")
    # Two uploads at the one client, and one at the other.
    assert group.rates == {"address-of-cpe1": 60_000_000, "address-of-cpe2": 30_000_000}
    assert group.size == torrent.size_for(25_000_000, 15.0)


def test_what_the_programs_left_is_read_by_group(tmp_path: Path) -> None:
    planned = uploads_of(tmp_path, "count: 3, servers: [server1, server2]")
    traffic = traffic_of(Hosts(tmp_path), planned)
    first, second = (tmp_path / f"utp-bits-server{n}-received.csv" for n in (1, 2))
    first.write_text("time_ns,bits-1,bits-3\n1000000000,0,0\n2000000000,100,300\n")
    # Half a second later, so that at the first one's times it is between its own.
    second.write_text("time_ns,bits-2\n500000000,0\n1500000000,100\n2500000000,300\n")
    for host, count in (("cpe1", 4), ("cpe2", 5)):
        file = tmp_path / f"utp-bits-{host}-retransmitted.csv"
        write_retransmitted({"10.0.0.1": count}, file)
    received = traffic.received(1_000_000_000)["bits"]
    assert list(received.time_s) == [0, 1]
    flows = {name: list(count) for name, count in received.flow_bytes.items()}
    assert flows == {"bits-1": [0, 100], "bits-2": [50, 200], "bits-3": [0, 300]}
    assert traffic.retransmitted() == {"bits": {"cpe1": 4, "cpe2": 5}}
    assert not list(traffic.faults())


def test_a_client_that_could_not_tell_what_it_sent_again_is_a_fault(tmp_path: Path) -> None:
    traffic = traffic_of(Hosts(tmp_path), uploads_of(tmp_path, "count: 2"))
    write_retransmitted({"10.0.0.1": 4}, tmp_path / "utp-bits-cpe1-retransmitted.csv")
    with pytest.raises(TestbedError, match="bits-cpe2-retransmitted.csv: no counts"):
        list(traffic.faults())
    write_retransmitted({}, tmp_path / "utp-bits-cpe2-retransmitted.csv")
    assert traffic.retransmitted() == {"bits": {"cpe1": 4}}
    assert list(traffic.faults()) == [
        "libtorrent did not tell how many packets the client of bits at cpe2 has sent again"
    ]


def test_what_clients_sent_again_is_of_no_single_upload() -> None:
    by_flow = {"ftp": {"ftp-1": 1, "ftp-2": 2, "ftp-3": 3}}
    for counts, flows in ((by_flow, [1, 2, 3]), ({"ftp": {"cpe1": 6}}, [])):
        record = scenario_files.record("tail", 1, retransmitted=counts)
        assert retransmissions.METRIC.value(Scope(("ftp",)), record) == 6
        assert retransmissions.of_flows(Scope(("ftp",)), record) == flows


# The programs, with a session that is none.


@dataclass
class Told:
    """An alert."""

    kind: str
    text: str = "in words"
    torrent_name: str = "a"
    values: Mapping[str, int] = field(default_factory=dict)

    def what(self) -> str:
        return self.kind

    def message(self) -> str:
        return self.text


@dataclass
class FakeSession:
    """A session, and its torrents, that does nothing by itself."""

    alerts: list[Told] = field(default_factory=list)
    done: list[tuple[str, Any]] = field(default_factory=list)
    bytes: int = 0

    def pop_alerts(self) -> Sequence[Told]:
        taken, self.alerts = self.alerts, []
        return taken

    def wait_for_alert(self, max_wait: int) -> object:
        return None

    def post_session_stats(self) -> None:
        self.alerts.append(Told("session_stats", values={"utp.utp_packet_resend": 42}))

    def connect_peer(self, endpoint: torrents.Endpoint) -> None:
        self.done.append(("connect", endpoint))

    def pause(self) -> None:
        self.done.append(("pause", None))

    def status(self, flags: int) -> Any:
        assert flags == 0
        return SimpleNamespace(total_payload_download=self.bytes)


UPLOAD = torrents.Upload("a", (HERE, 20_001), (HERE, 5201), 1.0, 5.0)


def test_a_client_keeps_to_its_timetable() -> None:
    session = FakeSession()
    client = Client(session, {"a": session}, [UPLOAD], 100.0)
    assert client.step(100.9) == 101.0
    assert session.done == []
    assert client.step(101.0) == 105.0
    assert session.done == [("connect", (HERE, 5201))]
    assert client.step(105.0) == float("inf")
    assert session.done[1:] == [("pause", None)]
    # Its connection ends then, and is not made again.
    session.alerts = [Told("peer_disconnected")]
    assert client.step(107.0) == float("inf")
    assert len(session.done) == 2


def test_a_client_that_loses_a_peer_tries_again() -> None:
    session = FakeSession()
    client = Client(session, {"a": session}, [replace(UPLOAD, end=None)], 100.0)
    client.step(101.0)
    session.alerts = [Told("peer_disconnected", "gone"), Told("peer_connect", "there")]
    again = client.step(103.0)
    assert again == 104.0
    client.step(103.9)
    assert len(session.done) == 1
    client.step(again)
    assert session.done[1:] == [("connect", (HERE, 5201))]


def test_a_client_tells_what_it_has_sent_again() -> None:
    session = FakeSession()
    client = Client(session, {"a": session}, [UPLOAD], 100.0)
    assert client.ask_last() == 42


def test_a_client_whose_session_does_not_answer_tells_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_program, "_LAST_SECONDS", 0.05)
    session = FakeSession()
    client = Client(session, {"a": session}, [UPLOAD], 100.0)
    assert client.ask_last() == 42
    monkeypatch.setattr(session, "post_session_stats", lambda: None)
    assert client.ask_last() is None


@pytest.mark.parametrize("kind", ["hash_failed", "file_error", "torrent_error", "listen_failed"])
def test_neither_goes_on_after_an_error(kind: str) -> None:
    session = FakeSession([Told(kind, "the reason")])
    with pytest.raises(TorrentError, match=f"{kind.replace('_', ' ')}: the reason"):
        Client(session, {"a": session}, [UPLOAD], 0.0).step(0.0)
    session.alerts = [Told(kind, "the reason")]
    with pytest.raises(TorrentError, match="the reason"):
        Peers(session, {"a": session}, io.StringIO()).look(1)


def test_peers_write_what_has_come() -> None:
    output = io.StringIO()
    session = FakeSession()
    peers = Peers(session, {"a": session, "b": session}, output)
    for session.bytes in (10, 200):
        peers.look(session.bytes * 1000)
    assert output.getvalue().splitlines() == ["time_ns,a,b", "10000,10,10", "200000,200,200"]


def test_peers_tell_that_an_upload_is_complete() -> None:
    session = FakeSession([Told("torrent_finished", "a finished")])
    with pytest.raises(TorrentError, match="longer than the run: a finished"):
        Peers(session, {"a": session}, io.StringIO()).run()


# libtorrent itself.


def free_ports(count: int) -> list[int]:
    """UDP ports of the loopback interface that nobody has."""
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in made:
        one.bind((HERE, 0))
    ports = [one.getsockname()[1] for one in made]
    for one in made:
        one.close()
    return ports


def test_uploads_over_the_loopback_interface_share_their_rate(tmp_path: Path) -> None:
    own, *ports = free_ports(3)
    names = [f"bits-{number}" for number in range(2)]
    rate = 100_000
    size = torrent.size_for(8 * rate, PATIENCE)
    ends: dict[str, Any] = {"size": size, "target_ms": 25}
    theirs = Opened([(HERE, port) for port in ports], {HERE}, names, complete=False, **ends)
    opened = time.monotonic()
    ours = Opened([(HERE, own)], {HERE}, names, rate=8 * rate, complete=True, **ends)
    samples = io.StringIO()
    peers = Peers(theirs.session, theirs.handles, samples)
    uploads = [
        torrents.Upload(name, (HERE, own), (HERE, port), 0.0, None)
        for name, port in zip(names, ports, strict=True)
    ]

    def run_until(client: Client, seen: Callable[[Sequence[int], float], bool]) -> None:
        while True:
            client.step(time.time())
            peers.look(time.time_ns())
            counts = list(map(int, samples.getvalue().splitlines()[-1].split(",")[1:]))
            age = time.monotonic() - opened
            # All that the session has handed out since it began, and a block for rounding.
            assert sum(counts) <= rate * age + (16 << 10)
            if seen(counts, age):
                return
            assert age < PATIENCE, counts
            # Both sessions have threads of their own; this only looks.
            ours.session.wait_for_alert(20)

    first, second = uploads
    alone = Client(ours.session, ours.handles, [first], time.time())
    # One alone has more than half, whatever it may have saved up of that.
    run_until(alone, lambda counts, age: counts[0] > rate / 2 * age + (16 << 10))
    before = int(samples.getvalue().splitlines()[-1].split(",")[1])
    both = Client(ours.session, ours.handles, [second], time.time())
    run_until(both, lambda counts, age: min(counts[0] - before, counts[1]) >= rate)
    resent = both.ask_last()
    assert resent is not None
    assert resent >= 0
    assert list(tmp_path.iterdir()) == []
    # TCP is spoken with nobody.
    stranger = socket.create_connection((HERE, ports[0]), timeout=PATIENCE)
    with stranger:
        stranger.sendall(b"\x13BitTorrent protocol" + bytes(48))
        stranger.settimeout(PATIENCE)
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""


def test_the_programs_upload_and_tell_when_there_is_nothing_left(tmp_path: Path) -> None:
    own, port = free_ports(2)
    piece = torrent.piece_length(1)
    upload = torrents.Upload("bits", (HERE, own), (HERE, port), 0.0, None)
    file, samples = tmp_path / "uploads.json", tmp_path / "received.csv"
    torrents.write(torrents.Uploads(25, {}, 2 * piece, (upload,)), file)
    resent = tmp_path / "resent.csv"
    peers = subprocess.Popen(
        torrents.receive_command(file, HERE, samples), stdout=sys.stderr, stderr=subprocess.PIPE
    )
    client = subprocess.Popen(torrents.send_command(file, HERE, time.time_ns(), resent))
    try:
        _, said = peers.communicate(timeout=PATIENCE)
        assert peers.returncode == 1
        assert b"all of a torrent has come, which was to last longer than the run" in said
        assert client.poll() is None
        client.terminate()
        assert client.wait(timeout=PATIENCE) == 0
    finally:
        for process in (peers, client):
            process.kill()
            process.wait()
    _, counts = read_samples(samples)
    assert (np.diff(counts["bits"]) >= 0).all()
    assert counts["bits"][-1] <= 2 * piece
    assert read_retransmitted(resent).keys() == {HERE}
    assert {path.name for path in tmp_path.iterdir()} == {
        "uploads.json",
        "received.csv",
        "resent.csv",
    }
