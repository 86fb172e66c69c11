# SPDX-License-Identifier: Apache-2.0
"""Selections run the right tests: leaving out leaves the rest, and nothing is never meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_ptf import catalogue, plan, runner
from docsis_ptf.catalogue import Test
from docsis_ptf.plan import Requirement
from docsis_ptf.selection import SelectionError, select

TESTS = (
    Test("bridge", "Runt", "", (), False),
    Test("bridge", "Jumbo", "", (), True),
    Test("shaping", "Rate", "", ("shaping",), False),
    Test("codel", "Head", "", ("shaping", "registers"), True),
)
PLAN = (
    Requirement("BR-1", "Bridge", "text", ("bridge.Runt", "bridge.Jumbo"), "all"),
    Requirement("SF-1", "Flows", "text", ("shaping.Rate", "bridge.Jumbo"), "all"),
)


def chosen(*words: str) -> list[str]:
    return [test.key for test in select(words, TESTS, PLAN)]


EVERYTHING = ["bridge.Runt", "bridge.Jumbo", "shaping.Rate", "codel.Head"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", EVERYTHING),
        ("all", EVERYTHING),
        ("standard", EVERYTHING),
        ("^bridge", ["shaping.Rate", "codel.Head"]),
        ("^long", ["bridge.Runt", "shaping.Rate"]),
        ("^bridge.Runt ^registers", ["bridge.Jumbo", "shaping.Rate"]),
        ("bridge", ["bridge.Runt", "bridge.Jumbo"]),
        ("shaping ^registers", ["shaping.Rate"]),
        # An exclusion holds, whatever comes behind it.
        ("^codel.Head shaping", ["shaping.Rate"]),
        ("codel.Head bridge.Runt", ["bridge.Runt", "codel.Head"]),
        ("SF-1", ["bridge.Jumbo", "shaping.Rate"]),
        ("BR ^SF", ["bridge.Runt"]),
        ("^BR-1", ["shaping.Rate", "codel.Head"]),
    ],
)
def test_words_choose(words: str, expected: list[str]) -> None:
    assert chosen(*words.split()) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("bridge ^bridge", "'bridge \\^bridge' leaves no test"),
        ("^all", "'\\^all' leaves no test"),
        ("brigde", "'brigde' names no test, module, group or requirement .* mean bridge"),
        ("^brigde", "'brigde' names no test"),
        ("SF-2", "'SF-2' names no test"),
        ("BR-1 Runt", "'Runt' names no test.* mean bridge.Runt"),
    ],
)
def test_a_selection_of_nothing_fails(words: str, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        chosen(*words.split())


def test_a_suite_without_long_tests_is_asked_to_leave_them_out() -> None:
    short = [test for test in TESTS if not test.long]
    assert select(["^long"], short, PLAN) == tuple(short)
    with pytest.raises(SelectionError, match="'long' leaves no test"):
        select(["long"], short, PLAN)


@given(st.sets(st.sampled_from(EVERYTHING), min_size=1, max_size=3))
def test_what_is_left_out_and_what_is_left_are_all(names: set[str]) -> None:
    left = chosen(*(f"^{name}" for name in names))
    assert sorted([*left, *chosen(*names)]) == sorted(EVERYTHING)


def test_the_runner_says_it_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["sharing", "^sharing"], ["sharin"]):
        assert runner.main(words) == runner.FAILED
        said = capsys.readouterr().err
        assert said.startswith("ptf: 'sharin")
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--timeout nan", "--timeout nan: it has to be a number of seconds above 0"),
        ("--timeout inf", "--timeout inf: it has to be a number of seconds above 0"),
        ("--timeout 0", "--timeout 0: it has to be a number of seconds above 0"),
        ("--port veth1", "--port 'veth1': a port is NUMBER=INTERFACE, such as 1=veth1"),
        ("--port 1=a --port 1=b", "--port: a port number is there twice"),
        ("--target ::1:9559", "target '::1:9559': an IPv6 address needs brackets: [::1]:9559"),
    ],
)
def test_a_wrong_option_is_a_sentence(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main(arguments.split()) == runner.FAILED
    assert capsys.readouterr().err == f"ptf: {message}\n"


def test_leaving_a_module_out_of_the_suite_leaves_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert runner.main(["--list", "^sharing"]) == 0
    listed = [line.partition(" ")[0].rstrip(":") for line in capsys.readouterr().out.splitlines()]
    everything = [test.key for test in catalogue.load()]
    assert listed == [key for key in everything if not key.startswith("sharing.")]
    assert len(listed) < len(everything)


def test_every_id_and_every_need_of_the_suite_selects() -> None:
    tests, requirements = catalogue.load(), plan.load()
    for requirement in requirements:
        found = {test.key for test in select([requirement.key], tests, requirements)}
        assert found == set(requirement.tests)
    for need in {need for test in tests for need in test.needs}:
        for test in select([need], tests, requirements):
            assert need in test.needs
