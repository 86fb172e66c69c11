# SPDX-License-Identifier: Apache-2.0
"""Explanations are of rows that there are, and theory says what their sentences say it does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.config.errors import ConfigError
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.explanations.loader import load_explanations
from docsis_experiments.reproduction.explanations.tcp_law import Lred, probability, rate, wait
from docsis_experiments.reproduction.explanations.tcp_law import Path as Route
from docsis_experiments.reproduction.page.values import explained, unexplained
from docsis_testbed.paths import ROOT

ROUND_TRIP = 0.05
ALONE, WITH_TIMEOUTS = Route(ROUND_TRIP), Route(ROUND_TRIP, timeout_s=1.0)
SHARE_OF_ONE_MEGABIT = 96_000.0
HALF_SHARE = 240_000.0
CURVE = Lred(0.2, 0.4, 0.01, 0.05)


def says(row: str) -> str:
    """The sentences of a row's explanation."""
    one = load_explanations()[row]
    return f"{one.says} {one.evidence}"


def test_every_explanation_is_of_a_rule() -> None:
    rules = registered_rules()
    assert set(load_explanations()) <= set(rules)


@given(
    p=st.floats(1e-4, 0.3),
    wait_s=st.floats(0.0, 2.0),
    timeout=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_probability_is_the_inverse_of_the_rate(p: float, wait_s: float, timeout: float) -> None:
    path = Route(ROUND_TRIP, timeout)
    assert probability(rate(p, path, wait_s), path, wait_s) == pytest.approx(p, rel=1e-6)


def test_losses_at_one_megabit() -> None:
    found = [
        f"{100 * probability(SHARE_OF_ONE_MEGABIT, path, 0.19):.1f}%"
        for path in (WITH_TIMEOUTS, ALONE)
    ]
    assert found == ["6.6%", "19.3%"]
    assert all(one in says("001-F3b") for one in found)


def test_waits_at_half_the_rate() -> None:
    found = [f"{1000 * wait(CURVE, HALF_SHARE, path):.0f}" for path in (WITH_TIMEOUTS, ALONE)]
    assert found == ["235", "249"]
    assert "235 to 249 ms" in says("001-F10b")
    assert "17% to 25%" in says("001-F10b"), "of the threshold of 200 ms"


def test_waits_of_the_goal_of_50_ms() -> None:
    def waits(path: Route) -> list[str]:
        return [
            f"{1000 * wait(Lred(0.05, 0.1, 0.01, pmax), SHARE_OF_ONE_MEGABIT, path):.0f}"
            for pmax in (0.1, 0.125, 0.15, 0.2)
        ]

    assert waits(ALONE) == ["283", "248", "222", "186"]
    assert waits(WITH_TIMEOUTS) == ["90", "82", "77", "70"]
    assert "283, 248, 222 and 186 ms" in says("001-F13")
    assert "70 to 90 ms" in says("001-F13")


def test_losses_that_a_longer_round_trip_needs() -> None:
    found = [
        f"{100 * probability(480_000.0, Route(round_trip), 0.2):.2f}%" for round_trip in (0.2, 0.05)
    ]
    assert found == ["0.28%", "0.71%"]
    assert all(one in says("001-LF") for one in found)


def test_whole_segments_of_small_windows() -> None:
    # Whole segments of a window, without the one that waits for its pair.
    windows = {8_000: (5, "72.4%"), 16_000: (11, "90.5%")}
    for window, (segments, share) in windows.items():
        assert window // 1448 == segments
        assert f"{100 * (segments - segments % 2) * 1448 / window:.1f}%" == share
        assert share in says("001-T1")


def test_losses_of_fifty_flows_and_of_one() -> None:
    many, one = (probability(5e6 / flows, ALONE, 0.3) for flows in (50, 1))
    assert f"{many / one:.0f}" == "2500"
    assert "2,500 times the probability" in says("001-I2")


RESULTS = json.loads((ROOT / "docs" / "results" / "results.json").read_bytes())


def measured(row: str, part: str, key: str = "value") -> float:
    """The published number of a part of a row's first reading in virtual time."""
    [found] = (one for one in RESULTS["rows"] if one["id"] == row)
    [reading] = (
        one for one in found["readings"] if (one["reading"], one["stage"]) == (1, "virtual")
    )
    [value] = (one[key] for one in reading["parts"] if one["name"] == part)
    return float(value)


def waits_at_pmax() -> list[float]:
    return [measured("001-F13", f"mean pmax {pmax}") - 25 for pmax in ("10", "12.5", "15", "20")]


def knees() -> list[float]:
    return [measured("001-F2c", f"knee {flows} flows") for flows in (1, 2, 5, 10, 20)]


FIGURES: list[tuple[str, Callable[[], str]]] = [
    (
        "001-F2b",
        lambda: f"carries {100 * measured('001-F2b', 'goodput 10ms over plateau'):.1f}% of the",
    ),
    (
        "001-F2c",
        lambda: "{:.0f}, {:.0f}, {:.0f}, {:.0f} and {:.0f} ms for 1, 2, 5".format(*knees()),
    ),
    ("001-F3b", lambda: f"and loses {measured('001-F3b', 'loss'):.1f}%."),
    ("001-F5b", lambda: f"lies within {measured('001-F2b', 'range of goodput'):.2f}% in"),
    ("001-F6", lambda: f"above 100 ms; {100 - measured('001-F6', 'game 40-100'):.0f}% are."),
    (
        "001-F10b",
        lambda: (
            f"{measured('001-F10b', 'latency form at half rate'):.2f} times the wait instead "
            f"of {measured('001-F10b', 'depth form at half rate'):.2f}."
        ),
    ),
    ("001-F12", lambda: f"The mean of 001-F11a is {measured('001-F11a', 'mean 400ms'):.0f} ms."),
    ("001-F13", lambda: "ours of {:.0f}, {:.0f}, {:.0f} and {:.0f} ms".format(*waits_at_pmax())),
    ("001-T1", lambda: f"we measure {100 + measured('001-T1', '8kb 20ms'):.1f}% at 20 ms"),
    ("001-T1", lambda: f"90.5%, and we measure {100 + measured('001-T1', '16kb 20ms'):.1f}%."),
    (
        "001-CON",
        lambda: (
            f"an interval of {measured('001-CON', 'sfq over sfq-lred', 'low'):.5f} to "
            f"{measured('001-CON', 'sfq over sfq-lred', 'high'):.5f}"
        ),
    ),
    ("001-I2", lambda: f"lose {measured('001-I2', 'drops 50 over 1 flows'):,.0f} times as many"),
    (
        "000-F6b",
        lambda: f"{100 * (measured('000-F6b', 'pie over codel-dt 1s') - 1):.0f}% ahead of",
    ),
    (
        "000-F6c",
        lambda: f"by {100 * (measured('000-F6c', 'pie over codel-dt 2s') - 1):.0f}% after 2 s",
    ),
    ("004-F7a", lambda: f"{measured('004-F7a', 'n100 t2'):.0f}% of the requests of 100 modems"),
]
"""What explanations say of rows that were measured, as it follows from the published page."""


@pytest.mark.parametrize(("row", "words"), FIGURES)
def test_explanations_say_what_the_page_has(row: str, words: Callable[[], str]) -> None:
    """An explanation that a later sitting has overtaken is to be written anew."""
    assert words() in says(row)


def test_only_an_explanation_of_that_outcome_is_shown() -> None:
    explanations = load_explanations()
    rows = [
        {"id": "001-LF", "state": "contradicted"},
        {"id": "001-F9", "state": "reproduced"},
        {"id": "001-F8", "state": "contradicted"},
    ]
    assert [row["id"] for row, _ in explained(rows, explanations)] == ["001-LF"]
    assert unexplained(rows, explanations) == ["001-F8"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("001-F9", "000-F9"), "000-F9 is no row of 001"),
        (("outcomes: [contradicted]", "outcomes: [wrong]"), "outcomes"),
        (("grounds: source", "grounds: feeling"), "grounds"),
        (("\nexplanations:\n", "\nexplanations:\n  - {row: 001-F9}\n"), "outcomes: is missing"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    text = """# SPDX-License-Identifier: Apache-2.0

explanations:
  - row: 001-F9
    outcomes: [contradicted]
    written: 2026-11-23
    grounds: source
    says: A sentence.
    evidence: Another.
"""
    file = tmp_path / "001.yaml"
    file.write_text(text.replace(*change))
    with pytest.raises(ConfigError, match=re.escape(sentence)) as raised:
        load_explanations(tmp_path)
    assert "001.yaml" in str(raised.value)


def test_no_row_is_explained_twice(tmp_path: Path) -> None:
    one = "  - {row: 001-F9, outcomes: [contradicted], written: 2026-11-23, grounds: open, "
    one += "says: A., evidence: B.}\n"
    (tmp_path / "001.yaml").write_text("explanations:\n" + 2 * one)
    with pytest.raises(ConfigError, match="001-F9 is explained twice"):
        load_explanations(tmp_path)
