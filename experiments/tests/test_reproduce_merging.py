# SPDX-License-Identifier: Apache-2.0
"""Several sittings on one page: what stands, beside what, and of which sitting it is told to be."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from pictures import without_figures
from toy_rows.made import catalogue, toys
from toy_rows.pages import MADE, content, drawn, entry, figure

from docsis_experiments.reproduction import alone, earlier, merging
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.rule import Amendment
from docsis_experiments.reproduction.figure import place
from docsis_experiments.reproduction.page import html, values
from docsis_experiments.reproduction.repairs.loader import Repair
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.writing import publish
from docsis_experiments.runs.sources import StageName
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT

LATER = replace(MADE, date="2026-11-24T12:00:00+00:00", commit="abcdef0123").as_data()
GOOD = (75.0, 76.0, 77.0, 75.5)
BAD = (1.0, 1.1, 1.2, 1.15)

Data = dict[str, Any]


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    without_figures(monkeypatch)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


def together(before: Data, after: Data, repairs: Sequence[Repair] = ()) -> Data:
    found = merging.together(before, after, "x", catalogue(), repairs)
    earlier.validate(found, "x")
    assert html.text(found)
    return found


def sitting(found: list[Data], level: Level = Level.STUDY, stage: StageName = "virtual") -> Data:
    """A later one than `content` has."""
    for row in found:
        row["made"] = row["made"] and LATER
        for reading in row["readings"]:
            reading["made"] = LATER
    return content(found, level, stage, LATER)


def second_reading(row: Data) -> Data:
    """The row with another reading, which is as its first."""
    [first] = row["readings"]
    return {**row, "readings": [first, {**copy.deepcopy(first), "reading": 2, "words": "CUBIC"}]}


def numbered(row: Data) -> list[tuple[str, int]]:
    return [(one["stage"], one["reading"]) for one in row["readings"]]


def test_sittings_are_put_together(rows: dict[str, Row], tmp_path: Path) -> None:
    first = content([entry(rows, "000-A1"), entry(rows, "000-A2", problem="stopped")])
    publish(first, tmp_path)
    bad = entry(rows, "000-A1", problem="stopped")
    page = publish(sitting([bad, entry(rows, "000-A2")]), tmp_path).page
    found = earlier.read(tmp_path / "results.json")
    assert [one["state"] for one in found["rows"]] == ["reproduced", "contradicted"]
    assert [one["made"]["commit"] for one in found["rows"]] == [MADE.commit, LATER["commit"]]
    assert found["since"]["changes"] != []
    assert page.name == "index.html"
    text = page.read_text()
    assert "Last added to on 24 November 2026, 12:00, commit abcdef0123" in text
    assert "0123456789, 23 November 2026" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "results.json"]


def test_a_sitting_of_some_rows_leaves_all_in_their_order(rows: dict[str, Row]) -> None:
    before = content([entry(rows, "000-A1"), entry(rows, "000-A2")])
    for name, shown in zip(("000-F9", "000-F10"), before["rows"], strict=True):
        shown["id"] = name
    after = content([copy.deepcopy(before["rows"][1])])
    found = merging.together(before, after, "x", registered_rules(), ())
    assert [one["id"] for one in found["rows"]] == ["000-F9", "000-F10"]


def test_a_verdict_is_not_replaced_by_a_provisional_one(rows: dict[str, Row]) -> None:
    full = content([entry(rows, "000-A1", Level.FULL, GOOD)], Level.FULL)
    assert full["rows"][0]["standing"] == "verdict"
    [row] = together(full, sitting([entry(rows, "000-A1", seconds=BAD)]))["rows"]
    assert (row["state"], row["made"]) == ("reproduced", MADE.as_data())
    [row] = together(full, sitting([entry(rows, "000-A1", Level.FULL, BAD)], Level.FULL))["rows"]
    assert (row["state"], row["made"]) == ("contradicted", LATER)


@pytest.mark.parametrize("waits", ["due", "refused"])
def test_an_extended_outcome_is_not_replaced_by_one_that_waits(
    rows: dict[str, Row], waits: str
) -> None:
    def extended(row: Data, words: str) -> Data:
        row["extension"] = row["readings"][0]["extension"] = words
        return row

    full = content([extended(entry(rows, "000-A1", Level.FULL, GOOD), "done")], Level.FULL)
    undecided = entry(rows, "000-A1", Level.FULL, (10.0, 76.0, 140.0, 75.5))
    assert undecided["state"] == "undecided"
    later = sitting([extended(undecided, waits)], Level.FULL)
    [row] = together(full, later)["rows"]
    assert (row["state"], row["extension"]) == ("reproduced", "done")
    # If a defect was mended in between, what was extended before was of the defect.
    mended = Repair(
        at=datetime.fromisoformat("2026-11-24T00:00:00+00:00"),
        commit="abcdef0",
        defect="Every second run was the first again.",
        effect="Not known.",
        rows=("000-A1",),
    )
    [row] = together(full, later, [mended])["rows"]
    assert (row["state"], row["extension"]) == ("undecided", waits)
    for other in ({"rows": ("000-A2",)}, {"at": mended.at.replace(year=2025)}):
        [row] = together(full, later, [mended.model_copy(update=other)])["rows"]
        assert row["state"] == "reproduced"
    # What is decided without an extension is as good.
    later = sitting([entry(rows, "000-A1", Level.FULL, BAD)], Level.FULL)
    assert together(full, later)["rows"][0]["state"] == "contradicted"


def test_readings_stand_for_themselves(rows: dict[str, Row]) -> None:
    before = content([second_reading(entry(rows, "000-A1", Level.FULL, GOOD))], Level.FULL)
    [row] = together(before, sitting([entry(rows, "000-A1", Level.FULL, BAD)], Level.FULL))["rows"]
    assert numbered(row) == [("virtual", 1), ("virtual", 2)]
    assert [one["made"]["commit"] for one in row["readings"]] == ["abcdef0123", "0123456789"]
    page = html.text(content([row], Level.FULL, made=LATER))
    assert "Other reading, CUBIC: reproduced (0123456789, 23 November 2026)" in page
    # A study may play other readings, too. Their outcomes stand beside the verdict, with its level.
    alone = content([entry(rows, "000-A1", Level.FULL, GOOD)], Level.FULL)
    study = sitting([second_reading(entry(rows, "000-A1", Level.STUDY, BAD))])
    [row] = together(alone, study)["rows"]
    assert (row["state"], row["standing"], row["made"]) == ("reproduced", "verdict", MADE.as_data())
    assert [one["level"] for one in row["readings"]] == ["full", "study"]
    page = html.text(content([row], Level.FULL))
    beside = "Other reading, CUBIC: contradicted, provisional, at the level <em>study</em>"
    assert f"{beside} (abcdef0123, 24 November 2026)" in page
    # Readings of one sitting are one list, with the level and the date above it. If a part of one
    # cannot be measured, the list names the part.
    other = {"reading": 3, "words": "no MAC; so", "verdict": "not run", "why": "a part was not run"}
    row["readings"].append({**row["readings"][1], **other})
    page = html.text(content([row], Level.FULL))
    heading = "Other readings, at the level <em>study</em> (abcdef0123, 24 November 2026):"
    lines = "<li>CUBIC: contradicted, provisional</li><li>no MAC: a part was not run</li>"
    assert f"{heading}<ul>{lines}</ul>" in page
    # One that is not whole takes no place of one that is.
    later = second_reading(entry(rows, "000-A1", Level.FULL, BAD))
    later["readings"][1] |= {"there": 4, "parts": []}
    [row] = together(before, sitting([later], Level.FULL))["rows"]
    assert [one["verdict"] for one in row["readings"]] == ["contradicted", "reproduced"]


def test_a_rule_that_was_amended_shows_as_such(rows: dict[str, Row]) -> None:
    before = content([entry(rows, "000-A1"), entry(rows, "000-A2")])
    old = before["rows"][0]["hash"]
    amendment = Amendment(date=date(2026, 11, 24), before=old, was="one reading", why="a second")
    changes = {"amended": (amendment,), "seeds": 6, "done": "all of it", "published": "x: 5"}
    amended = catalogue()["000-A1"].model_copy(update=changes)
    rules = {**catalogue(), "000-A1": amended}
    assert amended.hash != old
    found = merging.together(before, sitting([entry(rows, "000-A2")]), "x", rules, ())
    row = found["rows"][0]
    assert (row["hash"], row["current_hash"]) == (old, amended.hash)
    assert [one["why"] for one in row["amended"]] == ["a second"]
    # What the paper has is told in today's words.
    assert (row["done"], row["published"]) == ("all of it", "x: 5")
    text = html.text(found)
    assert f"an earlier rule; now <code>{amended.hash}</code>" in text
    # What was judged by the rule of today is not replaced by what another rule judged.
    new = {**entry(rows, "000-A1"), "hash": amended.hash}
    new["readings"][0]["hash"] = amended.hash
    page = merging.together(found, sitting([new]), "x", rules, ())
    again = merging.together(page, content([entry(rows, "000-A1", seconds=BAD)]), "x", rules, ())
    assert again["rows"][0]["state"] == "reproduced"


def test_a_verdict_that_gives_way_to_todays_rule_is_told(rows: dict[str, Row]) -> None:
    verdict = entry(rows, "000-A1", Level.FULL, GOOD)
    before = content([verdict, entry(rows, "000-A2")], Level.FULL)
    after = sitting([entry(rows, "000-A1"), entry(rows, "000-A2")])
    found = together(before, after)
    assert found["rows"][0]["standing"] == "verdict"
    assert merging.without_verdict(before, found) == []
    for judged in (verdict, *verdict["readings"]):
        judged["hash"] = "0123456789ab"
    found = together(before, after)
    assert found["rows"][0]["standing"] == "provisional"
    assert merging.without_verdict(before, found) == ["000-A1"]


def test_no_outcome_is_ever_lost(rows: dict[str, Row]) -> None:
    """Each of three sittings has a store of its own, so none knows the others' outcomes."""

    def of(stage: StageName, day: str) -> Data:
        made = content([entry(rows, "000-A1", Level.FULL, GOOD, stage=stage)], stage=stage)
        [row] = made["rows"]
        row["history"] = [
            {"state": "reproduced", "standing": "verdict", "level": "full", "stage": stage,
             "hash": row["hash"], "date": f"{day}T12:00:00+00:00", "commit": "0" * 10, "why": ""},
        ]  # fmt: skip
        return made

    page = of("virtual", "2026-11-24")
    for later in (of("mininet", "2026-11-25"), of("virtual", "2026-11-23")):
        page = together(page, later)
    again = together(page, of("virtual", "2026-11-23"))
    assert [(one["stage"], one["date"][:10]) for one in again["rows"][0]["history"]] == [
        ("virtual", "2026-11-23"), ("virtual", "2026-11-24"), ("mininet", "2026-11-25"),
    ]  # fmt: skip
    # And the page has them all, also where the outcome is the same.
    text = html.text(again)
    assert text.count("full, virtual time") == 2
    assert text.count("the same: ") == 1
    assert "full, Mininet" in text


