# SPDX-License-Identifier: Apache-2.0
"""Explanations are of rows that there are, and theory says what their sentences say it does."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.config.errors import ConfigError
from docsis_experiments.measurement.intervals import Interval
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.explanations.loader import load_explanations
from docsis_experiments.reproduction.explanations.tcp_law import Lred, probability, rate, wait
from docsis_experiments.reproduction.explanations.tcp_law import Path as Route
from docsis_experiments.reproduction.judge.estimate import estimate
from docsis_experiments.reproduction.page.values import explained, unexplained
from docsis_experiments.reproduction.row import Share
from docsis_testbed.paths import ROOT

ROUND_TRIP = 0.05
ALONE, WITH_TIMEOUTS = Route(ROUND_TRIP), Route(ROUND_TRIP, timeout_s=1.0)
SHARE_OF_ONE_MEGABIT = 96_000.0
SHARE, HALF_SHARE = 480_000.0, 240_000.0
CURVE = Lred(0.2, 0.4, 0.01, 0.05)
STEEPER = Lred(0.2, 0.4, 0.01, 0.1)


def says(row: str) -> str:
    """The sentences of a row's explanation."""
    one = load_explanations()[row]
    return f"{one.says} {one.evidence}"


def test_every_explanation_is_of_a_rule() -> None:
    rules = registered_rules()
    assert set(load_explanations()) <= set(rules)


def test_no_explanation_is_older_than_its_evidence() -> None:
    for one in load_explanations().values():
        dates = re.findall(r"\d{4}-\d{2}-\d{2}", f"{one.says} {one.evidence}")
        assert all(date.fromisoformat(day) <= one.written for day in dates), one.row


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


def test_losses_of_the_rate_are_fewer_of_the_packets() -> None:
    # What is dropped comes on top of the rate that the line carries.
    published, computed = (
        f"{100 * of_rate / (100 + of_rate):.1f}%" for of_rate in (6, measured("001-F3b", "loss"))
    )
    assert f"nearly 6% of the rate is some {published} of the packets" in says("001-F3b")
    assert f"{part('001-F3b', 'loss', reading=2)['value']:.1f}%" == computed
    assert f"which is {computed} of them" in says("001-F3b")


def test_waits_at_half_the_rate() -> None:
    found = [f"{1000 * wait(CURVE, HALF_SHARE, path):.0f}" for path in (WITH_TIMEOUTS, ALONE)]
    assert found == ["235", "249"]
    assert "235 to 249 ms" in says("001-F10b")
    assert "17% to 25%" in says("001-F10b"), "of the threshold of 200 ms"


def test_a_steeper_curve_holds_the_band() -> None:
    found = [wait(STEEPER, HALF_SHARE, path) for path in (WITH_TIMEOUTS, ALONE)]
    assert "{:.0f} to {:.0f} ms with a Pmax".format(*(1000 * one for one in found)) in says(
        "001-F10b"
    )
    more = [round(100 * (one / 0.2 - 1)) for one in found]
    assert "{}% to {}% more at a Pmax".format(*more) in says("001-F10b")
    assert max(more) < 15 < 100 * (wait(CURVE, HALF_SHARE, WITH_TIMEOUTS) / 0.2 - 1)


def test_losses_at_half_the_rate() -> None:
    whole, half = (
        [probability(share, path, wait(CURVE, share, path)) for path in (WITH_TIMEOUTS, ALONE)]
        for share in (SHARE, HALF_SHARE)
    )
    assert "{:.2%} to {:.2%} at 200 ms".format(*whole) in says("001-F10b")
    assert max(whole) < CURVE.least
    assert "{:.1%} to {:.1%}".format(*half) in says("001-F10b")
    assert all(2.6 < more / less < 2.8 for more, less in zip(half, whole, strict=True)), "nearly 3"


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


def test_knees_that_the_square_root_gives() -> None:
    flows = (1, 2, 5, 10, 20)
    law = [knees()[0] / number**0.5 for number in flows]
    assert "{:.0f}, {:.0f}, {:.0f}, {:.0f} and {:.0f} ms.".format(*law) in says("001-F2c")
    steps = [found - 10 * np.ceil(one / 10) for found, one in zip(knees(), law, strict=True)]
    assert steps == pytest.approx([0, 10 / 3, 0, 0, 0]), (
        "two uploads are a step above it in one seed"
    )
    of_two = of_seeds("001-F2c", "knee 2 flows")
    assert "({:.0f}, {:.0f} and {:.0f} ms in the three seeds)".format(*of_two) in says("001-F2c")


