# SPDX-License-Identifier: Apache-2.0
"""Results with traffic of which no packet is looked at: every kind of plot, page and summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scenario_files
from matplotlib.figure import Figure
from pictures import without_pictures
from rich.console import Console
from test_report_findings import compared, difference
from time_samples import TIMERS

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.judging import repeated as repeated_verdicts
from docsis_experiments.measurement.record import Packets, Pages, RunRecord
from docsis_experiments.reports import document, repeated_summary, sweep_page, sweep_summary
from docsis_experiments.reports.plots import comparison, registry, repeated, single, sweep
from docsis_experiments.reports.plots.look import RC
from docsis_experiments.reports.plots.scales import drawn
from docsis_experiments.reports.plots.subjects import Repeated, Runs, Swept
from docsis_experiments.runs.outcome import of_record
from docsis_experiments.sweeps import job
from docsis_experiments.sweeps.loader import LoadedSweep, load
from docsis_experiments.sweeps.table import Cell

ALL = """\
  - {name: call, kind: voip}
  - {name: ftp, kind: transfer, count: 3, servers: [server1, server2]}
  - {name: game, kind: game}
  - {name: steady, kind: cbr, rate: 1 Mbps, frame: 500 B, start: 2 s, end: 4 s}
"""
CALL = "  - {name: call, kind: voip}\n"
WEB = "  - {name: readers, kind: web}\n"
ASKING = "  - {name: asking, kind: request-response}\n"
EXPECTED = scenario_files.TEXT[scenario_files.TEXT.index("expectations:") :]
DOWNSTREAM = ("direction: upstream", "direction: downstream")

TRAFFIC = [CALL + WEB + ASKING, WEB, ASKING, WEB + ASKING]


def experiment(folder: Path, traffic: str, *changes: tuple[str, str]) -> Loaded:
    return scenario_files.loaded(folder, (ALL, traffic), (EXPECTED, "expectations: []\n"), *changes)


def record(loaded: Loaded, label: str, **changes: Any) -> RunRecord:
    """A run of the experiment's groups: 2 Mbit/s for the readers, and requests of 30 ms."""
    groups = {group.name for group in loaded.scenario.traffic}
    made: dict[str, dict[str, Any]] = {
        "packets": {"call": scenario_files.packets(20.0)},
        "received": {"readers": scenario_files.received({"readers": 2.0})},
        "pages": {"readers": Pages(np.array([1.0]), np.array([3.0]))},
        "round_trips": {"asking": Packets(np.array([1.0]), np.array([30.0]))},
    }
    own = {
        what: {name: one for name, one in of.items() if name in groups} for what, of in made.items()
    }
    return scenario_files.record(
        label,
        20.0,
        **{
            **own,
            "messages": {},
            "calls": frozenset({"call"} & groups),
            "direction": loaded.scenario.direction,
            "always_downstream": frozenset({"readers"} & groups),
            **changes,
        },
    )


def draw_all(kind: Any, summary: Any, subject: object) -> list[str]:
    """Draws what applies, as reports do."""
    found = []
    with mpl.rc_context(RC):
        for plot in registry.plots_of(kind, summary):
            if plot.applies(subject):
                plot.draw(subject).canvas.draw()
                if plot.chart is not None:
                    plot.chart(subject).layout()
                found.append(plot.file)
    return found


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_plots_of_single_runs(tmp_path: Path, traffic: str, grid: bool, direction: str) -> None:
    changes = [("direction: upstream", f"direction: {direction}")]
    if grid:
        changes += [scenario_files.GRID[::-1]]
    loaded = experiment(tmp_path, traffic, *changes)
    runs = Runs(
        loaded.scenario,
        [
            record(loaded, run.label, buffer_ms=50.0 * number)
            for number, run in enumerate(loaded.scenario.all_runs, 1)
        ],
    )
    summary = {"runs": [{"label": one.label} for one in runs.records]}
    found = draw_all(single, summary, runs)
    goodput = direction == "downstream" and "readers" in traffic
    assert ("against-buffer.png" in found) == (grid and (goodput or "call" in traffic))
    assert ("latency-cdf.png" in found) == ("call" in traffic)


