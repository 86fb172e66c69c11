# SPDX-License-Identifier: Apache-2.0
"""Charts that a reader can zoom: what they hold, what a page may run, and how large it gets."""

from __future__ import annotations

import base64
import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st
from test_scenario_results import written

from docsis_experiments.measurement.record import Control, Packets, RunRecord
from docsis_experiments.reports import embedding, report
from docsis_experiments.reports.plots import thinning
from docsis_experiments.reports.plots.single import over_time
from docsis_experiments.reports.plots.subjects import Runs
from docsis_testbed.errors import TestbedError

MOST_PAGE = 3_000_000
"""Bytes that a page with charts may have."""

SECONDS = 600.0

EVIL = '</script><img src="http://x">'


class Read(HTMLParser):
    """Reads the scripts and links of a page as a browser would."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[tuple[str, str]] = []
        self.loaded: list[str] = []
        self.policy = ""
        self.handlers: list[str] = []
        self._in: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.loaded += [given[name] for name in ("src", "href", "data", "srcset") if name in given]
        self.handlers += [name for name in given if name.startswith("on")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "script":
            self._in = given.get("type", "")
            self.scripts.append((self._in, ""))

    def handle_data(self, data: str) -> None:
        if self._in is not None:
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._in = None


def records(seconds: float = 10.0, label: str = "codel") -> list[RunRecord]:
    """Two runs, of one of which the controller has samples."""
    times = np.arange(0, seconds, 0.016)
    noise = np.random.default_rng(1).random(times.size)
    control = Control(times, 12.0 + 9 * noise, 0.01 * noise)
    packets = {
        name: Packets(np.arange(0, seconds, 0.02), 20 + np.arange(0, seconds, 0.02) % 7)
        for name in ("call", "ftp", "game", "steady")
    }
    return [
        scenario_files.record("tail", 50),
        scenario_files.record(
            label, 20, control=control, packets=packets, seconds=seconds, steps=((0.0, 20.0),)
        ),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose names would end an element."""
    made = tmp_path_factory.mktemp("charts")
    return written(made / "run", scenario_files.loaded(made), records(label=EVIL))


def read(folder: Path) -> Read:
    return Read((folder / "report.html").read_text(encoding="utf-8"))


def test_a_page_runs_two_scripts_and_loads_nothing(folder: Path) -> None:
    page = read(folder)
    run = [text for kind, text in page.scripts if kind != "application/json"]
    assert run == list(embedding.scripts())
    assert "Bokeh" in run[0]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert page.policy.startswith("default-src 'none'; ")
    assert page.policy.endswith(f"script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'")
    assert "unsafe-eval" not in page.policy
    assert {one.partition(",")[0] for one in page.loaded} == {"data:image/png;base64"}
    assert page.handlers == []


def charts(folder: Path) -> list[dict[str, Any]]:
    texts = [text for kind, text in read(folder).scripts if kind == "application/json"]
    assert not any("<" in text for text in texts)
    return [json.loads(text) for text in texts]


def test_charts_are_of_latency_and_time_and_carry_no_code(folder: Path) -> None:
    found = charts(folder)
    assert len(found) == 2
    titles = [title for chart in found for title in texts_of(chart, "Title", "text")]
    for words in ("Latency of call", "Goodput of all", "Queue delay as", "Drop probability"):
        assert any(title.startswith(words) for title in titles), words
    assert not [name for chart in found for name in models(chart) if name.startswith("Custom")]
    # What would end an element is a text like any other.
    labels = [one for chart in found for one in texts_of(chart, "LegendItem", "label")]
    assert {str(label) for label in labels} >= {str({"type": "value", "value": EVIL})}


def objects(value: Any) -> list[dict[str, Any]]:
    """All models of a chart."""
    if isinstance(value, dict):
        own = [value] if value.get("type") == "object" else []
        return own + [one for item in value.values() for one in objects(item)]
    if isinstance(value, list):
        return [one for item in value for one in objects(item)]
    return []


def models(chart: dict[str, Any]) -> set[str]:
    return {one["name"] for one in objects(chart)}


def texts_of(chart: dict[str, Any], model: str, key: str) -> list[Any]:
    return [
        one["attributes"][key]
        for one in objects(chart)
        if one["name"] == model and key in one["attributes"]
    ]