def test_a_queue_that_strays_settles_the_later_the_longer_one_looks() -> None:
    def expected(window_s: float, settled_s: float = 1.0, strays: float = 0.02) -> float:
        count = round((window_s - settled_s) / 0.5)
        last = [
            (settled_s + 0.5 * i) * strays * (1 - strays) ** (count - i)
            for i in range(1, count + 1)
        ]
        return settled_s * (1 - strays) ** count + sum(last)

    times = [f"{expected(window):.1f} s in {window} s" for window in (10, 20, 30)]
    assert " ".join("{}, {} and {}".format(*times).split()) in says("001-I6")
    never = [part("001-I6", f"time {name}")["why"] for name in ("codel", "pie", "lred")]
    assert never == [f"{count} of 60 seeds have no finite value" for count in (14, 33, 2)]
    assert "CoDel, PIE and LRED never settle in 14, 33 and 2 of 60 seeds" in says("001-I6")


def test_a_share_of_long_runs_is_too_rare_for_its_band() -> None:
    law, low, high = 0.0004581, 0.042, 0.050

    def around(count: int, draws: int, confidence: float) -> Interval:
        found = estimate(Share(count, draws, (1,)), confidence).interval
        assert found is not None
        return found

    chances = []
    for draws, confidence in ((1_000_000, 0.95), (3_000_000, 0.99)):
        expected = draws * law
        ends = around(round(expected), draws, confidence)
        assert f"{ends.low:.4f} to {ends.high:.4f}%" in says("000-F9")
        counts = range(round(0.8 * expected), round(1.2 * expected))
        intervals = {count: around(count, draws, confidence) for count in counts}
        inside = [n for n, one in intervals.items() if low <= one.low and one.high <= high]
        # Poisson's probabilities.
        chances.append(
            sum(math.exp(n * math.log(expected) - expected - math.lgamma(n + 1)) for n in inside)
        )
    assert chances[0] == 0
    assert f"is {100 * chances[1]:.0f}%" in says("000-F9")


def test_a_sawtooth_with_the_mean_of_the_uploads_is_wider_than_the_paper_s() -> None:
    """Reno's window grows as much in each round trip, and each round trip sends a window."""
    back_ms = 25.0

    def between(peak: float, low: float, high: float) -> float:
        ends = [min(max(ms + back_ms, peak / 2), peak) for ms in (low, high)]
        return (ends[1] ** 2 - ends[0] ** 2) / (0.75 * peak**2)

    def mean(peak: float) -> float:
        return 7 / 9 * peak - back_ms

    # The formulas are those of a window that is summed up step by step.
    steps = [500 + 500 * (index + 0.5) / 10_000 for index in range(10_000)]
    sent = sum(steps)
    assert sum(step * step for step in steps) / sent == pytest.approx(7 / 9 * 1000, rel=1e-6)
    inside = [step for step in steps if 600 <= step <= 900]
    assert sum(inside) / sent == pytest.approx(between(1000, 575, 875), rel=1e-3)

    together = 960 + 2 * back_ms
    assert f"{100 * between(together, 500, 1000):.0f}% of the packets would take" in says("001-F6")
    assert round(mean(together), -1) == 760
    ours = drawn("001-5", "FTP")["y"][-1]
    assert ours > mean(together)
    peak = (ours + back_ms) * 9 / 7
    assert f"from {peak / 2 - back_ms:.0f} to {peak - back_ms:.0f} ms" in says("001-F6")
    assert f"with {100 * between(peak, 500, 1000):.0f}% of its packets" in says("001-F6")
    assert measured("001-F6", "ftp 500-1000") < 100 * between(peak, 500, 1000)
    highest = max(ms for ms in range(700, 950) if between((ms + back_ms) * 9 / 7, 500, 1000) >= 0.8)
    assert round(highest, -1) == 840


