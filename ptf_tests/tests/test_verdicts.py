# SPDX-License-Identifier: Apache-2.0
"""Verdicts of requirements, made of unittest's results, as XML and as a page."""

from __future__ import annotations

import io
import unittest
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docsis_ptf import junit, matrix, outcome, plan
from docsis_ptf.plan import Requirement
from docsis_ptf.profiles import Profile
from docsis_ptf.recorder import Recorder
from docsis_ptf.verdicts import Outcome, Verdict, complete, judge, read, write


def ran(body: Callable[[unittest.TestCase], None]) -> tuple[Verdict, unittest.TestResult]:
    """The verdict of a test with this body, and what unittest itself makes of it."""

    class Case(unittest.TestCase):
        def runTest(self) -> None:
            body(self)

    result = unittest.TextTestResult(
        unittest.runner._WritelnDecorator(io.StringIO()), descriptions=False, verbosity=0
    )
    recorder = Recorder(result)
    Case().run(recorder)  # type: ignore[arg-type]  # it is whatever else the result is
    return recorder.verdict("module.Case", 1.5), result


def two_cases_fail(case: unittest.TestCase) -> None:
    for number in (1, 2, 3):
        with case.subTest(number=number):
            case.assertNotEqual(number % 2, 1, "is odd")


def test_a_test_that_passes() -> None:
    verdict, result = ran(lambda case: case.assertTrue(True))
    assert verdict == Verdict("module.Case", Outcome.PASSED, seconds=1.5)
    assert result.wasSuccessful()


def test_a_comparison_that_fails() -> None:
    verdict, result = ran(lambda case: case.assertEqual(1, 2, "frames"))
    assert (verdict.outcome, verdict.words) == (Outcome.FAILED, "1 != 2 : frames")
    assert "Traceback" in verdict.detail
    assert len(result.failures) == 1


def test_an_error() -> None:
    def body(case: unittest.TestCase) -> None:
        raise LookupError("table x has\n no entry")

    verdict, result = ran(body)
    assert (verdict.outcome, verdict.words) == (Outcome.FAILED, "table x has no entry")
    assert len(result.errors) == 1


def test_cases_that_fail_alike_say_so_once() -> None:
    verdict, result = ran(two_cases_fail)
    assert (verdict.outcome, verdict.words) == (Outcome.FAILED, "1 == 1 : is odd")
    assert "number=1" in verdict.detail
    assert "number=3" in verdict.detail
    assert len(result.failures) == 2


def test_what_is_told_of_a_test_is_bounded() -> None:
    def body(case: unittest.TestCase) -> None:
        for number in range(1000):
            with case.subTest(number=number):
                case.fail(f"{number} " + "x" * 10_000)

    verdict, _ = ran(body)
    assert len(verdict.words) < 25_000
    assert len(verdict.detail) < 25_000


def test_a_test_that_is_skipped_in_the_targets_words() -> None:
    verdict, result = ran(lambda case: case.skipTest("bmv2: it has no registers"))
    assert (verdict.outcome, verdict.words) == (Outcome.SKIPPED, "bmv2: it has no registers")
    assert len(result.skipped) == 1


def test_a_case_that_is_skipped_skips_the_test() -> None:
    def body(case: unittest.TestCase) -> None:
        with case.subTest(number=1):
            case.skipTest("not here")

    assert ran(body)[0].outcome is Outcome.SKIPPED


def test_a_failure_counts_more_than_a_skipped_case() -> None:
    def body(case: unittest.TestCase) -> None:
        with case.subTest(number=1):
            case.skipTest("not here")
        case.fail("there")

    assert (ran(body)[0].outcome, ran(body)[0].words) == (Outcome.FAILED, "there")


def requirement(*tests: str, key: str = "CF-1", section: str = "Fields") -> Requirement:
    return Requirement(key, section, "MAC with *mask*: `dst_mac` \\| <b>", tests, "taken & counted")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((Outcome.PASSED, Outcome.PASSED), Outcome.PASSED),
        ((Outcome.PASSED, Outcome.FAILED), Outcome.FAILED),
        ((Outcome.SKIPPED, Outcome.FAILED), Outcome.FAILED),
        ((Outcome.PASSED, Outcome.SKIPPED), Outcome.PARTLY),
        ((Outcome.PASSED, Outcome.NOT_RUN), Outcome.PARTLY),
        ((Outcome.SKIPPED, Outcome.SKIPPED), Outcome.SKIPPED),
        ((Outcome.SKIPPED, Outcome.NOT_RUN), Outcome.SKIPPED),
        ((Outcome.NOT_RUN, Outcome.NOT_RUN), Outcome.NOT_RUN),
    ],
)
def test_a_requirement_passes_only_when_all_its_tests_do(
    outcomes: tuple[Outcome, Outcome], expected: Outcome
) -> None:
    verdicts = [Verdict(name, found, seconds=2) for name, found in zip("ab", outcomes, strict=True)]
    (judged,) = judge([requirement("a", "b")], verdicts)
    assert (judged.outcome, judged.seconds) == (expected, 4)
    assert bool(judged.words) == (expected is not Outcome.PASSED or Outcome.SKIPPED in outcomes)