def test_a_page_without_a_script_shows_its_pictures(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    # Only a script that ran makes a figure live; in print its picture comes back.
    assert ".chart, .live img { display: none; }" in page
    assert page.count('class="has-chart"') == 2
    assert 'class="live"' not in page
    printed = page[page.index("@media print") :]
    assert ".live img { display: inline; }" in printed


def test_a_page_without_charts_runs_nothing(folder: Path, tmp_path: Path) -> None:
    import shutil

    other = Path(shutil.copytree(folder, tmp_path / "other"))
    for chart in (other / "plots").glob("*.json"):
        chart.unlink()
    report.write(other)
    page = read(other)
    assert page.scripts == []
    assert "script-src" not in page.policy
    assert page.policy.startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged (is no chart)"),
        ('{"doc": 1}', "is damaged (is no chart)"),
        ("[" * 100_000, "is damaged"),
        (" " * (embedding.MOST_BYTES + 1), f"is longer than {embedding.MOST_BYTES} bytes"),
    ],
)
def test_what_is_no_chart_is_refused(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "over-time.json"
    path.write_text(content)
    with pytest.raises(TestbedError) as error:
        embedding.read(path)
    assert str(error.value).startswith(f"{path}: is damaged (")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_the_page_of_ten_minutes_stays_small(tmp_path: Path) -> None:
    many = [records(SECONDS, label)[1] for label in ("tail", "codel")]
    made = written(tmp_path / "run", scenario_files.loaded(tmp_path), many)
    assert (made / "report.html").stat().st_size < MOST_PAGE


def test_only_some_runs_keep_their_order() -> None:
    runs = Runs(None, records())  # type: ignore[arg-type]
    assert [one.label for one in runs.only([1]).records] == ["codel"]


floats = st.floats(-1e6, 1e6) | st.just(float("nan"))


@given(st.lists(st.tuples(st.floats(0, 1e5), floats), max_size=300), st.integers(1, 20))
def test_a_thinned_line_covers_the_same_pixels(
    points: list[tuple[float, float]], columns: int
) -> None:
    points.sort(key=lambda point: point[0])
    x = np.array([point[0] for point in points])
    y = np.array([point[1] for point in points])
    shown_x, shown_y = thinning.thinned(x, y, columns)
    assert shown_x.size == shown_y.size <= 2 * columns
    assert np.all(np.diff(shown_x) >= 0)
    # Nothing that was not there, and in each column the least and the greatest.
    known = {(float(a), float(b)) for a, b in zip(x, y, strict=True) if not np.isnan(b)}
    kept = {(float(a), float(b)) for a, b in zip(shown_x, shown_y, strict=True) if not np.isnan(b)}
    assert kept <= known
    if known:
        values = [b for _, b in known]
        assert {min(values), max(values)} <= {b for _, b in kept}


@given(st.lists(st.floats(0, 1e6), max_size=500), st.integers(300, 400))
def test_a_thinned_distribution_keeps_its_ends(samples: list[float], most: int) -> None:
    values, share = thinning.distribution(np.array(samples), most)
    assert values.size == share.size
    assert np.all(np.diff(values) >= 0)
    assert np.all(np.diff(share) > 0)
    if samples:
        assert (values[0], values[-1]) == (min(samples), max(samples))
        assert share[-1] == 100
        assert values.size <= most


def seldom() -> RunRecord:
    """A run whose game has a packet every two seconds, and then two that are near each other."""
    packets = dict(records()[1].packets)
    packets["call"] = Packets.together([])
    packets["game"] = Packets(np.array([0.1, 2.1, 4.1, 6.1, 6.3]), np.array([20.0, 9, 9, 5, 7]))
    return scenario_files.record("codel", 20, packets=packets, calls=frozenset())


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([], []),
        ([1.0], [0]),
        ([np.nan], []),
        ([1, np.nan, 2, 3, np.nan, 4], [0, 5]),
        ([np.nan, 1, np.nan], [1]),
        ([1, 2, 3], []),
    ],
)
def test_points_between_gaps_are_alone(values: list[float], places: list[int]) -> None:
    assert thinning.alone(np.array(values, float)).tolist() == places


def test_packets_now_and_then_are_seen_over_time(tmp_path: Path) -> None:
    runs = Runs(scenario_files.loaded(tmp_path).scenario, [seldom()])
    [plot] = over_time.plots({"runs": [{"label": "codel"}]})
    figure = plot.draw(runs)
    goodput, latency = figure.axes[:2]
    [line] = latency.get_lines()
    # The last two are next to each other, and a line goes through both.
    places = np.asarray(line.get_markevery())
    marked = np.asarray(line.get_xdata())[places] - over_time.MEDIAN_SECONDS / 2
    assert marked == pytest.approx([0, 2, 4])
    assert line.get_marker() == "o"
    assert goodput.get_lines()[0].get_marker() == "None"
    # The legend has the marker, too.
    [handle] = figure.legends[0].get_lines()
    assert handle.get_marker() == "o"
    assert plot.chart is not None
    chart = plot.chart(runs)
    assert [len(lines) for lines in chart._lines.values()] == [3]
    [scattered] = [one for one in chart._lines["codel"] if type(one.glyph).__name__ == "Scatter"]
    assert list(scattered.data_source.data["y"]) == [20, 9, 9]
    chart.layout()