def test_outcomes_stand_in_the_order_of_their_times(rows: dict[str, Row]) -> None:
    """Summer time ends at 3 o'clock, which is 2 o'clock for the second time."""
    dates = (
        "2026-10-25T00:05:00+00:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00",
    )  # fmt: skip
    pages = []
    for when in (dates[2], dates[0], dates[1]):
        page = content([entry(rows, "000-A1", Level.FULL, GOOD)])
        page["rows"][0]["history"] = [
            {"state": "reproduced", "standing": "verdict", "level": "full", "stage": "virtual",
             "hash": "0", "date": when, "commit": "0" * 10, "why": ""},
        ]  # fmt: skip
        pages.append(page)
    first, second, third = pages
    found = together(together(first, second), third)["rows"][0]["history"]
    assert [one["date"] for one in found] == list(dates)


def test_mininet_stands_beside(rows: dict[str, Row]) -> None:
    virtual = content([entry(rows, "000-A1")])
    real = sitting([entry(rows, "000-A1", Level.FULL, BAD, stage="mininet")], Level.FULL, "mininet")
    real["figures"] = []
    # Whichever comes first.
    for found in (together(virtual, real), together(real, virtual)):
        [one] = found["rows"]
        assert numbered(one) == [("virtual", 1), ("mininet", 1)]
        assert (one["state"], one["standing"]) == ("reproduced", "provisional")
        assert (found["level"], found["stage"]) == ("study", "virtual")
        assert found["figures"] == virtual["figures"]
        assert "Mininet: contradicted" in html.text(found)
        # Nothing is told to have changed where the other stage was added.
        assert found["since"]["changes"] == []
    again = together(found, virtual)
    assert numbered(again["rows"][0]) == [("virtual", 1), ("mininet", 1)]


