# SPDX-License-Identifier: Apache-2.0
"""The way that traffic goes: whose goodput is a run's, and whose share of the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario_files
from test_p002_metrics import quantity, received
from test_packetless_traffic import CALL, DOWNSTREAM, WEB, experiment, repeats, summarised
from test_packetless_traffic import record as record_of
from test_scenario_results import summarised as summary_of

from docsis_experiments.experiment.always_downstream import always_downstream
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.measurement.begun import begun
from docsis_experiments.measurement.quantity import absence, measure
from docsis_experiments.reports import repeated_page, single_page
from docsis_experiments.reports.plots.repeated import against_buffer as repeated_buffers
from docsis_experiments.reports.plots.single import against_buffer, over_time
from docsis_experiments.reports.plots.subjects import Runs
from docsis_experiments.traffic.kinds import KINDS

__all__ = ["summarised"]

FTP = "  - {name: ftp, kind: transfer}\n"
MIXED = CALL + FTP + WEB
"""An upload of 6 Mbit/s, and readers who get 2."""

RECEIVED = {
    "ftp": scenario_files.received({"ftp": 6.0}),
    "readers": scenario_files.received({"readers": 2.0}),
}


def test_kinds_and_plans_agree_on_what_goes_downstream(tmp_path: Path) -> None:
    rates = {"cbr": ", rate: 1 Mbps", "burst": ", frames: 3, interval: 1 s"}
    each = {}
    for kind in KINDS:
        line = f"  - {{name: one, kind: {kind}{rates.get(kind, '')}}}\n"
        folder = tmp_path / kind
        folder.mkdir()
        loaded = experiment(folder, line)
        each[kind] = bool(always_downstream(plan_for(loaded.scenario, loaded.topology)))
    assert each == {name: kind.always_downstream() for name, kind in KINDS.items()}
    assert {name for name, down in each.items() if down} == {
        "adaptive-video", "browsing", "downloads", "web",
    }  # fmt: skip


def runs(loaded: Loaded) -> Runs:
    records = [
        record_of(loaded, run.label, received=RECEIVED, buffer_ms=50.0 * at)
        for at, run in enumerate(loaded.scenario.all_runs, 1)
    ]
    return Runs(loaded.scenario, records)


WAYS = [((), 6.0, " upstream"), ((DOWNSTREAM,), 8.0, "")]
"""Changes of the experiment, goodput of its direction, and what is said of it."""


@pytest.mark.parametrize(("changes", "mbps", "way"), WAYS)
def test_goodput_of_single_runs_is_of_their_way(
    tmp_path: Path, changes: Any, mbps: float, way: str
) -> None:
    loaded = experiment(tmp_path, MIXED, *changes)
    subject = runs(loaded)
    summary = summary_of(loaded, list(subject.records))
    assert single_page.found(summary).endswith(f"; goodput{way} is {mbps:g} Mbit/s in each.")
    [plot] = over_time.plots(summary)
    figure = plot.draw(subject)
    assert figure.axes[0].get_title().startswith("Goodput of all flows in this direction")
    for line in figure.axes[0].get_lines()[:2]:
        assert np.asarray(line.get_ydata()) == pytest.approx(mbps)


@pytest.mark.parametrize(("changes", "mbps", "way"), WAYS)
def test_goodput_against_buffers_is_of_the_runs_way(
    tmp_path: Path, changes: Any, mbps: float, way: str
) -> None:
    del way
    loaded = experiment(tmp_path, MIXED, scenario_files.GRID[::-1], *changes)
    figure = against_buffer.PLOT.draw(runs(loaded))
    goodput = [axes for axes in figure.axes if axes.get_title().startswith("Goodput")]
    values = [
        value
        for axes in goodput
        for line in axes.get_lines()
        for value in np.asarray(line.get_ydata())
    ]
    assert values == pytest.approx([mbps] * len(values))
    assert values


@pytest.mark.parametrize(("changes", "mbps", "way"), WAYS)
def test_goodput_of_repeated_runs_is_of_their_way(
    tmp_path: Path, changes: Any, mbps: float, way: str
) -> None:
    subject = repeats(experiment(tmp_path, MIXED, *changes), received=RECEIVED)
    words = "the median goodput" if way else "the sum of the median goodputs"
    assert repeated_page.found(subject.summary).endswith(
        f"; {words}{way} is {mbps:g} Mbit/s in each."
    )
    figure = repeated_buffers.PLOT.draw(subject)
    [goodput] = [axes for axes in figure.axes if axes.get_title().startswith("Goodput")]
    [line] = goodput.get_lines()
    assert np.asarray(line.get_ydata()) == pytest.approx([mbps, mbps])


@pytest.mark.parametrize(("changes", "mbps", "way"), WAYS)
def test_goodput_of_sweeps_is_of_their_way(
    summarised: Any, changes: Any, mbps: float, way: str
) -> None:
    del way
    _, _, summary = summarised(MIXED, changes=changes, received=RECEIVED)
    assert [point["goodput"]["median"] for point in summary["points"]] == [mbps] * 4


def test_older_summaries_do_not_know_the_way(tmp_path: Path) -> None:
    loaded = experiment(tmp_path, MIXED)
    summary = summary_of(loaded, list(runs(loaded).records))
    assert summary.pop("always_downstream") == ["readers"]
    assert "; goodput is 8 Mbit/s" in single_page.found(summary)


def test_who_goes_the_other_way_has_no_share_of_the_queue() -> None:
    groups = {"one": received({"one": 2.0}), "web": received({"web": 9.0})}
    values = {"received": groups, "sustained_mbps": 12.0, "packets": {}, "seconds": 10.0}
    run = scenario_files.record("a", 1, **values, always_downstream=frozenset({"web"}))
    assert measure(quantity("allocation-error", "one"), run) == pytest.approx(100 * (2 - 12) / 12)
    for metric in ("allocation-error", "min-max-ratio", "normalised-fairness"):
        for asked in (quantity(metric, "web"), quantity(metric, "one", "web")):
            assert np.isnan(measure(asked, run))
            assert absence(asked, run) == (
                "the upstream queue is shared, and traffic of web goes downstream"
            )
    down = scenario_files.record(
        "a", 1, **values, always_downstream=frozenset({"web"}), direction="downstream"
    )
    # Both share it, and each has 6 Mbit/s.
    assert measure(quantity("allocation-error", "web"), down) == pytest.approx(50)


def test_a_message_now_and_then_demands_its_mean_rate(tmp_path: Path) -> None:
    game = "  - {name: game, kind: game, size: 10 KB, interval: 500 ms}\n"
    loaded = experiment(tmp_path, game + FTP + WEB)
    plan = plan_for(loaded.scenario, loaded.topology)
    run = begun(loaded.scenario.all_runs[0], plan, loaded.topology, "upstream")
    assert run.demands_mbps == {"game": 0.16}
    assert run.always_downstream == {"readers"}


def test_uploads_that_share_a_rate_demand_equal_parts_of_it(tmp_path: Path) -> None:
    bits = "  - {name: bits, kind: ledbat, count: 4, rate: 2 Mbps}\n"
    loaded = experiment(tmp_path, bits + FTP)
    plan = plan_for(loaded.scenario, loaded.topology)
    run = begun(loaded.scenario.all_runs[0], plan, loaded.topology, "upstream")
    assert run.demands_mbps == {f"bits-{number}": 0.5 for number in range(1, 5)}
