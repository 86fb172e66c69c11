# SPDX-License-Identifier: Apache-2.0
"""The unit of work: its text, and what its key depends on."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from scenario_files import loaded

from docsis_experiments.runs import sources
from docsis_experiments.runs.unit import Unit, key, units
from docsis_testbed.errors import TestbedError


def unit(folder: Path, *changes: tuple[str, str], seed: int = 1, run: int = 0) -> Unit:
    found = loaded(folder, *changes)
    return Unit.of(found, found.scenario.all_runs[run], seed)


def test_a_unit_is_read_from_its_text(tmp_path: Path) -> None:
    one = unit(tmp_path, seed=2**64 - 1)
    again = Unit.from_json(one.as_json())
    assert again == one
    assert again.label == "tail"
    assert [run.label for run in again.loaded.scenario.all_runs] == ["tail"]
    assert again.loaded.topology == loaded(tmp_path).topology
    assert {quantity.words for quantity in again.measured.values()} == {
        "latency p90 of call",
        "latency mean of call",
    }


def test_runs_of_a_seed_are_together(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    made = units(found, found.scenario.all_runs, [1, 2])
    assert [(one.seed, one.label) for one in made] == [
        (1, "tail"),
        (1, "codel"),
        (2, "tail"),
        (2, "codel"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        ("title: A small one", "title: Another title"),
        ("published: {at_least: 40, at_most: 60}", "published: 50"),
        ("reason: a guess", "reason: a better one"),
        (
            "{label: codel, manager: {algorithm: codel, target: 5 ms}}",
            "{label: codel, manager: pie}",
        ),
    ],
)
def test_what_changes_nothing_of_a_run_needs_no_run_again(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    assert key(unit(tmp_path, change)) == key(unit(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        ("measured: 10 s", "measured: 11 s"),
        ("count: 3", "count: 4"),
        ("buffer: 100 ms", "buffer: 101 ms"),
        ("label: tail, manager", "label: other, manager"),
        ("statistic: p90", "statistic: p99"),
    ],
)
def test_what_changes_a_run_changes_its_key(tmp_path: Path, change: tuple[str, str]) -> None:
    changes = [change]
    if "label" in change[0]:
        changes += [("runs: [tail]", "runs: [other]"), ("[codel, tail]", "[codel, other]")]
    assert key(unit(tmp_path, *changes)) != key(unit(tmp_path))


def test_seed_run_and_code_change_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {key(unit(tmp_path)), key(unit(tmp_path, seed=2)), key(unit(tmp_path, run=1))}
    monkeypatch.setattr(sources, "parts", lambda stage: {"code": "other"})
    keys.add(key(unit(tmp_path)))
    assert len(keys) == 4


@pytest.mark.parametrize("stage", ["virtual", "mininet"])
def test_another_python_changes_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: sources.StageName
) -> None:
    """But not another patch level of the same one."""
    one = unit(tmp_path)
    monkeypatch.setattr(sources, "parts", sources.parts_now)
    keys = []
    for version in ((3, 11, 7), (3, 11, 9), (3, 12, 1)):
        info = SimpleNamespace(major=version[0], minor=version[1], micro=version[2])
        monkeypatch.setattr(sources, "sys", SimpleNamespace(version_info=info))
        keys.append(key(one, stage))
    assert keys[0] == keys[1] != keys[2]


def test_what_is_built_again_while_runs_go_on_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "docsis-switch"
    built.write_text("one")
    monkeypatch.setattr(sources, "switch_binary", lambda: built)
    monkeypatch.setattr(sources, "parts", functools.cache(sources.parts_now))
    with sources.unchanged("mininet"):
        pass
    with pytest.raises(TestbedError, match="the switch or the world was changed while runs went"):  # noqa: SIM117 - it is told at its end
        with sources.unchanged("mininet"):
            built.write_text("another")
    with sources.unchanged("virtual"):
        built.write_text("no part of it")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "nothing", '{"scenario": 1, "topology": "", "quantities": [], "seed": 1}'],
)
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(TestbedError, match="a unit of work cannot be used"):
        Unit.from_json(text)


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("seed", 2**64), ("seed", "1")])
def test_what_no_unit_may_have_is_refused(tmp_path: Path, name: str, value: object) -> None:
    data = json.loads(unit(tmp_path).as_json())
    with pytest.raises(TestbedError, match="a unit of work cannot be used"):
        Unit.from_json(json.dumps({**data, name: value}))


@pytest.mark.parametrize("name", ["scenario", "topology"])
def test_a_scenario_of_another_version_is_refused(tmp_path: Path, name: str) -> None:
    data = json.loads(unit(tmp_path).as_json())
    other = Unit.from_json(json.dumps({**data, name: '{"other": 1}'}))
    with pytest.raises(TestbedError, match="a unit of work cannot be used"):
        _ = other.loaded
