# SPDX-License-Identifier: Apache-2.0
"""The registered rules: their count, their bands, their hashes, and what is wrong in a file."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from docsis_control.config.errors import ConfigError
from docsis_experiments.reproduction.catalogue.bounds import Contradicted, Reproduced
from docsis_experiments.reproduction.catalogue.loader import (
    FOLDER,
    PAPERS,
    Catalogue,
    load_catalogue,
    load_paper,
)
from docsis_experiments.reproduction.catalogue.part import Part, Place, Role
from docsis_experiments.reproduction.catalogue.registry import (
    HASHES,
    REGISTERED,
    first_of,
    read_hashes,
)
from docsis_experiments.reproduction.catalogue.rule import Rule

COUNTS = {
    "000": {"N": 10, "S": 20, "D": 5, "X": 1},
    "001": {"N": 12, "S": 17, "D": 2, "X": 2},
    "002": {"N": 4, "S": 10, "D": 1, "X": 1},
    "003": {"N": 1, "S": 2, "D": 1, "X": 1, "X→S": 2},
    "004": {"N": 8, "S": 7},
}
"""Section 12 of the catalogue; the six claims of 003 that are not reproducible are one row."""

MININET = [
    "000-F1a",
    "000-F6a",
    "000-C2",
    "001-F2a",
    "001-F5a",
    "001-F11a",
    "001-F14",
    "002-E4",
    "003-F3",
]
"""Section 13 of the catalogue, third item."""

RULE = """
paper: "001"
registered: 2026-11-22
section: 4
setting: s
knowns: {K3: TCP}
readings: {cubic: {known: K3, words: CUBIC}}
rules:
  - id: 001-A
    kind: S
    published: p
    rule: r
    seeds: 20
    applies: [K3]
    readings: {2: cubic}
    parts:
      - name: "mean {}"
        each: [a, b]
        study: [a]
        unit: ms
        interval: seeds
        reproduced: {at_least: 1, at_most: 2}
        not_also: [shown]
      - name: shown
        role: shown
        unit: ms
        interval: seeds