def test_few_drops_of_one_upload() -> None:
    """Ratios are of whole counts, and those of fifty uploads are nearly alike."""
    ratios = of_seeds("001-I2", "drops 50 over 1 flows")
    assert "{:,.2f}, {:,.2f} and {:,.1f}".format(*ratios) in says("001-I2")
    many = [ratio * drops for ratio, drops in zip(ratios, (4, 7, 5), strict=True)]
    assert many == pytest.approx([round(count) for count in many], abs=0.001)
    assert "{:,.0f}, {:,.0f} and {:,.0f} packets".format(*many) in says("001-I2")
    # The curve drops 5% at most, of what the line carries in 540 s; twice as many are more.
    carried = 5e6 / (8 * 1518) * 540
    assert all(
        count / (count + carried) < 0.05 < 2 * count / (2 * count + carried) for count in many
    )
    interval = [measured("001-I2", "drops 50 over 1 flows", end) for end in ("low", "high")]
    assert "{:,.0f} to {:,.0f}".format(*interval) in says("001-I2")


RESULTS = json.loads((ROOT / "docs" / "results" / "results.json").read_bytes())


def parts(row: str, reading: int = 1, stage: str = "virtual") -> Any:
    """The published parts of a row."""
    [found] = (one for one in RESULTS["rows"] if one["id"] == row)
    [made] = (
        one for one in found["readings"] if (one["reading"], one["stage"]) == (reading, stage)
    )
    return made["parts"]


def part(row: str, name: str, reading: int = 1, stage: str = "virtual") -> Any:
    """A published part of a row."""
    [found] = (one for one in parts(row, reading, stage) if one["name"] == name)
    return found


def measured(row: str, name: str, key: str = "value") -> float:
    """The published number of a part of a row's first reading in virtual time."""
    return float(part(row, name)[key])


def in_mininet(row: str, name: str) -> float:
    """The published number of a part of a row in Mininet."""
    return float(part(row, name, stage="mininet")["value"])


def of_seeds(row: str, name: str) -> list[float]:
    """The published numbers of a part's seeds."""
    return [float(value) for value in part(row, name)["values"].values()]


def pie_in_000_f6b(seconds: str, reading: int) -> dict[str, float]:
    """PIE's throughput in 000-F6b, in percent of CoDel-DT's: value, low and high."""
    found = part("000-F6b", f"pie over codel-dt {seconds}", reading)
    return {end: 100 * float(found[end]) for end in ("value", "low", "high")}


def ahead(reading: int) -> str:
    """How far PIE is ahead of CoDel-DT in the first second of 000-F6b, with the interval."""
    of = {end: value - 100 for end, value in pie_in_000_f6b("1s", reading).items()}
    return f"{of['value']:.0f}% ({of['low']:.0f} to {of['high']:.0f})"


def carried(reading: int) -> str:
    """PIE's throughput from 2 to 7 s in 000-F6b, in percent of CoDel-DT's, with the interval."""
    found = pie_in_000_f6b("2-7s", reading)
    return "{value:.0f}% ({low:.0f} to {high:.0f})".format_map(found)


def drawn(figure: str, line: str, panel: int = 0) -> Any:
    """A line of a published figure."""
    [found] = (one for one in RESULTS["figures"] if one["id"] == figure)
    [drawn_there] = (one for one in found["panels"][panel]["lines"] if one["name"] == line)
    return drawn_there


def later_than(milliseconds: float) -> float:
    """The percentage of the uploads' packets in figure 001-6 that take longer."""
    ftp = drawn("001-6", "FTP")
    return float(100 * (1 - np.interp(milliseconds, ftp["x"], ftp["y"])))


def goodput(figure: str, buffer: float, key: str = "y") -> float:
    """Goodput against the buffer in figure 001-2 or 001-5, Mbit/s."""
    line = drawn(figure, "goodput", 1)
    return float(line[key][line["x"].index(buffer)])