def test_a_stopped_sitting_in_mininet_costs_no_complete_one(rows: dict[str, Row]) -> None:
    real = content([entry(rows, "000-A1", Level.FULL, GOOD, stage="mininet")], stage="mininet")
    page = together(content([entry(rows, "000-A1")]), real)
    stopped = entry(rows, "000-A1", Level.FULL, (), problem="one was not valid", stage="mininet")
    found = together(page, sitting([stopped], Level.FULL, "mininet"))
    assert found["rows"][0]["readings"] == page["rows"][0]["readings"]


@pytest.mark.parametrize("works", [6, 0])
@pytest.mark.parametrize("level", [Level.STUDY, Level.FULL])
def test_a_row_that_a_defect_fails_costs_no_outcome(
    rows: dict[str, Row], works: int, level: Level
) -> None:
    """All of its works are there, or none can be told: nothing is missing, and nothing judged."""
    broken = entry(rows, "000-A1", level, problem="its parts cannot be made (KeyError: 'x')")
    assert broken["readings"][0]["standing"] == "none"
    broken["readings"][0] |= {"works": works, "there": works}
    before = content([entry(rows, "000-A1", level, GOOD)], level)
    assert together(before, sitting([broken], level))["rows"] == [
        before["rows"][0] | {"history": []}
    ]


