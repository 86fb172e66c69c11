# SPDX-License-Identifier: Apache-2.0
"""Draws of two switches or pipelines are never kept under one key."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from docsis_experiments.reproduction import small_works
from docsis_experiments.reproduction.row import Draws
from docsis_experiments.runs import sources
from docsis_testbed.errors import TestbedError

WORK = Draws("a", ("drops", "--seed", "1"), 1)

CHANGED = "the switch or the world was changed while runs went on; undo the change, or run this"


@pytest.fixture(autouse=True)
def first(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has hashed nothing yet."""
    for name in ("switch", "pipeline"):
        monkeypatch.setattr(sources, name, functools.cache(getattr(sources, f"{name}_now")))


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "docsis-switch"
    monkeypatch.setenv("DOCSIS_SWITCH", str(place))
    build(place, 1)
    return place


def build(place: Path, value: int, then: str = "") -> None:
    """Builds a switch that draws a value, and does something then."""
    place.with_name("linked").write_text(f"#!/bin/sh\necho '{{\"value\": {value}}}'\n{then}\n")
    place.with_name("linked").chmod(0o755)
    place.with_name("linked").rename(place)


def drawn() -> bytes:
    return small_works.sampled(small_works.job(WORK).content, Path())


def test_a_switch_that_is_built_between_two_draws_is_told(switch: Path) -> None:
    answer = drawn()
    assert small_works.understood(WORK, answer) == {"value": 1}
    build(switch, 2)
    with pytest.raises(TestbedError, match=CHANGED):
        drawn()
    # The same switch once more is the one that was asked.
    build(switch, 1)
    assert drawn() == answer


def test_a_switch_that_is_built_while_it_draws_is_told(switch: Path) -> None:
    build(switch, 1, then=f"echo >> '{switch}'")
    with pytest.raises(TestbedError, match=CHANGED):
        drawn()


def test_a_worker_that_begins_after_the_switch_was_built_is_told(
    switch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has hashed nothing yet, and whoever asked has."""
    key = small_works.key(WORK)
    build(switch, 2)
    with monkeypatch.context() as worker:
        worker.setattr(sources, "switch", functools.cache(sources.switch_now))
        answer = drawn()
    assert json.loads(answer)["key"] != key
    with pytest.raises(TestbedError, match=CHANGED):
        small_works.understood(WORK, answer)


def test_a_pipeline_that_is_compiled_between_two_draws_is_told(
    switch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "build"
    compiled.mkdir()
    (compiled / "cm.json").write_text("one")
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(sources, "P4_BUILD", compiled)
    drawn()
    (compiled / "cm.json").write_text("two")
    with pytest.raises(TestbedError, match=CHANGED):
        drawn()
