# SPDX-License-Identifier: Apache-2.0
"""Summary, tables, figures and report of a scenario whose runs were made up."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario_files
from pictures import without_pictures
from rich.console import Console
from time_samples import JUMPED, LATE, TIMERS

from docsis_control.topology.document import write_topology
from docsis_control.topology.models import Link
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.judging import judge
from docsis_experiments.measurement.links import ImpairedLink, Way, Ways
from docsis_experiments.measurement.record import Control, Packets, RunRecord
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.repetition import once
from docsis_experiments.reports import document, report
from docsis_experiments.reports import single_summary as summary
from docsis_experiments.reports.plots.single import against_buffer, latency
from docsis_experiments.reports.plots.subjects import Runs
from docsis_experiments.reports.run_table import run_table
from docsis_testbed.errors import TestbedError

DETAILS = {"started": "2026-01-01 00:00:00", "plan": {"one_in": 2}}


def summarised(loaded: Loaded, records: list[RunRecord]) -> dict[str, Any]:
    return summary.summarise(
        loaded.scenario,
        records,
        judge.judge(loaded.scenario, records),
        judge.not_judged(loaded.scenario, records),
        target="embedded",
        topology=loaded.topology,
        versions={"python": "3"},
        timers=TIMERS,
    )


def written(folder: Path, loaded: Loaded, records: list[RunRecord]) -> Path:
    for name in ("inputs", "plots"):
        (folder / name).mkdir(parents=True)
    write_topology(loaded.topology, folder / "inputs" / "topology.yaml")
    report.complete(folder, summarised(loaded, records), DETAILS, Runs(loaded.scenario, records))
    return folder


@pytest.fixture
def records() -> list[RunRecord]:
    times = np.arange(0, 10, 0.016)
    control = Control(times, np.full(times.size, 12.0), np.full(times.size, 0.01))
    return [
        scenario_files.record("tail", 50),
        scenario_files.record("codel", 20, control=control, steps=((0.0, 20.0), (5.0, 10.0))),
    ]


def test_summary_has_every_group_of_every_run(tmp_path: Path, records: list[RunRecord]) -> None:
    figures = summarised(scenario_files.loaded(tmp_path), records)
    assert figures["passed"]
    tail = figures["runs"][0]
    assert tail["groups"]["ftp"]["latency_ms"]["p99"] == 51.0
    assert tail["groups"]["ftp"]["flow_goodput_mbps"] == pytest.approx([1, 2, 3])
    assert tail["groups"]["call"]["packets"] == 500
    assert tail["groups"]["game"]["message_latency_ms"]["max"] == 70.0
    assert "goodput_mbps" not in tail["groups"]["call"]
    value = figures["expectations"][0]
    assert (value["published"], value["allowed"], value["measured"]) == ([40, 60], [35, 65], 50)
    assert (value["reason"], value["holds"]) == ("a guess", True)


def test_value_that_is_not_there_fails_and_is_null(tmp_path: Path) -> None:
    none = Packets(np.zeros(0), np.zeros(0))
    records = [scenario_files.record("tail", 1, packets={"call": none, "ftp": none, "game": none,
               "steady": none})]  # fmt: skip
    figures = summarised(scenario_files.loaded(tmp_path), records)
    assert not figures["passed"]
    assert figures["expectations"][0]["measured"] is None
    assert figures["runs"][0]["groups"]["call"]["latency_ms"]["p90"] is None


def test_summarys_shape_is_checked(tmp_path: Path, records: list[RunRecord]) -> None:
    figures = summarised(scenario_files.loaded(tmp_path), records)
    changes: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda f: f.pop("scale"),
        lambda f: f["runs"][0].update(extra=1),
        lambda f: f["expectations"][0].update(holds="yes"),
        lambda f: f["runs"][0]["groups"]["ftp"].update(loss_percent=101),
    )
    for change in changes:
        broken = copy.deepcopy(figures)
        change(broken)
        with pytest.raises(TestbedError, match=r"summary\.json: "):
            document.validate(broken)


def test_report_opens_offline_and_has_both_values(tmp_path: Path, records: list[RunRecord]) -> None:
    folder = written(tmp_path / "run", scenario_files.loaded(tmp_path), records)
    whole = (folder / "report.html").read_text()
    page = scenario_files.shown(whole)
    assert page.count("data:image/png;base64,") == 3
    assert page.index("the median latency of call is") < page.index("<h2>")
    for reference in ("http://", "https://", 'src="plots', "<script", "@import"):
        assert reference not in page
    for words in ("40 to 60", "35 to 65", "<td>50</td>", "One run is no verdict", "a guess"):
        assert words in page
    (folder / "report.html").unlink()
    assert report.write(folder).read_text() == whole


def test_links_with_loss_are_in_the_summary_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    asked = Link.model_validate({"loss": "0.5 %", "jitter": "2 ms"})
    link = ImpairedLink("server1", asked, Ways(from_host=Way(2_000, 12), to_host=Way(0, 0)))
    records = [scenario_files.record("tail", 50, links=(link,)), scenario_files.record("codel", 20)]
    folder = written(tmp_path / "run", scenario_files.loaded(tmp_path), records)
    tail, codel = json.loads((folder / "summary.json").read_text())["runs"]
    assert tail["links"] == [
        {
            "host": "server1",
            "loss": "0.5 %",
            "jitter": "2 ms",
            "from_host": {"frames": 2_000, "lost": 12},
            "to_host": {"frames": 0, "lost": 0},
        }
    ]
    assert "links" not in codel
    page = scenario_files.shown((folder / "report.html").read_text())
    row = page[page.index("Links with loss or jitter") :]
    for cell in ("0.5 %", "2 ms", "2000", "12", "0.6", "-"):
        assert f"<td>{cell}</td>" in row


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"loss": "0.5 %"},
            "the link of cpe1 lost 12 of 2000 frames from it, and 3 of 400 frames to it, with "
            "0.5 % asked for.",
        ),
        ({"jitter": "2 ms"}, "the link of cpe1 made each frame up to 2 ms later."),
    ],
)
def test_what_links_did_is_told_in_words(asked: dict[str, str], words: str) -> None:
    link = ImpairedLink("cpe1", Link.model_validate(asked), Ways(Way(2_000, 12), Way(400, 3)))
    assert once.link_words(link.figures()) == words


def test_one_run_says_neither_that_a_value_holds_nor_that_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    records = [scenario_files.record("tail", 500), scenario_files.record("codel", 20)]
    folder = written(tmp_path / "run", scenario_files.loaded(tmp_path), records)
    assert not json.loads((folder / "summary.json").read_text())["passed"]
    written_page = scenario_files.shown((folder / "report.html").read_text())
    for page in (written_page, told(_figures(folder))):
        assert "One run is no verdict" in page
        assert not {"holds", "fails", "reproduced", "contradicted"} & set(page.split())


@pytest.mark.parametrize("timing", [LATE, JUMPED])
def test_late_switch_gives_no_verdict_and_the_values_are_shown(
    tmp_path: Path, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    loaded = scenario_files.loaded(tmp_path)
    # The value would hold, and the order would too.
    records = [
        scenario_files.record("tail", 50, timing=timing),
        scenario_files.record("codel", 20),
    ]
    folder = written(tmp_path / "run", loaded, records)
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["passed"] is None
    assert [entry["holds"] for entry in figures["expectations"]] == [None, None]
    assert figures["expectations"][0]["measured"] == 50.0
    assert figures["no_verdict"] == [f"tail: {timing.words}"]
    assert figures["runs"][0]["timing"]["valid"] is timing.valid
    page = (folder / "report.html").read_text()
    assert timing.words in page
    assert ("not valid</strong>" in page) is not timing.valid
    text = told(figures)
    assert timing.words in text.replace("\n", " ")
    assert "no verdict" in text


def test_run_that_is_late_does_not_hide_another_that_fails(tmp_path: Path) -> None:
    records = [
        scenario_files.record("tail", 500),
        scenario_files.record("codel", 20, timing=LATE),
    ]
    figures = summarised(scenario_files.loaded(tmp_path), records)
    assert figures["passed"] is False
    assert [entry["holds"] for entry in figures["expectations"]] == [False, None]


def test_run_that_was_measured_wrongly_gets_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    fault = "the capture had no room for 7 of 80 packets at the receivers"
    records = [
        scenario_files.record("tail", 50, faults=(fault,)),
        scenario_files.record("codel", 20),
    ]
    folder = written(tmp_path / "run", scenario_files.loaded(tmp_path), records)
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["passed"] is None
    assert figures["no_verdict"] == [f"tail: no verdict: {fault}"]
    assert fault in (folder / "report.html").read_text()


def test_absent_value_fails_and_says_why(tmp_path: Path) -> None:
    none = Packets(np.zeros(0), np.zeros(0))
    records = [
        scenario_files.record("tail", 1, packets={"call": none, "ftp": none, "game": none,
                                                  "steady": none}),
        scenario_files.record("codel", 20),
    ]  # fmt: skip
    folder = written(tmp_path / "run", scenario_files.loaded(tmp_path), records)
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["passed"] is False
    why = "no packet of call was sent in that time"
    assert figures["expectations"][0]["absent"] == why
    assert why in (folder / "report.html").read_text()
    assert why in told(figures)


def test_report_of_an_older_run_can_be_written_again(
    tmp_path: Path, records: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    folder = written(tmp_path / "run", scenario_files.loaded(tmp_path), records)
    figures = json.loads((folder / "summary.json").read_text())
    for part in (figures, *figures["runs"], *figures["expectations"]):
        for key in ("timers", "no_verdict", "timing", "faults", "absent", "withheld", "hash"):
            part.pop(key, None)
    (folder / "summary.json").write_text(json.dumps(figures))
    assert "One run is no verdict" in report.write(folder).read_text()


def test_grid_is_shown_against_its_buffers(tmp_path: Path) -> None:
    new, old = scenario_files.GRID
    loaded = scenario_files.loaded(
        tmp_path,
        (old, new),
        ("runs: [tail]", "runs: [drop-tail]"),
        ("[codel, tail]", "[codel, drop-tail]"),
    )
    records = [
        scenario_files.record(run.label, buffer, buffer_ms=float(buffer), manager=name)
        for run, buffer, name in zip(
            loaded.scenario.all_runs, [50, 100, 200] * 2, ["a"] * 3 + ["b"] * 3, strict=True
        )
    ]
    folder = written(tmp_path / "run", loaded, records)
    assert {file.name for file in (folder / "plots").iterdir()} == {
        against_buffer.PLOT.file,
        latency.PLOT.file,
        latency.PLOT.chart_file,
    }
    page = scenario_files.shown((folder / "report.html").read_text())
    assert page.count("data:image/png;base64,") == 2


def test_raw_samples_are_kept(tmp_path: Path, records: list[RunRecord]) -> None:
    records[1].write(tmp_path)
    with (tmp_path / "packets.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"group": "call", "time_s": "-2", "one_way_delay_ms": "20"}
    assert len(rows) == 4 * 750
    with (tmp_path / "goodput.csv").open() as file:
        assert next(csv.reader(file)) == [
            "time_s", "ftp-1_bytes", "ftp-2_bytes", "ftp-3_bytes", "game_bytes", "steady_bytes",
        ]  # fmt: skip
    assert (tmp_path / "channel.csv").read_text().splitlines()[1:] == ["0,20", "5,10"]
    assert len((tmp_path / "queue.csv").read_text().splitlines()) == 1 + 625
    assert len((tmp_path / "messages.csv").read_text().splitlines()) == 3


def _figures(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def told(figures: dict[str, Any]) -> str:
    """All that the terminal shows."""
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(run_table(figures))
    console.print(once.verdicts_table(figures))
    console.print(once.timing_words(figures), soft_wrap=True)
    return console.export_text()


def test_tables_show_published_and_measured(tmp_path: Path, records: list[RunRecord]) -> None:
    figures = summarised(scenario_files.loaded(tmp_path), records)
    text = told(figures)
    assert "All runs are valid" in text
    for words in ("40 to 60", "35 to 65", "One run is no verdict", "latency p90 of call, ms"):
        assert words in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"experiment": "scenario"}, "summary.json: the top: 'name' is a required property"),
        ({"experiment": "sweep"}, "summary.json: the top: 'version' is a required property"),
        ({"experiment": "repeated", "runs": 3}, "summary.json: "),
        ([], "summary.json: must be a mapping"),
    ],
)
def test_a_damaged_summary_is_told_before_anything_is_made_of_it(
    tmp_path: Path, content: object, words: str
) -> None:
    for name, text in (("summary", json.dumps(content)), ("details", "{}")):
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "topology.yaml").write_text("")
    with pytest.raises(TestbedError) as error:
        report.write(tmp_path)
    assert str(error.value).startswith(words)
