# SPDX-License-Identifier: Apache-2.0
"""Plots: a file each, which pages find by themselves."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import outcome_files
import pytest
import scenario_files
from outcome_files import quick
from rich.console import Console
from time_samples import TIMERS

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.judging import repeated as repeated_verdicts
from docsis_experiments.repetition import once
from docsis_experiments.reports import repeated_summary, report
from docsis_experiments.reports.plots import comparison, registry, repeated, single, sweep
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.repeated import against_buffer, published
from docsis_experiments.reports.plots.subjects import Repeated, Runs
from docsis_experiments.stages.virtual.stage import VirtualStage

PACKETS = """
from matplotlib.figure import Figure

from docsis_experiments.reports.plots.plot import Plot


def _draw(runs):
    figure = Figure()
    counts = [sum(one.sent_s.size for one in run.packets.values()) for run in runs.records]
    figure.subplots().bar([run.name for run in runs.records], counts)
    return figure


PLOT = Plot(
    place=99,
    file="packets.png",
    title="Packets that were looked at",
    alt="A bar for each run.",
    caption="A test's own.",
    draw=_draw,
)
"""

Adder = Callable[[ModuleType, str, str], None]


@pytest.fixture
def add(tmp_path: Path) -> Iterator[Adder]:
    """Adds a module to a kind's package: a file, and nothing else."""
    added: list[tuple[ModuleType, str]] = []
    folder = tmp_path / "added"
    folder.mkdir()

    def add_one(kind: ModuleType, name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text)
        kind.__path__.append(str(folder))
        importlib.invalidate_caches()
        added.append((kind, name))

    yield add_one
    for kind, name in added:
        kind.__path__.remove(str(folder))
        sys.modules.pop(f"{kind.__name__}.{name}", None)
        if hasattr(kind, name):
            delattr(kind, name)


def test_adding_a_plot_is_adding_one_file(add: Adder, tmp_path: Path) -> None:
    loaded = quick(tmp_path)
    plain = loaded.scenario.model_copy(
        update={"expectations": (), "runs": loaded.scenario.runs[:1]}
    )
    add(single, "packets", PACKETS)
    folder = once.run(
        Loaded(plain, loaded.topology),
        stage=VirtualStage(1),
        console=Console(quiet=True),
        results=tmp_path / "results",
    )
    page = (folder / "report.html").read_text()
    assert (folder / "plots" / "packets.png").read_bytes().startswith(b"\x89PNG")
    for words in ("<h2>Packets that were looked at</h2>", "A bar for each run.", "A test's own."):
        assert words.replace("'", "&#39;") in page
    # Behind all others, as its place says.
    assert page.index("Over time</h2>") < page.index("Packets that were looked at</h2>")
    assert report.write(folder).read_text() == page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "single.other: has neither PLOT nor plots"),
        ("PLOT = 3", "single.other: has neither PLOT nor plots"),
        ("def plots(summary): return [3]", "single.other: has neither PLOT nor plots"),
        (PACKETS.replace("packets.png", "over-time.png"), "two plots write over-time.png"),
    ],
)
def test_what_is_no_plot_is_told(add: Adder, text: str, words: str) -> None:
    add(single, "other", text)
    with pytest.raises(TypeError, match=words):
        registry.plots_of(single, {"runs": [{"label": "tail"}]})


def test_every_module_of_a_kind_is_a_plot() -> None:
    for kind in (single, repeated, sweep, comparison):
        for module in pkgutil.iter_modules(kind.__path__, f"{kind.__name__}."):
            found = importlib.import_module(module.name)
            assert isinstance(getattr(found, "PLOT", None), Plot) != hasattr(found, "plots")


def entry(name: str, published: tuple[float | None, float | None], **more: Any) -> dict[str, Any]:
    """One of a repeated experiment's expectations."""
    measured = {"runs": 5, "median": 3.0, "interval": [2.0, 4.0]}
    return {
        "what": "latency p90 of game", "unit": "ms", "name": name, "published": published,
        "allowed": published, "measured": measured, "verdict": "reproduced", **more,
    }  # fmt: skip


