# SPDX-License-Identifier: Apache-2.0
"""results.json of a sitting and its page: what came of rows, and what changed."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from rich.console import Console
from toy_rows.made import catalogue, toys
from toy_rows.pages import content, entry, evaluated, figure

from docsis_experiments.reproduction import earlier, job, outcomes
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.rule import Amendment
from docsis_experiments.reproduction.costs import calibration
from docsis_experiments.reproduction.figure import (
    Axis,
    Figure,
    Line,
    Made,
    Panel,
    place,
)
from docsis_experiments.reproduction.figure_data import as_data
from docsis_experiments.reproduction.job import Bench
from docsis_experiments.reproduction.judge import kept
from docsis_experiments.reproduction.judging import judged
from docsis_experiments.reproduction.making import Processes
from docsis_experiments.reproduction.page import html, values
from docsis_experiments.reproduction.page.drawing import picture
from docsis_experiments.reproduction.page.legends import LEGENDS
from docsis_experiments.reproduction.page.opening import opening
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Level, Row, Seeds
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.store import Store
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


def test_states(rows: dict[str, Row]) -> None:
    study = entry(rows, "000-A1")
    assert (study["state"], study["standing"]) == ("reproduced", "provisional")
    [reading] = study["readings"]
    [part] = reading["parts"]
    assert part["low"] < part["value"] == 76.0 < part["high"]
    assert part["values"] == {"1": 75.0, "2": 76.0, "3": 77.0}
    assert (part["reproduced"], part["method"], part["count"]) == ("50 to 100", "student", 3)
    assert entry(rows, "000-A1", seconds=(1.0, 1.1, 1.2))["state"] == "contradicted"
    assert entry(rows, "000-A1", Level.SMOKE)["state"] == "run"
    assert entry(rows, "000-X1")["state"] == "not reproducible"
    absent = entry(rows, "001-D1")
    assert (absent["state"], absent["why"], absent["made"]) == (
        "not run", "nothing measures it", None,
    )  # fmt: skip


def test_what_is_not_whole_has_no_verdict(rows: dict[str, Row]) -> None:
    """Parts of fewer runs would be of another population than the rule's."""
    found = entry(rows, "000-A1", problem="2 of its 6 works are not made yet")
    assert (found["state"], found["standing"]) == ("not run", "none")
    assert found["why"] == "2 of its 6 works are not made yet"
    assert [part["value"] for part in found["readings"][0]["parts"]] == [None]


def test_parts_that_the_rule_has_not_are_told(rows: dict[str, Row]) -> None:
    parts = {"another": Seeds({1: 1.0, 2: 1.0, 3: 1.0})}
    rule = catalogue()["000-A1"]
    done = judged(rule, [evaluated(rows["000-A1"], Level.STUDY, parts)], Level.STUDY, "virtual")
    assert done.judged is None
    assert 'it cannot be judged: 000-A1: reading 1 has no part "another"' in done.why
    # Another reading's costs the first nothing.
    good = {"tail over codel": Seeds({1: 6.0, 2: 6.1, 3: 6.2})}
    two = catalogue()["000-A2"]
    readings = [
        evaluated(rows["000-A2"], Level.STUDY, good),
        evaluated(rows["000-A2"], Level.STUDY, parts, reading=2),
    ]
    done = judged(two, readings, Level.STUDY, "virtual")
    assert done.judged is not None
    assert done.judged.verdict == "reproduced"
    assert "other readings cannot be judged" in done.why


def test_the_document_has_its_schema(rows: dict[str, Row], tmp_path: Path) -> None:
    found = content([entry(rows, name) for name in catalogue()])
    earlier.validate(found, "results.json")
    path = tmp_path / "results.json"
    path.write_text(json.dumps(found))
    assert earlier.read(path) == found
    assert found["counts"]["reproduced"] == 2


def test_the_page(rows: dict[str, Row]) -> None:
    amended = Amendment(date=date(2026, 11, 23), before="0" * 12, was="R 1 to 2", why="a <slip>")
    rules = [entry(rows, name) for name in catalogue()]
    rules[0]["amended"] = [
        {"date": "2026-11-23", "before": amended.before, "was": amended.was, "why": amended.why}
    ]
    found = content(rules)
    before = copy.deepcopy(found)
    before["rows"][0]["state"] = "undecided"
    found["since"] = earlier.since(before, found["rows"], "before.json")
    text = html.text(found)
    assert "75.9" not in text
    for words in (
        "76 ms", "50 to 100", "reproduced, provisional", "A &lt;toy&gt; figure", "data:image/png",
        "a &lt;slip&gt;", "Changed since 23 November 2026, 12:00", "undecided, provisional",
        "nothing measures it", "1 to 3", found["rows"][0]["hash"], "0123456789",
    ):  # fmt: skip
        assert words in text, words
    # Nothing is loaded, and nothing runs.
    assert "<script" not in text
    assert "default-src 'none'" in text.replace("&#39;", "'")
    assert not re.search(r"(src|href)=\"https?:", text)


