# SPDX-License-Identifier: Apache-2.0
"""What links lost over many runs: kept with the outcomes, and told with intervals."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scenario_files
from outcome_files import outcome
from pictures import without_pictures
from rich.console import Console
from time_samples import TIMERS

from docsis_control.topology.models import Link, Topology
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.measurement.links import ImpairedLink, Way, Ways
from docsis_experiments.reports import repeated_summary, repeated_tables, report
from docsis_experiments.reports.plots.subjects import Repeated
from docsis_experiments.runs import files
from docsis_experiments.runs.outcome import Outcome

ASKED = Link.model_validate({"loss": "0.5 %", "jitter": "2 ms"})


def impaired(topology: Topology) -> Topology:
    """The topology with loss and jitter on the link of its first server."""
    first, *others = topology.servers
    return topology.model_copy(
        update={"servers": (first.model_copy(update={"link": ASKED}), *others)}
    )


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    plain = scenario_files.loaded(tmp_path)
    return dataclasses.replace(plain, topology=impaired(plain.topology))


def outcomes(loaded: Loaded, lost: list[int], withheld: int = 0) -> list[Outcome]:
    """Runs of tail in which so many of 2,000 frames to the server were lost; none came from it."""
    host = loaded.topology.servers[0].name
    return [
        outcome(
            loaded,
            "tail",
            50.0,
            number,
            links=(ImpairedLink(host, ASKED, Ways(Way(0, 0), Way(2_000, count))),),
            faults=("a sender was late",) if number <= withheld else (),
        )
        for number, count in enumerate(lost, 1)
    ]


def summary(loaded: Loaded, made: list[Outcome]) -> dict[str, Any]:
    return repeated_summary.summarise(
        loaded.scenario,
        [run for run in loaded.scenario.all_runs if run.label == "tail"],
        made,
        [],
        numbers=range(1, len(made) + 1),
        words="seeds",
        target="embedded",
        topology=loaded.topology,
        versions={},
        timers=TIMERS,
        marks={"stage": "virtual", "jobs": 1},
    )


def test_losses_of_links_have_medians_and_intervals(loaded: Loaded) -> None:
    # The first run does not count. Student's t of 4, 8, 10, 12, 16: 10 +- 2.776 sqrt(20 / 5).
    [run] = summary(loaded, outcomes(loaded, [1000, 4, 8, 10, 12, 16], withheld=1))["runs"]
    [link] = run["links"]
    assert (link["host"], link["loss"], link["jitter"]) == ("server1", "0.5 %", "2 ms")
    to_host, from_host = link["to_host"], link["from_host"]
    assert to_host["frames"] == {"runs": 5, "median": 2_000, "interval": [2_000, 2_000]}
    assert to_host["lost"]["median"] == 10
    assert to_host["lost"]["interval"] == pytest.approx([4.447, 15.553], abs=1e-3)
    assert to_host["lost_percent"]["median"] == pytest.approx(0.5)
    assert to_host["lost_percent"]["interval"] == pytest.approx([0.22235, 0.77765], abs=1e-5)
    # No frame came that way, so there is no share of them.
    assert from_host["lost_percent"] == {"runs": 0, "median": None, "interval": None}


def test_runs_without_such_links_have_no_table(tmp_path: Path) -> None:
    plain = scenario_files.loaded(tmp_path)
    [run] = summary(plain, [outcome(plain, "tail", 50.0)])["runs"]
    assert "links" not in run


def test_losses_of_links_are_on_the_page_and_in_the_terminal(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    made = outcomes(loaded, [4, 8, 10, 12, 16])
    figures = summary(loaded, made)
    folder = tmp_path / "result"
    (folder / "plots").mkdir(parents=True)
    (folder / "inputs").mkdir()
    (folder / "inputs" / "topology.yaml").write_text("name: it\n")
    details = {
        "started": "today", "seconds": 1, "kept": 0, "told": [],
        "machine": {"cpus": 2, "load_average": 0.5}, "versions": {},
    }  # fmt: skip
    report.complete(folder, figures, details, Repeated(figures, made))
    page = scenario_files.shown((folder / "report.html").read_text())
    table = page[page.index("Links with loss or jitter") :]
    for cell in (
        "<td>0.5 %</td>",
        "<td>2 ms</td>",
        '<td>10<br><span class="interval">[4.45, 15.6]</span>',
        '<td>0.5<br><span class="interval">[0.222, 0.778]</span>',
    ):
        assert cell in table
    said = io.StringIO()
    for one in repeated_tables.tables(figures):
        Console(file=said, width=80).print(one)
    assert "Frames that links lost" in said.getvalue()
    assert "[0.222, 0.778]" in said.getvalue()


def test_links_are_kept_with_an_outcome(loaded: Loaded) -> None:
    made = outcomes(loaded, [12])
    [again] = files.decode(files.encode(made), "it")
    assert again.links == {"server1": Ways(Way(0, 0), Way(2_000, 12))}


def test_a_link_that_lost_more_than_there_was_is_refused(loaded: Loaded) -> None:
    with pytest.raises(files.Damaged, match="a link that lost more frames than went into it"):
        files.decode(files.encode(outcomes(loaded, [2_001])), "it")


def test_outcomes_from_before_links_were_kept_are_read(loaded: Loaded) -> None:
    [made] = outcomes(loaded, [12])
    rows = [{name: value for name, value in files.row(made).items() if name != "links"}]
    schema = files.SCHEMA.remove(files.SCHEMA.get_field_index("links"))
    marks = {files._VERSION_KEY: b"2", files._DIGEST_KEY: files._digest(rows)}
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema.with_metadata(marks)), sink)
    [again] = files.decode(sink.getvalue(), "it")
    assert again.links == {}
    assert json.loads(again.management) == json.loads(made.management)
    # Version 2 with the columns of version 3 is none that was ever written.
    table = pq.read_table(io.BytesIO(files.encode([made])))
    wrong = table.replace_schema_metadata({**(table.schema.metadata or {}), **marks})
    sink = io.BytesIO()
    pq.write_table(wrong, sink)
    with pytest.raises(files.Damaged, match="does not have the columns of its version"):
        files.decode(sink.getvalue(), "it")