"""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


def part(catalogue: Catalogue, rule: str, name: str) -> Part:
    (found,) = (one for one in catalogue.rules[rule].parts if one.name == name)
    return found


def test_there_are_107_results_of_the_kinds_that_the_catalogue_counts(catalogue: Catalogue) -> None:
    assert len(catalogue.rules) == 107
    for paper, counts in COUNTS.items():
        of = Counter(rule.kind.value for rule in catalogue.rules.values() if rule.paper == paper)
        assert of == counts


def test_the_rows_that_also_run_in_mininet_are_those_of_section_13(catalogue: Catalogue) -> None:
    assert [rule.id for rule in catalogue.rules.values() if rule.mininet] == MININET
    assert all(
        rule.judged_at(1, Place.MININET) for rule in catalogue.rules.values() if rule.mininet
    )


def test_only_what_is_not_reproducible_has_no_parts(catalogue: Catalogue) -> None:
    for rule in catalogue.rules.values():
        if rule.kind.value == "X":
            assert (rule.parts, rule.seeds) == ((), 0)
        elif rule.kind.value == "D":
            assert any(part.role is Role.DEFINITION for part in rule.parts)
        else:
            for reading in rule.reading_numbers:
                assert rule.judged_at(reading, None), (rule.id, reading)
                assert rule.judged_at(reading, Place.STUDY), (rule.id, reading)


def test_bands_are_those_of_the_catalogue(catalogue: Catalogue) -> None:
    sfq = part(catalogue, "000-F1a", "p90 sfq-codel")
    assert sfq.reproduced == Reproduced(at_least=11.5, at_most=14.5)
    assert sfq.contradicted == Contradicted(below=10, above=17)
    assert sfq.without_mac is not None
    assert sfq.without_mac.reproduced == Reproduced(at_least=4, at_most=7.5)
    assert part(catalogue, "000-F1a", "p90 pie").not_also == ("p90 drop-tail-50ms",)
    assert part(catalogue, "000-F3", "unacceptable drop-tail-250ms").reproduced == Reproduced(
        above=50
    )
    assert part(catalogue, "000-F6e", "pie over codel-dt 25s").contradicted == Contradicted(
        at_least=0.98
    )
    assert part(catalogue, "001-F8", "10 sessions").contains == 16.305
    assert part(catalogue, "001-F8", "10 sessions").confidence == 0.99
    error = part(catalogue, "002-E3T", "error codel n11 tier2")
    assert error.reproduced == Reproduced(at_least=-14, at_most=2)
    assert error.contradicted == Contradicted(below=-26, above=14)
    assert part(catalogue, "004-F7a", "n500 t3").not_at == (Place.STUDY,)


def test_a_reading_has_its_own_parts_or_those_of_the_first(catalogue: Catalogue) -> None:
    rule = catalogue.rules["002-E3W"]
    assert all(one.name.startswith("tier2 minus") for one in rule.parts_at(1))
    assert all(one.name.startswith("error of") for one in rule.parts_at(2))
    assert rule.parts_at(3) == rule.parts_at(1)
    with pytest.raises(KeyError, match="002-E3W has no reading 99"):
        rule.reading(99)


def test_the_rules_are_the_registered_ones() -> None:
    """A changed rule fails here and in `load_catalogue` unless it says that it was changed."""
    assert first_of(read_hashes()) == REGISTERED


def test_a_hash_is_of_what_is_judged_and_said(catalogue: Catalogue) -> None:
    rule = catalogue.rules["001-F5a"]
    hashes = {
        rule.hash,
        rule.model_copy(update={"rule": "other"}).hash,
        rule.model_copy(update={"seeds": 19}).hash,
        rule.model_copy(update={"parts": rule.parts[1:]}).hash,
    }
    assert len(hashes) == 4
    assert Rule.model_validate(rule.model_dump()).hash == rule.hash


def test_no_cell_of_the_catalogue_is_cut_inside_parentheses_or_quotes(catalogue: Catalogue) -> None:
    for rule in catalogue.rules.values():
        for words in (rule.done, rule.published):
            assert words.count("(") == words.count(")"), rule.id
            assert words.count('"') % 2 == 0, rule.id


def without_readings_of_k1(rule: Rule) -> tuple[Rule, str]:
    """The rule as it was before it had K1's readings, and the hash that it had."""
    [change] = (one for one in rule.amended if one.was.endswith(", and K1 not among what applies"))
    [before] = re.findall(r"^readings 1 to (\d)", change.was)
    readings = tuple(one for one in rule.readings if one.number <= int(before))
    applies = tuple(one for one in rule.applies if one != "K1")
    return rule.model_copy(update={"readings": readings, "applies": applies}), change.before


WITH_READINGS_OF_K1 = ["000-F6a", "000-F6b", "000-F6c", "000-F6d", "000-F6e", "000-F6f", "000-B2"]


@pytest.mark.parametrize("name", WITH_READINGS_OF_K1)
def test_readings_that_were_added_change_nothing_else(catalogue: Catalogue, name: str) -> None:
    before, registered = without_readings_of_k1(catalogue.rules[name])
    assert before.hash == registered


@pytest.mark.parametrize("name", ["000-F6a", "000-B2", "000-F15", "001-M1", "002-E3T", "002-E3W"])
def test_words_that_were_put_elsewhere_change_nothing_else(catalogue: Catalogue, name: str) -> None:
    """With what stood there before the rule has the hash of before, so no band is different."""
    rule = catalogue.rules[name]
    if name in WITH_READINGS_OF_K1:
        rule, _ = without_readings_of_k1(rule)
    [change] = (one for one in rule.amended if one.was.startswith("done: "))
    done, _, published = change.was.removeprefix("done: ").partition("; published: ")
    before = rule.model_copy(update={"done": done, "published": published})
    assert before.hash == change.before
    assert sorted(re.findall(r"\w+", f"{done} {published}")) == sorted(
        re.findall(r"\w+", f"{rule.done} {rule.published}")
    )


def copied(folder: Path) -> Path:
    for name in (*(f"{paper}.yaml" for paper in PAPERS), HASHES.name):
        shutil.copy(FOLDER / name, folder / name)
    return folder / "001.yaml"