def test_a_test_without_a_verdict_was_not_run() -> None:
    (judged,) = judge([requirement("a.B")], [])
    assert (judged.outcome, judged.words) == (Outcome.NOT_RUN, "the run did not include it")
    (judged,) = judge([requirement("a.B")], complete((), ["a.B"], "the target went away"))
    assert (judged.outcome, judged.words) == (Outcome.NOT_RUN, "the target went away")


def test_verdicts_are_kept_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    assert read(path) == ()
    verdicts = (
        Verdict("a.B", Outcome.FAILED, "é\nno", 0.5, "Traceback"),
        Verdict("a.C", Outcome.SKIPPED, "it has none"),
    )
    for verdict in verdicts:
        write(path, verdict)
    assert read(path) == verdicts


def everything() -> tuple[Verdict, ...]:
    return (
        Verdict("a.Good", Outcome.PASSED, seconds=0.25),
        Verdict("a.Bad", Outcome.FAILED, "1 != 2 <&\x00", 1.0, "Traceback <x>\x1b"),
        Verdict("b.Off", Outcome.SKIPPED, "target: it has no registers"),
    )


ROWS = (
    requirement("a.Good", key="CF-1"),
    requirement("a.Good", "a.Bad", key="CF-2"),
    requirement("a.Good", "b.Off", key="SF-1", section="Flows"),
    requirement("b.Off", key="SF-2", section="Flows"),
    requirement("c.Never", key="SF-3", section="Flows"),
)


def test_junit() -> None:
    judged = judge(ROWS, everything())
    root = ElementTree.fromstring(junit.document(judged, target="192.0.2.7:9559", taken="now"))
    assert (root.tag, root.attrib["tests"]) == ("testsuites", "5")
    assert [suite.attrib["name"] for suite in root] == ["Fields", "Flows"]
    assert [root.attrib[name] for name in ("failures", "errors", "skipped")] == ["1", "0", "3"]
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert list(cases) == ["CF-1", "CF-2", "SF-1", "SF-2", "SF-3"]
    assert [child.tag for child in cases["CF-1"]] == ["system-out"]
    failure = cases["CF-2"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "1 != 2 <&\ufffd"
    assert failure.text == "Traceback <x>\ufffd"
    skipped = {key: cases[key].find("skipped") for key in ("SF-1", "SF-2", "SF-3")}
    messages = [one.attrib["message"] for one in skipped.values() if one is not None]
    assert messages == [
        "passed in part: target: it has no registers",
        "skipped: target: it has no registers",
        "not run: the run did not include it",
    ]
    assert cases["CF-2"].attrib["time"] == "1.250"


class Page(HTMLParser):
    """The links of a page that a browser would load, and the text of the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.loaded += [str(values[name]) for name in ("src", "href") if name in values]
        if tag in ("script", "link"):
            self.loaded.append(tag)
        if tag == "tr" and (key := values.get("id")):
            self.ids.append(key)

    def handle_data(self, data: str) -> None:
        self.text += data


HEAD = matrix.Head(
    "192.0.2.7:9559 <x>", "2026-11-23T12:00:00+00:00", "CF ^SF-1", (("cm.json", "ab12"),),
    "woke 0.1 ms late", "1 of 3 tests were not run",
)  # fmt: skip
PROFILES = (Profile("forwarding", ""), Profile("registers", "it has <none>"))


def test_the_matrix_is_one_page_with_a_row_for_each_requirement() -> None:
    page = Page()
    page.feed(matrix.page(HEAD, PROFILES, judge(ROWS, everything())))
    assert page.loaded == []
    assert page.ids == [row.key for row in ROWS]
    for said in (
        "192.0.2.7:9559 <x>", "1 of 3 tests were not run", "it has <none>", "ab12",
        "1 != 2 <&", "Traceback <x>", "passed in part", "dst_mac | <b>", "taken & counted",
    ):  # fmt: skip
        assert said in page.text, said


def test_the_plan_itself_becomes_a_page() -> None:
    page = Page()
    page.feed(matrix.page(HEAD, (), judge(plan.load(), ())))
    assert page.ids == [requirement.key for requirement in plan.load()]
    assert "`" not in page.text


def test_both_documents_are_written(tmp_path: Path) -> None:
    said = outcome.write(tmp_path, HEAD, PROFILES, ROWS, everything())
    *times, last = said.splitlines()
    assert last.startswith(
        "ptf: of 5 requirements 1 passed, 1 failed, 1 passed in part, 1 skipped, 1 not run: "
    )
    # a.Good is in the time of each of its requirements, and once in the sum.
    assert times == ["ptf: 1 s of tests; seconds by requirement: CF-1 0.2, CF-2 1.2, SF-1 0.2"]
    assert {path.name for path in tmp_path.iterdir()} == {"junit.xml", "matrix.html"}


def test_times_of_many_requirements_are_lines_of_no_more_than_100_columns() -> None:
    rows = tuple(requirement("a.Good", key=f"CF-{n}") for n in range(1, 60))
    lines = outcome.times(judge(rows, everything()), everything())
    assert len(lines) > 1
    assert max(map(len, lines)) <= 100
    assert " ".join(lines).count("CF-") == 59
    assert all(line.startswith("ptf: ") for line in lines)
    assert outcome.times(judge(rows, ()), ()) == []