def repeats(loaded: Loaded, **records: Any) -> Repeated:
    """Two runs of each; the buffers of a grid, or else two."""
    outcomes = [
        of_record(
            record(loaded, run.label, buffer_ms=50.0 * place, manager="Drop tail", **records),
            loaded.scenario, (), key=f"{number:064x}", number=number,
        )
        for place, run in enumerate(loaded.scenario.all_runs, 1)
        for number in (1, 2)
    ]  # fmt: skip
    summary = repeated_summary.summarise(
        loaded.scenario,
        loaded.scenario.all_runs,
        outcomes,
        repeated_verdicts.judge(loaded.scenario, outcomes),
        numbers=range(1, 3),
        words="seeds",
        target="embedded",
        topology=loaded.topology,
        versions={},
        timers=TIMERS,
        marks={"stage": "virtual", "jobs": 1},
    )
    return Repeated(summary, outcomes)


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_plots_of_repeated_runs(tmp_path: Path, traffic: str, direction: str) -> None:
    subject = repeats(
        experiment(tmp_path, traffic, ("direction: upstream", f"direction: {direction}"))
    )
    found = draw_all(repeated, subject.summary, subject)
    goodput = direction == "downstream" and "readers" in traffic
    assert ("against-buffer.png" in found) == (goodput or "call" in traffic)
    assert ("latency.png" in found) == ("call" in traffic)


SWEEP = """
name: mine
title: Two buffers
experiment: {experiment}
axes: {axes}
seeds: 1
"""
AXES = "{buffers: [50 ms, 100 ms]}"
RUNS = (
    scenario_files.GRID[1],
    "runs:\n  - {label: tail, manager: drop-tail}\n  - {label: codel, manager: codel}\n",
)

Summarised = Callable[..., tuple[LoadedSweep, list[Cell], dict[str, Any]]]


@pytest.fixture
def summarised(tmp_path: Path) -> Summarised:
    """Summarises a sweep of which no run was ever made."""

    def made(
        traffic: str, axes: str = AXES, changes: Sequence[tuple[str, str]] = (), **records: Any
    ) -> tuple[LoadedSweep, list[Cell], dict[str, Any]]:
        base = tmp_path / "small.yaml"
        experiment(tmp_path, traffic, RUNS, *changes)
        (tmp_path / "mine.yaml").write_text(SWEEP.format(experiment=base, axes=axes))
        loaded = load(tmp_path / "mine.yaml")
        cells = [
            Cell(
                point,
                1,
                of_record(
                    record(loaded.base, point.condition.run.label, digest="0", **records),
                    point.condition.scenario, (), key=f"{1:064x}", number=1,
                ),
            )
            for point in loaded.points
        ]  # fmt: skip
        return loaded, cells, sweep_summary.summarise(loaded, cells, [], {})

    return made


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("axes", [AXES, "{}"])
@pytest.mark.parametrize("changes", [(), (DOWNSTREAM,)])
def test_plots_of_sweeps(summarised: Summarised, traffic: str, axes: str, changes: Any) -> None:
    _, _, summary = summarised(traffic, axes, changes)
    goodput = bool(changes) and "readers" in traffic
    name = "managers" if axes == "{}" else "buffers"
    group = "call" if "call" in traffic else "goodput"
    expected = [f"{name}-{group}-1.png"] if goodput or group == "call" else []
    assert draw_all(sweep, summary, Swept(summary)) == expected


def test_a_sweep_without_a_packet_in_the_measured_time_is_drawn(summarised: Summarised) -> None:
    nothing = {"packets": {"call": Packets.together([])}}
    for axes in (AXES, "{}"):
        _, _, summary = summarised(CALL, axes, **nothing)
        assert draw_all(sweep, summary, Swept(summary)) != []


def test_a_sweep_without_latency_shows_what_there_is(
    tmp_path: Path, summarised: Summarised, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    loaded, cells, summary = summarised(WEB, changes=(DOWNSTREAM,))
    assert summary["shown"] == []
    assert summary["points"][0]["groups"]["readers"]["page-load-time p50"]["median"] == 2.0
    table = job.points_table(summary)
    assert [column.header for column in table.columns][2:] == ["Mbit/s"]
    folder = job._write(
        loaded, cells, [], {}, datetime.now(), tmp_path / "results",
        Console(quiet=True),
    )  # fmt: skip
    page = (folder / "report.html").read_text()
    assert "The goodput of all traffic in this direction was 2 Mbit/s with tail" in page
    assert "Page load time p50, s" in page


def test_a_sweep_of_requests_alone_says_no_goodput(summarised: Summarised) -> None:
    _, _, summary = summarised(ASKING)
    assert [point["goodput"]["median"] for point in summary["points"]] == [None] * 4
    assert sweep_page._sentence(summary) == ""
    assert list(sweep_page._without_packets(summary)) == ["asking"]
    document.validate(json.loads(json.dumps(summary)))


def test_plots_of_comparisons() -> None:
    summary = compared(difference(1.0))
    summary["groups"] = ["call", "readers"]
    assert [plot.file for plot in registry.plots_of(comparison, summary)] == ["cdf-call-1.png"]


def test_what_is_drawn_has_ends() -> None:
    figure = Figure()
    empty, full = figure.subplots(1, 2)
    assert drawn([empty]) == (0.0, 1.0)
    full.plot([3, 4], [-1, 2])
    assert drawn([empty, full]) == (-1.0, 2.0)
    assert drawn([full], "x") == (3.0, 4.0)
