# SPDX-License-Identifier: Apache-2.0
"""The sentence in front of a report, and reasons that are said once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.reports.comparison_page import common_reason as common_reason_of_results
from docsis_experiments.reports.comparison_page import sentences, with_interval
from docsis_experiments.reports.finding import TOLD_SINGLY, Reading, finding, told_group
from docsis_experiments.reports.plots import comparison
from docsis_experiments.reports.plots.look import COLOURS, LOOKS, STYLES
from docsis_experiments.reports.plots.registry import plots_of
from docsis_experiments.reports.plots.subjects import called
from docsis_experiments.reports.repeated_page import common_reason, own_reason
from docsis_experiments.reports.repeated_summary import REACHES_OVER

PIE = Reading("DOCSIS-PIE", 10.94, 19.01)
TAIL = Reading("Drop tail, 250 ms", 225.2, 19.0)


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        ([], ""),
        ([PIE], "With DOCSIS-PIE the median latency of game is 10.9 ms; goodput is 19 Mbit/s."),
        (
            [TAIL, PIE],
            "With DOCSIS-PIE the median latency of game is 10.9 ms and with Drop tail, 250 ms, it "
            "is 225 ms; goodput is 19 Mbit/s in each.",
        ),
        (
            [PIE, Reading("CoDel", 20.0, 18.8)],
            "With DOCSIS-PIE the median latency of game is 10.9 ms and with CoDel it is 20 ms; "
            "goodput is about the same, 18.8 to 19 Mbit/s.",
        ),
        (
            [Reading("CoDel", 20.0, 12.0), PIE, Reading("LRED", 30.0, 9.0)],
            "With DOCSIS-PIE the median latency of game is 10.9 ms, with CoDel it is 20 ms and "
            "with LRED it is 30 ms; goodput is, in the same order, 19, 12 and 9 Mbit/s.",
        ),
        (
            [PIE, Reading("DRR", 1.5, None)],
            "With DRR the median latency of game is 1.5 ms and with DOCSIS-PIE it is 10.9 ms.",
        ),
        (
            [PIE, TAIL, Reading("CoDel", 20.0, 12.0), Reading("LRED", 30.0, 9.0)],
            "Of 4 runs, the median latency of game is lowest with DOCSIS-PIE at 10.9 ms, and "
            "highest with Drop tail, 250 ms, at 225 ms; goodput goes from 9 Mbit/s with LRED to "
            "19 Mbit/s with DOCSIS-PIE.",
        ),
    ],
)
def test_what_was_found_is_a_sentence(readings: list[Reading], words: str) -> None:
    assert finding("game", readings) == words


@given(
    st.lists(
        st.builds(
            Reading,
            name=st.sampled_from(["CoDel", "PIE, 15 ms", "Drop tail"]),
            latency_ms=st.floats(0, 1e5),
            goodput_mbps=st.none() | st.floats(0, 1e4),
        ),
        min_size=1,
        max_size=2 * TOLD_SINGLY,
    )
)
def test_the_sentence_does_not_go_by_the_order_of_runs(readings: list[Reading]) -> None:
    def latencies(words: str) -> str:
        return words.split(";", maxsplit=1)[0].rstrip(".")

    ordered = sorted(readings, key=lambda one: (one.latency_ms, one.name))
    said = finding("game", ordered)
    assert said.endswith(".")
    assert ",." not in said
    if len({one.latency_ms for one in readings}) == len(readings):
        assert latencies(finding("game", readings)) == latencies(said)


def test_latency_is_told_of_what_waits_for_it() -> None:
    upload = {"goodput": 1}
    assert told_group({"upload": upload, "ping": {}, "call": {"mos": 4}}) == "call"
    assert told_group({"upload": upload, "ping": {}}) == "ping"
    assert told_group({"upload": upload, "other": {"goodput_mbps": 1}}) == "upload"
    assert told_group({}) is None


def test_a_reason_that_most_have_is_not_said_of_each() -> None:
    few, gone = "4 runs count, and a verdict needs 5", "codel was not run"
    entries = [{"why": why, "verdict": "undecided"} for why in (few, few, few, gone, "")]
    common = common_reason(entries)
    assert common == few
    assert [own_reason(entry, common) for entry in entries] == ["", "", "", gone, REACHES_OVER]
    assert own_reason({"why": "", "verdict": "reproduced"}, common) == ""


def test_without_a_common_reason_each_has_its_own() -> None:
    entries = [{"why": why, "verdict": "undecided"} for why in ("one", "another", "")]
    assert common_reason(entries) == ""
    assert [own_reason(entry, "") for entry in entries] == ["one", "another", ""]
    assert common_reason([]) == ""


def difference(value: float | None, low: float | None = None, **more: Any) -> dict[str, Any]:
    return {
        "result": "b", "series": "CoDel", "group": "call", "quantity": "latency p50", "unit": "ms",
        "before": 20.0, "after": 20.0 + (value or 0.0), "difference": value, "low": low,
        "high": None if low is None else low + 2.0, "runs": [3, 3], "paired": True,
        "why": "too few" if low is None else "", **more,
    }  # fmt: skip


def compared(*differences: dict[str, Any], titles: tuple[str, str] = ("One", "Two")) -> Any:
    return {
        "results": [
            {"name": name, "title": title} for name, title in zip("ab", titles, strict=True)
        ],
        "groups": ["call", "upload"],
        "series": ["CoDel", "PIE, 15 ms"],
        "differences": list(differences),
    }


def test_a_comparison_tells_the_greatest_change_that_is_no_chance() -> None:
    summary = compared(
        difference(-9.0, series="PIE, 15 ms"), difference(5.0, 4.0), difference(0.5, -0.5)
    )
    assert sentences(summary) == [
        "The greatest change of a median latency is that of call with CoDel: it is 25 ms, which "
        "is 5 ms more than before.",
        "1 of 2 differences with an interval are on one side of zero; the others may be none.",
    ]
    assert common_reason_of_results(summary) == ""


def test_a_comparison_says_once_why_there_is_no_interval() -> None:
    summary = compared(difference(-9.0), difference(0.0))
    reason = common_reason_of_results(summary)
    assert reason == "too few"
    assert sentences(summary)[1] == (
        "None of the 2 differences has an interval (too few), so they may be chance."
    )
    assert with_interval(summary["differences"][0], reason) == "-9"
    assert with_interval(summary["differences"][0]) == "-9 (too few)"
    assert sentences(compared(difference(0.0)))[0] == "No median latency differs."
    assert "no difference to tell" in sentences(compared(difference(None)))[0]


def test_only_what_both_results_have_is_drawn() -> None:
    summary = compared(difference(1.0), difference(None, series="PIE, 15 ms"))
    [plot] = plots_of(comparison, summary)
    assert (plot.file, plot.title) == ("cdf-call-1.png", "Latency of call: One and Two")
    assert called(summary) == {"a": "One", "b": "Two"}
    assert called(compared(titles=("One", "One"))) == {"a": "a", "b": "b"}


def contrast_with_white(colour: str) -> float:
    """WCAG 2.1's contrast ratio."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def test_every_line_is_seen_on_white() -> None:
    colours = {
        *COLOURS,
        *(style.colour for style in STYLES.values()),
        *(look["color"] for look in LOOKS),
    }
    assert {colour for colour in colours if contrast_with_white(colour) < 3} == set()