def test_the_opening_counts_what_there_is(rows: dict[str, Row]) -> None:
    found = [entry(rows, name) for name in catalogue()]
    assert opening(found, catalogue()) == (
        "Of 7 results, 5 have a provisional outcome, from fewer seeds or under fewer conditions: 2 "
        "reproduced, 3 contradicted. 1 has no outcome yet: 1 not run. 1 cannot be reproduced. That "
        "is 5 + 1 + 1 = 7."
    )
    found[0]["kind"], found[0]["state"] = "D", "held"
    found[1]["standing"] = "verdict"
    assert opening(found, [*catalogue(), "000-Z"]) == (
        "Of 7 results, 1 has a verdict, from all the random seeds that the rule asks for: 1 "
        "contradicted. 3 have a provisional outcome, from fewer seeds or under fewer conditions: 1 "
        "reproduced, 2 contradicted. 1 has no outcome yet: 1 not run. 1 is a definition, of which "
        "1 holds. 1 cannot be reproduced. That is 1 + 3 + 1 + 1 + 1 = 7; the catalogue has 8, of "
        "which 000-Z is not here."
    )
    assert opening(found[1:2], catalogue()).endswith(
        "The catalogue has 7, of which 6 are not here."
    )
    smoke = entry(rows, "000-A1", Level.SMOKE)
    assert opening([smoke], ["000-A1"]) == "Of 1 result, 1 has no outcome yet: 1 run."


def test_the_opening_of_the_published_page_adds_up() -> None:
    published = earlier.read(ROOT / "docs" / "results" / "results.json")["rows"]
    words = opening(published, registered_rules())
    [(terms, total)] = re.findall(r"That is ([0-9 +]+) = ([0-9]+)", words)
    counts = [int(term) for term in terms.split(" + ")]
    assert sum(counts) == int(total) == len(published)
    # Each outcome is counted once.
    outcomes = re.findall(
        r"[:,] ([0-9]+) (?:reproduced|consistent|contradicted|undecided|not run)", words
    )
    judged = [row for row in published if row["kind"] not in ("D", "X")]
    assert sum(map(int, outcomes)) == len(judged)


def test_abbreviations_of_white_2014_are_explained_above_its_table() -> None:
    told = {one.short for one in LEGENDS["000"]}
    # What every engineer of queues knows, definitions, and MB.
    known = {"TCP", "UDP", "SFQ", "AQM", "CUBIC", "D", "MB", "A"}
    for rule in registered_rules().values():
        if rule.paper == "000":
            used = set(re.findall(r"(?<!-)\b[A-Z]+s?\b", f"{rule.done} {rule.published}"))
            assert used <= told | known, rule.id


@pytest.mark.parametrize("paper", values.PAPERS)
def test_a_legend_has_the_names_that_measured_parts_have(paper: str) -> None:
    words = {
        word
        for rule in registered_rules().values()
        if rule.paper == paper
        for part in rule.parts
        for word in part.name.split()
    }
    assert {one.measured for one in LEGENDS[paper] if one.measured} <= words


def test_the_first_screen_says_what_its_words_mean(rows: dict[str, Row]) -> None:
    """A sitting, a verdict and a provisional outcome are explained before the first table."""
    full, study = entry(rows, "000-A1", Level.FULL), entry(rows, "000-A2")
    text = html.text(content([full, study]))
    body = text[text.index("<body") :]
    first = body[: body.index('<table class="rows">')]
    assert "A <em>sitting</em> is one call of" in first
    assert first.index("a provisional outcome, from fewer seeds") < first.index(
        "A row at the level"
    )
    assert "<strong>BB</strong> drop tail with a buffer of 250 ms" in first
    for word in ("mends", "reading 1", "was asked for"):
        assert word not in re.sub(r"<[^>]*>", " ", first)


def test_a_verdict_names_the_readings_that_were_not_played() -> None:
    rule = registered_rules()["000-F6b"]
    names = {one.number: one.words.split(";")[0] for one in rule.readings}
    played = [{"reading": number, "stage": "virtual"} for number in (1, 2, 4)]
    row = {"id": rule.id, "standing": "verdict", "readings": played}
    assert values.unplayed(row, {rule.id: rule}) == [
        names[number] for number in rule.reading_numbers[1:] if number not in (2, 4)
    ]
    # Runs in Mininet count for the first reading only.
    in_mininet = {**row, "readings": [{"reading": 2, "stage": "mininet"}]}
    assert names[2] in values.unplayed(in_mininet, {rule.id: rule})
    # A provisional row has no other reading to play.
    assert values.unplayed({**row, "standing": "provisional"}, {rule.id: rule}) == []


