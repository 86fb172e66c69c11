# SPDX-License-Identifier: Apache-2.0
"""Signals that wait: none is lost, and none is dead behind it, whenever another one comes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from docsis_ptf.signals import held

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHANGES = 2 * len(NUMBERS)


class Ended(Exception):
    """Raised by the tests' handlers."""


def _ends(number: int, frame: FrameType | None) -> None:
    raise Ended(signal.Signals(number).name)


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    before = {number: signal.signal(number, _ends) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_last_signal_waits_for_the_end() -> None:
    done = []

    def work() -> None:
        with held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGHUP)
            done.append(True)

    with pytest.raises(Ended, match="SIGHUP"):
        work()
    assert done
    assert [signal.getsignal(number) for number in NUMBERS] == [_ends] * len(NUMBERS)


def test_a_signal_waits_for_the_outer_of_two_ends() -> None:
    done = []

    def work() -> None:
        with held():
            with held():
                signal.raise_signal(signal.SIGTERM)
            done.append(True)

    with pytest.raises(Ended, match="SIGTERM"):
        work()
    assert done


@pytest.mark.parametrize("first", [True, False], ids=["before", "behind"])
@pytest.mark.parametrize("change", range(CHANGES))
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_a_signal_between_the_changes_of_handlers_leaves_none_dead(
    number: signal.Signals, change: int, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = iter(range(CHANGES))
    set_handler = signal.signal

    def interrupted(changed: int, handler: Any) -> Any:
        comes = next(changes, None) == change
        if comes and first:
            signal.raise_signal(number)
        before = set_handler(changed, handler)
        if comes and not first:
            signal.raise_signal(number)
        return before

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(Ended, match=number.name), held():
        pass
    monkeypatch.undo()
    for other in NUMBERS:
        with pytest.raises(Ended, match=other.name):
            signal.raise_signal(other)