def range_of_goodput() -> float:
    """The range of goodput with flow queues from 100 ms on, as 001-F2b has it, percent."""
    found = [goodput("001-5", buffer) for buffer in (100, 200, 400, 960)]
    return float(100 * (max(found) - min(found)) / np.mean(found))


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
    ("001-F3b", lambda: f"Ours is {measured('001-F3b', 'loss'):.1f}% of the rate"),
    (
        "001-F5b",
        lambda: f"and within {measured('001-F2b', 'range of goodput'):.2f}% with drop tail",
    ),
    ("001-F5b", lambda: f"lies within {range_of_goodput():.3f}% in figure"),
    ("001-F5b", lambda: f"full already, with {goodput('001-5', 100):.3f} Mbit/s"),
    (
        "001-F5b",
        lambda: (
            f"lose {measured('001-F5b', 'loss 100ms'):.2f} to "
            f"{measured('001-F5b', 'loss 400ms'):.2f} of what drop tail loses"
        ),
    ),
    (
        "000-B2",
        lambda: "{value:.0f} kbit/s ({low:.0f} to {high:.0f})".format_map(
            part("000-B2", "rate at 10 percent loss", reading=7)
        ),
    ),
    (
        "000-B2",
        lambda: "CUBIC behind the MAC at {value:.0f} ({low:.0f} to {high:.0f};".format_map(
            part("000-B2", "rate at 10 percent loss", reading=3)
        ),
    ),
    ("001-F6", lambda: f"them: {100 - later_than(500):.1f}% come sooner and"),
    ("001-F6", lambda: f"sooner and {later_than(1000):.1f}% later"),
    ("001-F6", lambda: f"the mean is {drawn('001-5', 'FTP')['y'][-1]:.0f} ms."),
    (
        "001-F6",
        lambda: "ours have {value:.0f}% of their packets there ({low:.0f} to {high:.0f}".format_map(
            part("001-F6", "ftp 500-1000", reading=2)
        ),
    ),
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
        "000-F6b",
        lambda: (
            f"within {np.ceil(100 * (measured('000-F6b', 'pie over codel-dt 10s') - 1)):.0f}% "
            "after 10 s and within "
            f"{np.ceil(100 * (measured('000-F6b', 'pie over codel-dt 25s') - 1)):.0f}% after 25 s."
        ),
    ),
    ("000-F6b", lambda: f"PIE is {ahead(5)} ahead behind"),
    ("000-F6b", lambda: f"{ahead(2)} with CUBIC, {ahead(3)} as RFC 8033 has it"),
    (
        "000-F6b",
        lambda: f"{ahead(4)} with DOCSIS-PIE, which goes by the tokens, and {ahead(6)} without",
    ),
    (
        "000-F6b",
        lambda: f"{carried(3)} as RFC 8033 has it, {carried(6)} without",
    ),
    ("000-F6b", lambda: f"with DOCSIS-PIE {carried(4)}."),
    (
        "000-F1a",
        lambda: (
            f"p90 is {measured('000-F1a', 'p90 codel'):.1f} ms "
            f"({measured('000-F1a', 'p90 codel', 'low'):.1f} to "
            f"{measured('000-F1a', 'p90 codel', 'high'):.1f})"
        ),
    ),
    (
        "000-F1a",
        lambda: (
            f"PIE has {measured('000-F1a', 'p90 pie'):.1f} ms and CoDel-DT "
            f"{measured('000-F1a', 'p90 codel-dt'):.1f}."
        ),
    ),
    (
        "000-F1a",
        lambda: (
            f"of 50 and of 250 ms have {measured('000-F1a', 'p90 drop-tail-50ms'):.1f} and "
            f"{measured('000-F1a', 'p90 drop-tail-250ms'):.0f} ms"
        ),
    ),
    ("000-F1a", lambda: f"of 50 ms has {in_mininet('000-F1a', 'p90 drop-tail-50ms'):.1f} ms"),
    (
        "000-F1a",
        lambda: (
            f"CoDel has {in_mininet('000-F1a', 'p90 codel'):.1f} ms there and PIE "
            f"{in_mininet('000-F1a', 'p90 pie'):.1f},"
        ),
    ),
    ("000-F5", lambda: f"AQMs are {measured('000-F5', 'spread of aqms'):.2f} s apart"),
    (
        "000-F5",
        lambda: (
            f"PIE has {measured('000-F5', 'p90 pie'):.2f} s and CoDel-DT "
            f"{measured('000-F5', 'p90 codel-dt'):.2f} s, CoDel "
            f"{measured('000-F5', 'p90 codel'):.2f} s, and SFQ-PIE and SFQ-CoDel "
            f"{measured('000-F5', 'p90 sfq-pie'):.2f} and {measured('000-F5', 'p90 sfq-codel'):.2f}"
        ),
    ),
    (
        "000-F1b",
        lambda: (
            f"has {min(of_seeds('000-F1b', 'drop-tail-250ms over pie')):.1f} to "
            f"{max(of_seeds('000-F1b', 'drop-tail-250ms over pie')):.1f} times"
        ),
    ),
    ("000-F4", lambda: f"falls to {measured('000-F4', 'lowest mos drop-tail-50ms'):.1f} under"),
    (
        "000-F4",
        lambda: (
            f"PIE falls to {measured('000-F4', 'lowest mos pie'):.1f} and CoDel-DT to "
            f"{measured('000-F4', 'lowest mos codel-dt'):.1f},"
        ),
    ),
    ("000-F4", lambda: f"keeps {measured('000-F4', 'lowest mos codel'):.1f}."),
    ("000-F4", lambda: f"SFQ-CoDel keeps {measured('000-F4', 'lowest mos sfq-codel'):.2f}."),
    (
        "000-F4",
        lambda: (
            "SFQ-PIE has {:.1f}, {:.1f} and {:.1f}, ".format(
                *of_seeds("000-F4", "lowest mos sfq-pie")
            )
            + f"a mean of {measured('000-F4', 'lowest mos sfq-pie'):.1f}:"
        ),
    ),
    (
        "000-F6c",
        lambda: f"by {100 * (measured('000-F6c', 'pie over codel-dt 2s') - 1):.0f}% after 2 s",
    ),
    (
        "000-F11-12",
        lambda: f"errs {measured('000-F11-12', 'p90 error pie over appendix a'):.2f} times as much",
    ),
    ("000-F13-14", lambda: f"median error of {measured('000-F13-14', 'median error'):.1f}%."),
    ("000-F13-14", lambda: f"passes with {measured('000-F13-14', 'median error pie'):.1f}%."),
    ("004-F7a", lambda: f"{measured('004-F7a', 'n100 t2'):.0f}% of the requests of 100 modems"),
]
"""What explanations say of rows that were measured, as it follows from the published page."""


