# SPDX-License-Identifier: Apache-2.0
"""Faults in the measuring of a run are told in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scenario_files

from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.stages.mininet import faults
from docsis_experiments.stages.mininet.traffic.capture import Counted
from docsis_experiments.stages.mininet.traffic.irtt import Probes


def test_packets_that_the_capture_lost() -> None:
    assert not list(faults.lost_by_capture({"sender": Counted(9, 0), "receiver": Counted(0, 0)}))
    (words,) = faults.lost_by_capture({"sender": Counted(9, 0), "receiver": Counted(80, 7)})
    assert words.startswith("the capture had no room for 7 of 80 packets at the receivers")


def test_datagrams_that_the_receivers_lost() -> None:
    assert not list(faults.lost_by_receivers(0, "goodput is"))
    (words,) = faults.lost_by_receivers(7, "goodput is")
    assert words.startswith("the receivers' sockets had no room for 7 datagrams")
    assert words.endswith("so goodput is not that of all")


def test_flow_that_sends_after_its_end(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path)
    plan = plan_for(loaded.scenario, loaded.topology)
    steady = next(p.flow.port for p in plan.flows if p.group == "steady")
    endless = next(p.flow.port for p in plan.flows if p.group == "ftp")
    # It ends 4 s after the start of the measured time.
    assert not list(faults.sent_too_long(plan, {steady: 4.05, endless: 99.0}))
    assert list(faults.sent_too_long(plan, {steady: 5.5})) == [
        "steady went on sending for 1.5 s after its end"
    ]


def calls(sent: int, last_reply: int) -> Probes:
    times = np.arange(sent, dtype=np.int64)
    arrived = np.arange(sent) <= last_reply
    return Probes(times, np.where(arrived, 1.0, np.nan), arrived, last_reply)


def test_calls_that_say_nothing_or_hear_nothing() -> None:
    of = [("a", calls(5, 4)), ("b", calls(5, 2)), ("c", calls(0, -1))]
    assert list(faults.of_calls(of, seconds=0.1)) == [
        "no reply came to the last 2 packets of the call b; they count as lost",
        "the call c sent nothing in the measured time",
    ]


@pytest.mark.parametrize(
    ("sent", "enough"), [(6000, True), (5880, True), (5879, False), (1500, False)]
)
def test_a_call_that_sends_for_a_part_of_the_time(sent: int, enough: bool) -> None:
    told = list(faults.of_calls([("a", calls(sent, sent - 1))], seconds=120.0))
    assert told == ([] if enough else [f"the call a sent {sent} of 6000 packets"])


def test_programs_that_are_ready_too_late() -> None:
    assert not list(faults.started_late(-3.0))
    assert not list(faults.started_late(1.0))
    (words,) = faults.started_late(4.25)
    assert words.startswith("the last program was ready 4.2 s after the start of the measured")


@pytest.mark.parametrize(
    ("first", "last", "gap"),
    [
        (-1.0, 61.0, None),
        (0.9, 59.2, None),
        (3.0, 61.0, 3.0),
        (-1.0, 30.0, 30.0),
        (70.0, 80.0, 60.0),
    ],
)
def test_a_receiver_that_wrote_no_samples(first: float, last: float, gap: float | None) -> None:
    samples = (np.arange(first, last, 0.05) * 1e9).astype(np.int64)
    told = list(faults.without_samples(samples, 0, 60_000_000_000))
    assert bool(told) == (gap is not None)
    if gap is not None:
        assert abs(float(told[0].split(" for ")[1].split(" s ")[0]) - gap) < 0.11


def test_a_receiver_that_stood_still_in_between() -> None:
    samples = (np.concatenate((np.arange(0, 20, 0.05), np.arange(25, 61, 0.05))) * 1e9).astype(
        np.int64
    )
    (words,) = faults.without_samples(samples, 0, 60_000_000_000)
    assert words.startswith("the receiver wrote no sample for 5.")