def test_a_rule_that_is_changed_in_silence_is_refused(tmp_path: Path) -> None:
    file = copied(tmp_path)
    text = file.read_text()
    assert text.count("{at_least: -5, at_most: 1}") == 1
    file.write_text(text.replace("{at_least: -5, at_most: 1}", "{at_least: -5, at_most: 2}"))
    with pytest.raises(ConfigError, match=r"001\.yaml:\d+: rules\.0\.id: 001-T1 was changed"):
        load_catalogue(tmp_path)


def test_a_rule_that_is_amended_says_so(tmp_path: Path, catalogue: Catalogue) -> None:
    file = copied(tmp_path)
    before = catalogue.rules["001-T1"].hash
    entry = f"{{date: 2026-12-01, before: {before}, was: to +1%, why: a misprint}}"
    text = file.read_text().replace("{at_least: -5, at_most: 1}", "{at_least: -5, at_most: 2}")
    file.write_text(text.replace("    seeds: 20\n", f"    seeds: 20\n    amended: [{entry}]\n", 1))
    now = load_paper(file).written_out()[0].hash
    registry = json.loads((tmp_path / HASHES.name).read_text())
    registry["001-T1"].append(now)
    (tmp_path / HASHES.name).write_text(json.dumps(registry))
    changed = load_catalogue(tmp_path).rules["001-T1"]
    assert changed.hash == now != before
    assert [str(one.date) for one in changed.amended] == ["2026-12-01"]
    registry["001-T1"] = [now]
    (tmp_path / HASHES.name).write_text(json.dumps(registry))
    with pytest.raises(ConfigError, match="do not tell how it came"):
        load_catalogue(tmp_path)


def test_a_rule_that_is_taken_away_is_missed(tmp_path: Path) -> None:
    file = copied(tmp_path)
    text = file.read_text()
    at = text.index("  - id: 001-CON")
    file.write_text(text[:at])
    with pytest.raises(ConfigError, match="001-CON: is registered, and is in none"):
        load_catalogue(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("at_most: 2}", "at_most: 0}", "22: rules.0.parts.0.reproduced.at_most: is below 1"),
        ("at_most: 2}", "above: 0}", "22: rules.0.parts.0.reproduced.above: is given, and so is"),
        ("at_most: 2}", "at_mots: 2}", 'unknown key; did you mean "at_most"?'),
        ("at_least: 1, at_most: 2", "", "reproduced.at_least: is missing"),
        ("at_most: 2}", "at_most: .inf}", "inf is no bound"),
        ("kind: S", "kind: Q", 'rules.0.kind: "Q" is none: one of N, S, D, X, X→S'),
        ("not_also: [shown]", "not_also: [other]", 'rules.0.parts.0.not_also: "other" is no other'),
        ("not_also: [shown]", "only_if: [shown]", '"shown" is no condition'),
        ("study: [a]", "study: [c]", "parts.0.study: has one that is not in `each`"),
        ("each: [a, b]", "each: [a, a]", 'parts.0.name: "mean a" is there twice'),
        ("each: [a, b]", "each: [a, B]", '"mean B" is no name of a part'),
        ("each: [a, b]\n        study: [a]", "measure: m", "needs {} where `each` is given"),
        ("seeds: 20", "seeds: 0", "rules.0.seeds: are what every rule has"),
        ("{2: cubic}", "{3: cubic}", "rules.0.readings: have to be numbered 2, 3"),
        ("{2: cubic}", "{2: reno}", 'rules.0.readings.2: "reno" is not in readings'),
        ("applies: [K3]", "applies: [K4]", 'rules.0.applies: "K4" is not in knowns'),
        ("id: 001-A", "id: 002-A", '"002-A" is not of paper 001'),
        ("role: shown", "role: judged", "reproduced: or contains has to be given"),
        ('paper: "001"', 'paper: "002"', "is not of paper 002"),
        ("interval: seeds", "interval: share", "unit: of a share has to be"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = tmp_path / "001.yaml"
    file.write_text(RULE)
    assert [one.name for one in load_paper(file).written_out()[0].parts] == [
        "mean a",
        "mean b",
        "shown",
    ]
    assert old in RULE
    file.write_text(RULE.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        load_paper(file)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{file}:")


@pytest.mark.parametrize("text", ["[]", '{"001": "a"}', "{", '{"001": [1]}', "[" * 100_000])
def test_a_damaged_registry_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "hashes.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="hashes.json"):
        read_hashes(file)