def test_bands_of_one_quantity_have_titles_that_tell_them_apart() -> None:
    found = published.panels(
        [
            entry("SFQ-CoDel", (13, 13)),
            entry("CoDel", (20, 26)),
            entry("PIE", (13, 13), hash="another"),
            entry("SFQ-CoDel", (13, 13), hash="another"),
            entry("CoDel", (0, None), what="loss of game", unit="%"),
        ]
    )
    # What two expectations say of one run alike is drawn once.
    assert {title: [one["name"] for one in rows] for title, rows in found.items()} == {
        "latency p90 of game (ms), published as 13": ["SFQ-CoDel", "PIE"],
        "latency p90 of game (ms), published as 20 to 26": ["CoDel"],
        "loss of game (%)": ["CoDel"],
    }


def grid(folder: Path) -> Repeated:
    """A grid of two managers, three buffers and five seeds; half of each buffer waits."""
    new, old = scenario_files.GRID
    loaded = scenario_files.loaded(
        folder,
        (old, new),
        ("runs: [tail]", "runs: [drop-tail]"),
        ("[codel, tail]", "[codel, drop-tail]"),
    )
    runs = loaded.scenario.all_runs
    outcomes = [
        outcome_files.outcome(
            loaded, run.label, buffer / 2 + seed, seed, buffer_ms=buffer, manager=manager
        )
        for run, (manager, buffer) in zip(
            runs, itertools.product(("Drop tail", "CoDel"), (50.0, 100.0, 200.0)), strict=True
        )
        for seed in range(1, 6)
    ]
    summary = repeated_summary.summarise(
        loaded.scenario,
        runs,
        outcomes,
        repeated_verdicts.judge(loaded.scenario, outcomes),
        numbers=range(1, 6),
        words="seeds",
        target="embedded",
        topology=loaded.topology,
        versions={},
        timers=TIMERS,
        marks={"stage": "virtual", "jobs": 1},
    )
    return Repeated(summary, outcomes)


def test_a_repeated_grid_is_drawn_against_its_buffers(tmp_path: Path) -> None:
    subject = grid(tmp_path)
    plot = against_buffer.PLOT
    assert plot.applies(subject)
    figure = plot.draw(subject)
    # Four kinds of traffic are two and two, so that no panel has more than three lines.
    titles = [axes.get_title().split("\n")[-1] for axes in figure.axes[:4]]
    assert titles == ["Drop tail", "Drop tail", "CoDel", "CoDel"]
    latency, goodput = figure.axes[0], figure.axes[4]
    [call, *_] = [line for line in latency.get_lines() if line.get_marker() == "o"]
    # Five seeds of 25 + 1 ... 25 + 5, and so on.
    assert np.asarray(call.get_xydata()).tolist() == [[50, 28], [100, 53], [200, 103]]
    [total] = [line for line in goodput.get_lines() if line.get_marker() == "o"]
    assert np.asarray(total.get_ydata()) == pytest.approx([6.94] * 3)
    # A run of each manager is no grid.
    runs = [run for run in subject.summary["runs"] if run["buffer_ms"] == 50.0]
    assert not plot.applies(Repeated({**subject.summary, "runs": runs}, subject.outcomes))


def test_no_panel_of_single_runs_has_more_than_three(tmp_path: Path) -> None:
    labels = ["one", "two", "three", "four", "five"]
    runs = Runs(
        scenario_files.loaded(tmp_path).scenario,
        [scenario_files.record(label, 10.0 + at) for at, label in enumerate(labels)],
    )
    found = [
        plot
        for plot in registry.plots_of(single, {"runs": [{"label": label} for label in labels]})
        if plot.chart is not None
    ]
    assert [(plot.file, plot.title) for plot in found] == [
        ("latency-cdf.png", "Latency"),
        ("over-time.png", "Over time: one and two and three"),
        ("over-time-2.png", "Over time: four and five"),
    ]
    for plot in found:
        for axes in plot.draw(runs).axes:
            assert 0 < len(axes.get_lines()) <= 3
        # In a chart each has a name of its own, which hides its lines.
        assert plot.chart is not None
        plot.chart(runs).layout()