@pytest.mark.parametrize(("row", "words"), FIGURES)
def test_explanations_say_what_the_page_has(row: str, words: Callable[[], str]) -> None:
    """An explanation that a later sitting has overtaken is to be written anew."""
    assert words() in says(row)


def contradicted(row: str) -> set[str]:
    """The parts of a row's first reading in virtual time that are contradicted."""
    return {one["name"] for one in parts(row) if one["verdict"] == "contradicted"}


def test_parts_that_are_contradicted() -> None:
    assert contradicted("000-F1b") == {
        "difference codel pie",
        "codel minus codel-dt",
        "pie over sfq-codel",
    }
    assert "three parts are contradicted" in says("000-F1b")
    assert contradicted("000-F4") == {"lowest mos drop-tail-50ms"}
    assert "That alone contradicts the row." in says("000-F4")
    assert contradicted("001-F6") == {"ftp 500-1000"}


def test_there_is_no_gain_of_goodput_to_compare() -> None:
    found = {f"{goodput('001-5', buffer):.3f}" for buffer in (100, 400, 960)}
    line = 5 * 1448 / 1518
    assert all(abs(float(one) - line) < 0.0015 for one in found)
    assert f"{line:.3f} Mbit/s. Goodput from 100 ms on" in says("001-F5b")
    gains = part("001-F5b", "gains")["values"].values()
    assert [one for one in gains if one is not None] == pytest.approx([-1.4, -18])
    assert "one of three seeds has no ratio, and the others have -1.4 and -18." in says("001-F5b")


def test_how_much_more_codel_dt_loses_and_waits() -> None:
    def more(name: str, key: str = "value") -> str:
        return f"{100 * (measured('000-S43', name, key) - 1):.0f}"

    lost = [more("loss load 9", key) for key in ("value", "low", "high")]
    assert "it loses {}% more ({} to {})".format(*lost) in says("000-S43")
    assert f"under load 3 it loses {more('loss load 3')}% more packets" in says("000-S43")
    waits = sorted({more("p50 load 9"), more("p90 load 9")})
    assert "waits are {} to {}% longer".format(*waits) in says("000-S43")
    for reading in range(1, 6):
        assert part("000-S43", "loss load 9", reading)["verdict"] == "contradicted"


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
