# SPDX-License-Identifier: Apache-2.0
"""A target that goes away in the middle: said once, and not by every test that is left."""

from __future__ import annotations

import io
import unittest
from pathlib import Path

import ptf.testutils
import pytest

from docsis_control.p4rt.errors import ConnectionLost
from docsis_ptf import p4runtime_test, runner
from docsis_ptf.client import Client
from docsis_ptf.verdicts import Outcome, Verdict, read

LOST = "device 1 at 192.0.2.7:9559: UNAVAILABLE: connection refused"


class Target:
    """A connection that breaks in the test that is told to."""

    def __init__(self, breaks: bool) -> None:
        self.breaks = breaks

    def close(self) -> None:
        """Does what a client does."""


class Case(p4runtime_test.P4RuntimeTest):
    """Three cases, each of which asks the target and leaves an entry to be undone."""

    # pytest's own run of it would have no target.
    __test__ = False
    undone = 0
    asked = 0

    def cases(self) -> list[dict[str, int]]:
        return [{"number": number} for number in range(3)]

    def doRunTest(self, number: int) -> None:
        Case.asked += 1
        self._undo.append(("an entry", self.count))
        if getattr(self.client, "breaks", False) and number == 1:
            raise ConnectionLost(LOST)

    def count(self) -> None:
        Case.undone += 1


def ran(tests: int, path: Path) -> unittest.TestResult:
    """Runs the case so often, as PTF does."""
    ptf.testutils.TEST_PARAMS = {"verdicts": str(path)}
    stream = io.StringIO()
    return unittest.TextTestRunner(stream).run(unittest.TestSuite(Case() for _ in range(tests)))


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p4runtime_test.P4RuntimeTest, "_gone", "")
    monkeypatch.setattr(Case, "undone", 0)
    monkeypatch.setattr(Case, "asked", 0)
    monkeypatch.setattr(ptf, "open_logfile", lambda name: None)
    monkeypatch.setattr(ptf.testutils, "TEST_PARAMS", None, raising=False)


def test_a_target_that_resets_fails_the_test_at_hand_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = iter([Target(breaks=True), Target(breaks=False)])
    monkeypatch.setattr(Client, "connect", lambda params: next(targets))
    result = ran(2, tmp_path / "verdicts")
    # Neither the case behind it nor the undoing says it again; the next test goes on.
    assert len(result.errors) == 1
    assert not result.failures
    assert (Case.asked, Case.undone) == (2 + 3, 1 + 3)
    first, second = read(tmp_path / "verdicts")
    assert (first.outcome, first.words) == (Outcome.FAILED, LOST)
    assert second.outcome is Outcome.PASSED


def test_a_target_that_has_gone_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(params: object) -> Target:
        if Case.asked:
            raise ConnectionLost(LOST)
        return Target(breaks=False)

    monkeypatch.setattr(Client, "connect", connect)
    result = ran(4, tmp_path / "verdicts")
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    first, second = read(tmp_path / "verdicts")
    assert first.outcome is Outcome.PASSED
    assert (second.outcome, second.words) == (Outcome.NOT_RUN, LOST)


VERDICTS = (Verdict("a.A", Outcome.PASSED), Verdict("a.B", Outcome.NOT_RUN, LOST))


def test_what_is_said_of_the_rest() -> None:
    chosen = ["a.A", "a.B", "a.C"]
    assert runner._stopped(VERDICTS, chosen, 0) == (
        "2 of 3 tests were not run behind a.A: the target does not answer any more"
        f" ({LOST}); look at its log, and start it"
    )
    assert runner._stopped(VERDICTS[:1], chosen[:1], 0) == ""
    assert "the run was interrupted" in runner._stopped(VERDICTS[:1], chosen, 130)
    assert "PTF ended with exit status 1" in runner._stopped(VERDICTS[:1], chosen, 1)
