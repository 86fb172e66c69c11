# SPDX-License-Identifier: Apache-2.0
"""The fuzzer's cases without the fuzzer: its seeds, some changed ones, and all that it found."""

from __future__ import annotations

import random

import pytest
from fuzz_cases import REGRESSIONS, TARGETS, RefusedSeed, Target, regressions, used_seeds
from fuzz_cases.mutation import Form, mutated, parsed, places

SEEDS = 4
"""How many seeds of a target are used here; the fuzzer begins with all."""

CHANGES = 12
"""How many changed seeds a target gets here."""


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_used_and_changes_of_them_used_or_refused(name: str) -> None:
    target = TARGETS[name]
    seeds = list(used_seeds(name, SEEDS))
    assert seeds
    chance = random.Random(name)
    for _ in range(CHANGES):
        target.case(mutated(chance.choice(seeds), target.form, chance))


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_that_are_no_input_are_refused(name: str) -> None:
    assert TARGETS[name].case(b"\x00no such input") is False


def test_a_target_that_refuses_its_seed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = Target(lambda data: False, Form.BYTES, lambda: iter([b"seed"]))
    monkeypatch.setattr("fuzz_cases.TARGETS", {"blind": blind})
    with pytest.raises(RefusedSeed, match="blind refuses its own seed 1"):
        list(used_seeds("blind"))


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_found_once_is_used_or_refused(name: str) -> None:
    for what, data in regressions(name):
        try:
            TARGETS[name].case(data)
        except Exception as error:
            raise AssertionError(f"{what} is neither used nor refused") from error


def test_every_regression_is_of_a_target() -> None:
    assert {path.name for path in REGRESSIONS.iterdir()} <= set(TARGETS)


@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].form is not Form.BYTES])
def test_most_changes_leave_a_tree(name: str) -> None:
    target = TARGETS[name]
    seed = next(target.seeds())
    chance = random.Random(1)
    trees = changed = 0
    for _ in range(20):
        other = mutated(seed, target.form, chance)
        changed += other != seed
        try:
            trees += bool(places(parsed(other, target.form)))
        except ValueError:
            continue
    assert changed >= 15
    assert trees >= 10