def test_what_decides_is_the_same_everywhere(rows: dict[str, Row]) -> None:
    """A page that begins with Mininet, and a sitting in virtual time that was stopped."""
    real = content([entry(rows, "000-A1", Level.FULL, GOOD, stage="mininet")], stage="mininet")
    stopped = together(real, sitting([entry(rows, "000-A1", seconds=(), problem="stopped")]))
    [row] = stopped["rows"]
    assert (row["state"], row["made"]) == ("reproduced", MADE.as_data())
    decides = values.first(row)
    assert decides is not None
    assert decides["stage"] == "mininet"
    # The first outcome in virtual time is none that has changed.
    whole = together(stopped, sitting([entry(rows, "000-A1", seconds=BAD)]))
    assert whole["rows"][0]["state"] == "contradicted"
    assert whole["since"]["changes"] == []


def test_readings_of_an_earlier_rule_are_marked(rows: dict[str, Row]) -> None:
    page = content([second_reading(entry(rows, "000-A1", Level.FULL, GOOD))], Level.FULL)
    rule = catalogue()["000-A1"].model_copy(update={"seeds": 6})
    new = entry(rows, "000-A1", Level.FULL, GOOD)
    old = new["hash"]
    new["hash"] = new["readings"][0]["hash"] = rule.hash
    later = sitting([new], Level.FULL)
    found = merging.together(page, later, "x", {**catalogue(), "000-A1": rule}, ())
    assert [one["hash"] for one in found["rows"][0]["readings"]] == [rule.hash, old]
    assert html.text(found).count(f"by the earlier rule <code>{old}</code>") == 2


def test_a_row_that_is_given_up_has_no_readings(rows: dict[str, Row]) -> None:
    given_up = entry(rows, "000-X1")
    before = content([entry(rows, "000-A1")])
    [row] = together(before, sitting([given_up | {"id": "000-A1"}]))["rows"]
    assert (row["state"], row["readings"]) == ("not reproducible", [])


def test_a_figure_is_of_the_rows_that_stand(rows: dict[str, Row]) -> None:
    """Whole or not at all, and never of a sitting whose rows do not stand."""

    def of(
        names: Iterable[str], title: str, level: Level = Level.STUDY, later: bool = True
    ) -> Data:
        found = [entry(rows, name, level, GOOD) for name in names]
        made = sitting(found, level) if later else content(found, level)
        one = drawn(figure("000-1"), level, made["made"])
        made["figures"] = [
            {**one, "title": title, "rows": ["000-A1", "000-A2"], "drawn_of": list(names)}
        ]
        return made

    both = of(("000-A1", "000-A2"), "both", later=False)
    [one] = together(both, of(("000-A1",), "part"))["figures"]
    assert one["title"] == "both"
    [one] = together(both, of(("000-A1", "000-A2"), "both again"))["figures"]
    assert one["title"] == "both again"
    full = of(("000-A1", "000-A2"), "full", Level.FULL, later=False)
    mixed = together(full, of(("000-A1", "000-A2"), "study"))
    assert [one["title"] for one in mixed["figures"]] == ["full"]
    # What it is drawn of is told where the rows above it are of another sitting, or are missing.
    changed = together(both, of(("000-A1",), "part", Level.FULL))
    assert "Drawn at study with commit 0123456789 on 23 November 2026, 12:00; of these" in (
        html.text(changed)
    )
    part = of(("000-A1",), "part")
    part["figures"][0]["lacks"] = ["000-A2"]
    assert "<strong>Without 000-A2.</strong>" in html.text(part)
    # Where a figure came from version 1, nobody knows what it was drawn of.
    both["figures"][0] |= {"level": None, "made": None}
    assert together(both, of(("000-A1",), "part"))["figures"][0]["title"] == "part"
    # And a row that a figure does not have any more is not missed.
    both = of(("000-A1", "000-A2"), "both", later=False)
    alone = of(("000-A1",), "alone")
    alone["figures"][0]["rows"] = ["000-A1"]
    assert together(both, alone)["figures"][0]["title"] == "alone"


