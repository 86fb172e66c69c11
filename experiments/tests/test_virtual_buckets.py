# SPDX-License-Identifier: Apache-2.0
"""When the recorded bucket runs empty, with and without a request/grant MAC, in virtual time.

More is sent than the peak rate lets through, from LOADED_S on and with a full bucket. So the bucket
loses what peak and sustained rate differ by, and a drop-tail queue in front of it is full:

    empty = LOADED_S + depth / (peak - sustained)

The tolerance is from before the first run. The bucket counts as empty below 1% of its depth, which
is EARLY_S before. It is noticed up to a control interval later, and behind a MAC the first frames
are let go 2 to 4 MAPs, so at most 8 ms, after they came (mac.md, A): LATE_S together with what
links take.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pytest
from scenario_files import NETWORK

from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.measurement import bucket, predictions
from docsis_experiments.measurement.metrics import METRICS, wait_step
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.run import measure

pytest.importorskip("docsis_world")

DEPTH: Final = 3e6
PEAK: Final = 25e6 / 8
SUSTAINED: Final = 20e6 / 8
BUFFER_S: Final = 0.25
"""The tier of the home, in bytes and seconds; the buffer's are at the sustained rate."""

LOADED_S: Final = 1.0
EMPTY_S: Final = LOADED_S + DEPTH / (PEAK - SUSTAINED)
EARLY_S: Final = bucket.EMPTY * DEPTH / (PEAK - SUSTAINED)
LATE_S: Final = 0.032

QUEUED: Final = BUFFER_S * SUSTAINED
"""Bytes of the full queue."""

SCENARIO: Final = """\
name: empty
title: A bucket that runs empty
source: {paper: None}
scale: Nothing is published of it.
topology: home.yaml
direction: upstream
ramp_up: 0 s
measured: 7500 ms
runs:
  - {label: tail, manager: drop-tail, buffer: 250 ms}
traffic:
  - {name: flood, kind: cbr, rate: 30 Mbps, frame: 1518 B, start: 1 s}
"""


def played(folder: Path, channel: str) -> RunRecord:
    """The record of the run with these lines of a topology about its upstream channel."""
    (folder / "tiers").symlink_to(NETWORK.parent / "tiers")
    (folder / "home.yaml").write_text(f"{NETWORK.read_text()}\n{channel}\n")
    (folder / "empty.yaml").write_text(SCENARIO)
    loaded = load(folder / "empty.yaml")
    scenario, topology = loaded.scenario, loaded.topology
    [run] = scenario.all_runs
    return measure(
        scenario,
        run,
        plan_for(scenario, topology),
        topology,
        seed=1,
        machine=EXACT,
        folder=folder,
        progress=lambda *_: None,
    )


@pytest.mark.parametrize("channel", ["upstream_channel: cablelabs-2014", ""])
def test_bucket_is_empty_when_its_depth_and_the_rates_say(tmp_path: Path, channel: str) -> None:
    run = played(tmp_path, channel)
    scope = Scope(("flood",))
    found = wait_step.change(run)
    assert EMPTY_S - EARLY_S <= found <= EMPTY_S + LATE_S
    assert predictions.changes(run) == [found]

    # Up to then a full queue leaves at the peak rate, and from then on at the sustained rate. Those
    # that are sent while it lasts leave at both, and wait for half of the difference more.
    before, after = QUEUED / PEAK, QUEUED / SUSTAINED
    before += before * (after - before) / 2
    assert METRICS["wait-step"].value(scope, run) == pytest.approx(after / before, rel=0.02)


def test_law_sees_no_tokens_long_before_the_bucket_is_empty(tmp_path: Path) -> None:
    """Behind a MAC those for what is queued are spent: by them, another second is measured."""
    control = played(tmp_path, "upstream_channel: cablelabs-2014").control
    none = control.time_s[np.flatnonzero(control.tokens_bytes < bucket.EMPTY * DEPTH)[0]]
    spent = EMPTY_S - QUEUED / (PEAK - SUSTAINED)
    assert spent - EARLY_S <= none <= spent + LATE_S
    np.testing.assert_allclose(
        control.tokens_bytes,
        np.maximum(control.bucket_bytes - control.backlog_bytes, 0),
        atol=1,
    )
