# SPDX-License-Identifier: Apache-2.0
"""Faults in the measuring of a run are told in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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


def test_calls_that_say_nothing_or_hear_nothing() -> None:
    def probes(sent: int, last_reply: int) -> Probes:
        times = np.arange(sent, dtype=np.int64)
        arrived = np.arange(sent) <= last_reply
        return Probes(times, np.where(arrived, 1.0, np.nan), arrived, last_reply)

    told = list(faults.of_calls([("a", probes(5, 4)), ("b", probes(5, 2)), ("c", probes(0, -1))]))
    assert told == [
        "no reply came to the last 2 packets of the call b; they count as lost",
        "the call c sent nothing in the measured time",
    ]