def test_what_is_published_and_damaged_is_left_as_it_is(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_text("{")
    with pytest.raises(TestbedError, match="is damaged"):
        publish(content([entry(rows, "000-A1")]), tmp_path)
    assert path.read_text() == "{"


def test_two_that_publish_lose_nothing(rows: dict[str, Row], tmp_path: Path) -> None:
    """Each reads, puts together and writes before the next one reads."""
    made = [content([entry(rows, name)]) for name in ("000-A1", "000-A2", "000-B1")]
    threads = [threading.Thread(target=publish, args=(one, tmp_path)) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = earlier.read(tmp_path / "results.json")
    assert {one["id"] for one in found["rows"]} == {"000-A1", "000-A2", "000-B1"}


def test_one_who_holds_a_folder_is_told(tmp_path: Path) -> None:
    with (
        alone.alone_in(tmp_path),
        pytest.raises(TestbedError, match=r"another docsis-p4 .* for 0\.1 seconds"),
        alone.alone_in(tmp_path, 0.1),
    ):
        pass
    with alone.alone_in(tmp_path / "new", 0.1):
        assert os.listdir(tmp_path) == ["new"]
    (tmp_path / "file").write_text("")
    with pytest.raises(TestbedError, match="cannot be opened"), alone.alone_in(tmp_path / "file"):
        pass


def test_results_of_version_1_are_read(rows: dict[str, Row], tmp_path: Path) -> None:
    """What is new in version 2 is taken from the row."""
    found = content([entry(rows, "000-A1"), entry(rows, "001-D1")])
    real = entry(rows, "000-A1", Level.FULL, GOOD, stage="mininet")
    # When this one was run version 1 did not tell beside one in virtual time.
    found["rows"][0]["readings"] += [{**real["readings"][0], "made": None}]
    old = copy.deepcopy(found)
    old["version"] = 1
    for row in old["rows"]:
        del row["current_hash"]
        for reading in row["readings"]:
            for name in ("hash", "extension", "made"):
                del reading[name]
    for one in old["figures"]:
        for name in ("drawn_of", "lacks", "level", "made"):
            del one[name]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(old))
    read = earlier.read(path)
    assert read["rows"] == found["rows"]
    assert [one["drawn_of"] for one in read["figures"]] == [["000-A1"]]
    del old["rows"][0]["readings"]
    path.write_text(json.dumps(old))
    with pytest.raises(TestbedError, match=r"is damaged \('readings' is not there\)"):
        earlier.read(path)
    path.write_text(json.dumps({**old, "rows": ["no row"]}))
    with pytest.raises(TestbedError, match="is damaged .it has not the shape of version 1"):
        earlier.read(path)


def test_figures_stand_in_the_order_of_their_numbers() -> None:
    ids = ["001-9", "001-15-16", "000-10", "001-10", "000-2a", "000-2"]
    assert sorted(ids, key=place) == ["000-2", "000-2a", "000-10", "001-9", "001-10", "001-15-16"]


def test_the_published_page_knows_the_catalogue_of_today() -> None:
    """Rules that were amended after their rows had been judged show as such."""
    registered = registered_rules()
    published = earlier.read(ROOT / "docs" / "results" / "results.json")
    published_on = datetime.fromisoformat(published["made"]["date"]).date()
    for row in published["rows"]:
        rule = registered[row["id"]]
        # The page learns of an amendment when the results are published the next time.
        known_to_page = len(row["amended"])
        newer = rule.amended[known_to_page:]
        assert all(one.date >= published_on for one in newer), row["id"]
        assert row["current_hash"] == (newer[0].before if newer else rule.hash), row["id"]
        assert [one["before"] for one in row["amended"]] == [
            one.before for one in rule.amended[:known_to_page]
        ]
        known = {rule.hash, *(one.before for one in rule.amended)}
        assert row["hash"] in known, row["id"]
    ids = {row["id"] for row in published["rows"]}
    assert {stage for row in published["rows"] for stage, _ in numbered(row)} <= set(
        get_args(StageName)
    )
    for one in published["figures"]:
        assert set(one["drawn_of"]) | set(one["rows"]) <= ids, one["id"]
        assert set(one["lacks"]) == set(one["rows"]) - set(one["drawn_of"]) or not one["lacks"]
