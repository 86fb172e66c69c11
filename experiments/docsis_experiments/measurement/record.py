# SPDX-License-Identifier: Apache-2.0
"""The record of a run on one time axis: 0 is the start of the measured time, in seconds."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.modem_config.provisioned import Direction
from docsis_control.queue_managers.names import Preset
from docsis_control.status.upstream import UpstreamChannel, encode_channels
from docsis_experiments.experiment.managers import name_of_run
from docsis_experiments.measurement.links import ImpairedLink
from docsis_experiments.measurement.service_flow_shares import MeasuredShares
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.measurement.viewing import COLUMNS, Viewing
from docsis_testbed.captures import Capture
from docsis_testbed.own_commands import Done

Floats = npt.NDArray[np.float64]


_ROUNDING: Final = 1e-9
"""Seconds."""


def _none() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class Packets:
    """Packets of a group, in the order of sending.

    Attributes:
        sent_s: When each was sent.
        delay_ms: One-way delay less propagation; NaN where it never arrived, infinite where it
            did and nobody knows when, because the reply to it was lost.
    """

    sent_s: Floats
    delay_ms: Floats

    def between(self, start: float, end: float) -> Packets:
        """Those sent from `start` (included) to `end` (excluded)."""
        chosen = (self.sent_s >= start) & (self.sent_s < end)
        return Packets(self.sent_s[chosen], self.delay_ms[chosen])

    @property
    def delays(self) -> Floats:
        """The delays of the packets that arrived, as far as they are known."""
        return self.delay_ms[np.isfinite(self.delay_ms)]

    @staticmethod
    def together(parts: Sequence[Packets]) -> Packets:
        """Puts the packets of several groups or flows together."""
        if not parts:
            return Packets(_none(), _none())
        sent = np.concatenate([part.sent_s for part in parts])
        delay = np.concatenate([part.delay_ms for part in parts])
        order = np.argsort(sent, kind="stable")
        return Packets(sent[order], delay[order])


@dataclass(frozen=True)
class Pages:
    """Web pages of a group, user by user.

    Attributes:
        began_s: When the first SYN for each one's HTML was sent.
        complete_s: When its last object was there; NaN where it never was.
    """

    began_s: Floats
    complete_s: Floats

    def loads(self, start: float, end: float) -> Floats:
        """Load times of those that were complete from `start` (included) to `end`, seconds."""
        chosen = (self.complete_s >= start) & (self.complete_s < end)
        return (self.complete_s - self.began_s)[chosen]

    @staticmethod
    def together(parts: Sequence[Pages]) -> Pages:
        """Puts the pages of several users together."""
        return Pages(
            np.concatenate([part.began_s for part in parts]),
            np.concatenate([part.complete_s for part in parts]),
        )


@dataclass(frozen=True)
class Carried:
    """The load of the downstream channel, with all that its framing adds and with MAPs.

    Attributes:
        time_s: When it was looked at, at one interval.
        line_bytes: Bytes on the line by then.
        rate_mbps: The rate that it has.
    """

    time_s: Floats
    line_bytes: Floats
    rate_mbps: float

    def between(self, start: float, end: float) -> Floats:
        """Bytes of each interval that lies from `start` to `end` wholly."""
        # A look at the very end belongs to it, however its time was rounded.
        chosen = (self.time_s >= start - _ROUNDING) & (self.time_s <= end + _ROUNDING)
        return np.diff(self.line_bytes[chosen])


@dataclass(frozen=True)
class Received:
    """Payload received by a group's flows.

    Attributes:
        time_s: When it was looked at.
        flow_bytes: Bytes received by then, by flow.
    """

    time_s: Floats
    flow_bytes: Mapping[str, Floats]

    def mbps(self, start: float, end: float) -> list[float]:
        """Mean goodput of each flow, Mbit/s; counts are interpolated at the ends."""
        return [
            float(np.diff(np.interp([start, end], self.time_s, count))[0] * 8e-6 / (end - start))
            for count in self.flow_bytes.values()
        ]


@dataclass(frozen=True)
class Control:
    """The controller's samples of the service flow; empty where it has no law for it.

    Attributes:
        time_s: When it looked.
        qdelay_ms: The queue's delay as it computes it, milliseconds.
        drop_prob: The probability that it set.
        backlog_bytes: What was queued.
        tokens_bytes: In the sustained rate's bucket as the controller's law sees it: behind a
            request/grant MAC the tokens for what is queued are spent, down to none.
        bucket_bytes: In it as the pipeline has it, which spends a frame's tokens when the frame
            leaves; without a MAC the same, in whole bytes. None in files of samples from before 27
            November 2026.
        rate_mbps: At which the queue is found to drain; NaN where nobody measures it.
    """

    time_s: Floats = field(default_factory=_none)
    qdelay_ms: Floats = field(default_factory=_none)
    drop_prob: Floats = field(default_factory=_none)
    backlog_bytes: Floats = field(default_factory=_none)
    tokens_bytes: Floats = field(default_factory=_none)
    bucket_bytes: Floats = field(default_factory=_none)
    rate_mbps: Floats = field(default_factory=_none)


@dataclass(frozen=True)
class RunRecord:
    """A run.

    Attributes:
        label: Label of the run.
        manager: What the queue manager is called.
        preset: The preset that it is, but for its buffer; None where it is none.
        management: The same as a file's mapping.
        buffer_ms: Its buffer, as a time at the sustained rate.
        seconds: Length of the measured time.
        packets: By group; of some of the packets where there are many.
        messages: Messages of games over TCP, by group: a message is a packet that always arrives.
        received: By group.
        steps: When the channel's rate changed, and to how many Mbit/s.
        control: The controller's samples.
        counters: Counters of the service flow over the measured time, packets.
        controller: Figures of its time keeping.
        timing: How late the switches were over the measured time.
        faults: What went wrong with the measuring, in words.
        digest: Digest of all that happened, hexadecimal, where time is virtual; "" elsewhere.
        idle: First and last second of the time with calls and requests alone; None where there was
            none.
        retransmitted: Segments that TCP sent again over the whole run, by group and flow; of
            uploads by LEDBAT in Mininet uTP's, by group and client.
        calls: Groups whose packets are those of calls.
        sustained_mbps: Rate that the service flow has for good.
        peak_mbps: Rate that it has while there are tokens.
        latency_target_ms: Latency target of DOCSIS-PIE; None where another queue manager ran.
        direction: Which way its traffic went.
        always_downstream: Groups whose traffic goes downstream whatever the direction is.
        shares: What each service flow got, by the group that loads them all.
        timeouts: How often TCP's retransmission timer fired over the whole run, by group and
            flow; of virtual time alone.
        channels: Upstream channels with a request/grant MAC, over the whole run, each with some
            MAPs of the measured time.
        pages: Pages of web users, by group.
        videos: Viewings of adaptive videos, by group and player.
        demands_mbps: What flows can use at the most, by flow; of the others nothing limits it.
        round_trips: Requests in turn, by group: when each was made, in the idle time as well,
            and how long its reply took, with all propagation; NaN where none came.
        unanswered: When messages were sent of which the last byte never came, by group, seconds.
        acknowledgements: When each of a flow's left the receiver of the data, by group, and
            how long it was on its way to the sender.
        carried: By the downstream channel, where it has a rate; of virtual time alone.
        links: Links with loss or jitter, over the measured time.
        captures: Captures of frames, where somebody asked for them.
        commands: What became of the user's own.
    """

    label: str
    manager: str
    preset: Preset | None
    management: Mapping[str, object]
    buffer_ms: float
    seconds: float
    packets: Mapping[str, Packets]
    messages: Mapping[str, Packets]
    received: Mapping[str, Received]
    steps: tuple[tuple[float, float], ...]
    control: Control
    counters: Mapping[str, int]
    controller: Mapping[str, object]
    timing: Timing
    faults: tuple[str, ...]
    digest: str = ""
    idle: tuple[float, float] | None = None
    retransmitted: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    calls: frozenset[str] = frozenset()
    sustained_mbps: float = math.nan
    peak_mbps: float = math.nan
    latency_target_ms: float | None = None
    direction: Direction = "upstream"
    always_downstream: frozenset[str] = frozenset()
    shares: Mapping[str, MeasuredShares] = field(default_factory=dict)
    timeouts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    channels: tuple[UpstreamChannel, ...] = ()
    pages: Mapping[str, Pages] = field(default_factory=dict)
    videos: Mapping[str, Mapping[str, Viewing]] = field(default_factory=dict)
    demands_mbps: Mapping[str, float] = field(default_factory=dict)
    round_trips: Mapping[str, Packets] = field(default_factory=dict)
    unanswered: Mapping[str, Floats] = field(default_factory=dict)
    acknowledgements: Mapping[str, Sequence[Packets]] = field(default_factory=dict)
    carried: Carried | None = None
    links: tuple[ImpairedLink, ...] = ()
    captures: tuple[Capture, ...] = ()
    commands: tuple[Done, ...] = ()

    @property
    def name(self) -> str:
        """For people: see `name_of_run`."""
        return name_of_run(self.label, self.preset)

    @property
    def other_way(self) -> frozenset[str]:
        """Groups that go against the direction, so that the queue in question has none of them."""
        return self.always_downstream if self.direction == "upstream" else frozenset()

    @property
    def along(self) -> Mapping[str, Received]:
        """The received data of the groups whose traffic goes in the run's direction."""
        return {name: one for name, one in self.received.items() if name not in self.other_way}

    def measured(self, group: str) -> Packets:
        """Packets of the measured time; none where no packet of the group is looked at."""
        packets = self.packets.get(group)
        return Packets.together([]) if packets is None else packets.between(0.0, self.seconds)

    def traces(self, group: str) -> frozenset[Trace]:
        """The traces that the record has of a group of the traffic."""
        there: Mapping[Trace, Iterable[str]] = {
            Trace.PACKETS: self.packets,
            Trace.CALL: self.calls,
            Trace.GOODPUT: self.received,
            Trace.MESSAGES: self.messages,
            Trace.PAGES: self.pages,
            Trace.VIDEO: self.videos,
            Trace.ROUND_TRIPS: self.round_trips,
            Trace.RETRANSMISSIONS: self.retransmitted,
            Trace.TIMEOUTS: self.timeouts,
            Trace.ACKNOWLEDGEMENTS: self.acknowledgements,
            Trace.SHARES: self.shares,
        }
        return frozenset(trace for trace, groups in there.items() if group in groups)

    @property
    def withheld(self) -> str:
        """Why the run gets no verdict, in words; "" where it gets one."""
        if self.faults and self.timing.valid:
            return f"no verdict: {'; '.join(self.faults)}"
        return "" if self.timing.judged else self.timing.words

    def write(self, folder: Path) -> None:
        """Write packets.csv, messages.csv, goodput.csv, queue.csv, channel.csv and shares.csv.

        Where there are upstream channels also upstream-channels.json, where there are web users
        also pages.csv, where there are players of videos also videos.csv, and where there are
        requests in turn also round-trips.csv.
        """
        if self.videos:
            _write(
                folder / "videos.csv",
                ("group", "player", *COLUMNS),
                (
                    (group, player, *row)
                    for group, players in self.videos.items()
                    for player, viewing in players.items()
                    for row in viewing.rows()
                ),
            )
        if self.round_trips:
            _write(
                folder / "round-trips.csv",
                ("group", "time_s", "round_trip_ms"),
                (
                    (group, *times)
                    for group, data in self.round_trips.items()
                    for times in zip(data.sent_s, data.delay_ms, strict=True)
                ),
            )
        if self.pages:
            _write(
                folder / "pages.csv",
                ("group", "began_s", "complete_s"),
                (
                    (group, *times)
                    for group, data in self.pages.items()
                    for times in zip(data.began_s, data.complete_s, strict=True)
                ),
            )
        if self.channels:
            (folder / "upstream-channels.json").write_bytes(encode_channels(self.channels))
        for name, groups in (("packets", self.packets), ("messages", self.messages)):
            _write(
                folder / f"{name}.csv",
                ("group", "time_s", "one_way_delay_ms"),
                (
                    (group, sent, delay)
                    for group, data in groups.items()
                    for sent, delay in zip(data.sent_s, data.delay_ms, strict=True)
                ),
            )
        times = next((data.time_s for data in self.received.values()), _none())
        # Users of the web and players look at their own times.
        flows = {
            name: np.interp(times, data.time_s, count)
            for data in self.received.values()
            for name, count in data.flow_bytes.items()
        }
        rows = zip(times, *flows.values(), strict=True)
        _write(folder / "goodput.csv", ("time_s", *(f"{n}_bytes" for n in flows)), rows)
        control = self.control
        _write(
            folder / "queue.csv",
            ("time_s", "qdelay_ms", "drop_prob"),
            zip(control.time_s, control.qdelay_ms, control.drop_prob, strict=True),
        )
        _write(folder / "channel.csv", ("time_s", "mbps"), self.steps)
        _write(
            folder / "shares.csv",
            ("group", "modem", "service_flow", "configured_bps", "received_bps", "forwarded_bps"),
            (
                (group, one.load.flow.modem_name, one.load.flow.reference,
                 one.load.configured, one.received, one.forwarded)
                for group, shares in self.shares.items()
                for one in shares.flows
            ),
        )  # fmt: skip


def _write(path: Path, header: Sequence[str], rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            writer.writerow([_text(value) for value in row])


def _text(value: object) -> str:
    if isinstance(value, float):
        # A lost packet has no delay: an empty field.
        return "" if np.isnan(value) else f"{value:.9g}"
    return str(value)
