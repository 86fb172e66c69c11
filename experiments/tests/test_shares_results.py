# SPDX-License-Identifier: Apache-2.0
"""Summary, table and report of measured shares, of made-up measurements."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from time_samples import IN_TIME, JUMPED, LATE, TIMERS

from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.loader import load_topology
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.reports import document, report
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.shares import job as shares
from docsis_experiments.shares.load_plan import (
    Share,
    counted_between,
    plan_load,
    rate_between,
    read_samples,
)
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

TOPOLOGY = load_topology(TOPOLOGIES / "two-tiers.yaml")


def figures(
    factor: float, forwarded: float = 1.0, *, tcp: bool = False, timing: Timing = IN_TIME
) -> dict[str, Any]:
    """Both directions; the first flow of each is off by these factors."""
    deployment = deploy(TOPOLOGY, Preset.DOCSIS_PIE)
    measured = []
    for direction in ("upstream", "downstream"):
        plan = plan_load(deployment, direction, tcp=tcp)
        got = [Share(item, item.configured, item.configured) for item in plan.loads]
        first = plan.loads[0]
        got[0] = Share(first, first.configured * factor, first.configured * forwarded)
        measured.append((plan, got, timing))
    return shares.summarise(
        measured,
        target="embedded",
        topology="two-tiers",
        tcp=tcp,
        seconds=10,
        tolerance_percent=2.0,
        controller={"updates": 9, "missed": 0, "lateness_ms": {"p50": 0, "p99": 0, "max": 0}},
        versions={"python": "3"},
        timers=TIMERS,
    )


@pytest.mark.parametrize(
    ("received", "forwarded", "passed"),
    [(1, 1, True), (0.981, 1, True), (1.021, 1, False), (0.979, 1, False), (1, 0.97, False)],
)
def test_either_count_must_be_within_the_tolerance(
    received: float, forwarded: float, passed: bool
) -> None:
    summary = figures(received, forwarded)
    assert summary["passed"] is passed
    first = summary["directions"][0]["flows"][0]
    assert first["received_off_percent"] == pytest.approx(100 * (received - 1))
    assert first["forwarded_off_percent"] == pytest.approx(100 * (forwarded - 1))


def test_schema_knows_every_key() -> None:
    summary = figures(1, tcp=True)
    document.validate(summary)
    assert summary["directions"][0]["flows"][0]["offered_mbps"] is None
    summary["directions"][0]["flows"][0]["more"] = 1
    with pytest.raises(TestbedError, match=r"summary\.json: directions\.0\.flows\.0"):
        document.validate(summary)
    with pytest.raises(TestbedError, match=r'there is no "speed"; there are shares, figures'):
        document.validate({"experiment": "speed"})


def test_report_opens_offline_and_can_be_written_again(tmp_path: Path) -> None:
    folder = run_folder.create(TOPOLOGY, tmp_path)
    write_topology(TOPOLOGY, folder / "inputs" / "topology.yaml")
    stream = {"name": "gold upstream 1", "transport": "udp", "source": ["10.0.0.11", 1],
              "destination": ["10.0.0.101", 2], "tos": 0}  # fmt: skip
    details = {"started": "2026-11-21 19:00:00", "left_out": ["one"], "streams": [stream]}
    shares.write_results(folder, figures(0.9), details)
    folder = run_folder.finish(folder)
    (folder / "report.html").unlink()
    page = report.write(folder).read_text()
    assert page.count("data:image/png;base64,") == 1
    assert page.index("Not all are within 2% of their configured share") < page.index("<h2>")
    for words in ("gold, 1 (primary)", "-10.00", "by -10.00%", "Without traffic: one"):
        assert words in page
    for reference in ("http://", "https://", 'src="plots', "<script", "@import"):
        assert reference not in page


@pytest.mark.parametrize("timing", [LATE, JUMPED])
@pytest.mark.parametrize("factor", [1, 0.9])
def test_late_switch_gives_no_verdict(tmp_path: Path, factor: float, timing: Timing) -> None:
    summary = figures(factor, timing=timing)
    assert summary["passed"] is None
    assert summary["no_verdict"] == [f"{way}: {timing.words}" for way in ("upstream", "downstream")]
    folder = run_folder.create(TOPOLOGY, tmp_path)
    write_topology(TOPOLOGY, folder / "inputs" / "topology.yaml")
    details = {"started": "2026-11-21 19:00:00", "left_out": [], "streams": []}
    shares.write_results(folder, summary, details)
    page = (folder / "report.html").read_text()
    assert timing.words in page
    assert "within 2%" not in page
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(shares.table(summary["directions"][0], 2.0))
    assert timing.words[1:20] in console.export_text()


def test_table_fits_a_terminal() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(shares.table(figures(1)["directions"][1], 2.0))
    text = console.export_text()
    assert "…" not in text
    assert "14.000" in text


def test_what_a_count_rose_by_in_a_time_that_lies_between_samples() -> None:
    times, counts = np.array([0, 10, 20, 30, 40]), np.array([1, 1, 3, 4, 9])
    assert [counted_between(times, counts, *span) for span in ((10, 20), (15, 25), (20, 30))] == [
        2,
        3,
        1,
    ]
    # Before the first sample and behind the last nobody looked.
    assert counted_between(times, counts, -5, 50) == 8
    assert counted_between(times, counts, 0, 5) == 0


def test_rate_is_that_of_the_measured_time(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    # The receiver was ended while it wrote its last line.
    samples.write_text("time_ns,a b,c\n0,0,5\n1000000000,1000,5\n2000000000,3000,5\n30000,3")
    times, received = read_samples(samples)
    assert list(received) == ["a b", "c"]
    assert rate_between(times, received["a b"], 500_000_000, 1_500_000_000) == 8 * 1500
    assert rate_between(times, received["c"], 500_000_000, 1_500_000_000) == 0
    np.testing.assert_array_equal(times, [0, 10**9, 2 * 10**9])
    samples.write_text("time_ns,a\n")
    with pytest.raises(TestbedError, match="no sample"):
        read_samples(samples)