def test_the_published_page_names_them() -> None:
    published = earlier.read(ROOT / "docs" / "results" / "results.json")
    owed = {
        row["id"]: words
        for row in published["rows"]
        if (words := values.unplayed(row, registered_rules()))
    }
    page = (ROOT / "docs" / "results" / "index.html").read_text()
    assert page.count("Not played yet with") == len(owed)


def test_pictures_are_drawn() -> None:
    assert picture(as_data(figure())).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="has not as many values"):
        Line("x", (1, 2), (1,))
    many = tuple(float(n) for n in range(20_001))
    panel = Panel("", Axis("x"), Axis("y"), (Line("x", many, many),))
    with pytest.raises(ValueError, match="there may be 20000"):
        as_data(Figure("000-1", "", (panel,), "", ()))


def test_what_changed(rows: dict[str, Row]) -> None:
    before = content([entry(rows, "000-A1"), entry(rows, "000-A2")])
    after = [entry(rows, "000-A1", seconds=(1.0, 1.1, 1.2)), entry(rows, "000-A2")]
    after[1]["hash"] = "f" * 12
    found = earlier.since(before, after, "x")["changes"]
    assert [(one["id"], one["what"]) for one in found] == [
        ("000-A1", "the outcome"), ("000-A1", "p90 tail"), ("000-A2", "the rule"),
    ]  # fmt: skip
    assert (found[0]["before"], found[0]["after"]) == (
        "reproduced, provisional", "contradicted, provisional",
    )  # fmt: skip


def test_figures_stand_in_the_order_of_their_numbers() -> None:
    ids = ["001-9", "001-15-16", "000-10", "001-10", "000-2a", "000-2"]
    assert sorted(ids, key=place) == ["000-2", "000-2a", "000-10", "001-9", "001-10", "001-15-16"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ("{}", "is no results.json of docsis-p4 reproduce"),
        ('{"experiment": "reproduction", "version": 9}', "is of version 9, and this program reads"),
        ('{"experiment": "reproduction", "version": 1}', "is damaged ('rows' is not there)"),
        ('{"experiment": "reproduction", "version": 2}', "the top: 'level' is a required property"),
        ("[" * 100_000, "is damaged"),
    ],
)
def test_an_earlier_file_that_cannot_be_used(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(TestbedError, match=re.escape(words)):
        earlier.read(path)


def test_every_outcome_is_kept_once(
    rows: dict[str, Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sitting from its works to its page, twice, and what is new the second time."""
    # Another test measures the machine.
    monkeypatch.setattr(calibration, "costs", lambda folder, jobs: [])
    shelf = Shelf(Store(tmp_path / "kept"))
    request = Request(("000-A1",), Level.STUDY, publish=tmp_path / "docs", note="nothing yet")

    def draw(made: Mapping[str, Made]) -> list[Figure]:
        assert set(made["000-A1"].results.runs("tail")) == {1, 2, 3}
        return [figure("000-1")]

    def broken(made: Mapping[str, Made]) -> list[Figure]:
        raise KeyError("nothing")

    for number in (1, 2):
        console = Console(record=True, width=150, file=(tmp_path / "console").open("w"))
        bench = Bench(
            rows, catalogue(), shelf, {draw: ("000-A1",), broken: ("000-A1", "000-A2")},
            tmp_path / f"results-{number}",
        )  # fmt: skip
        # A figure that cannot be drawn hinders no page.
        with pytest.raises(TestbedError, match="The figures of 000-A1 cannot be drawn: KeyError"):
            job.run(request, player=Processes(1), jobs=1, console=console, bench=bench)
        [folder] = bench.results.iterdir()
        words = console.export_text()
        assert "The figures of 000-A1 cannot be drawn: KeyError" in words
        assert "reproduced, provisional" in words
        found = earlier.read(folder / "results.json")
        assert [one["id"] for one in found["figures"]] == ["000-1"]
        assert len(found["rows"][0]["history"]) == 1
        assert (folder / "report.html").is_file()
    history = kept.read(outcomes.path(shelf))
    assert [(one.row, one.outcome, one.note) for one in history.outcomes] == [
        ("000-A1", "reproduced", "nothing yet")
    ]
    assert (tmp_path / "docs" / "index.html").is_file()


def test_papers_have_the_names_of_the_glossary() -> None:
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    assert list(values.NAMES) == list(values.PAPERS)
    for number, name in values.NAMES.items():
        assert f"| {name} | {number} | " in glossary
