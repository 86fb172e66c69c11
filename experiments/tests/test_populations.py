# SPDX-License-Identifier: Apache-2.0
"""A population's file, who is drawn from it, and what is compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from docsis_control.config.errors import ConfigError
from docsis_control.mac.profiles import NAMES, named
from docsis_experiments.populations import document, schema
from docsis_experiments.populations.access import mean_access_ns
from docsis_experiments.populations.drawing import (
    LARGEST_SEED,
    chosen,
    own_ns,
    round_trip_ns,
    subscriber,
)
from docsis_experiments.populations.loader import load
from docsis_experiments.populations.models import (
    LONGEST_ROUND_TRIP,
    ModemShare,
    RoundTrip,
)
from docsis_experiments.populations.testing import REQUESTS, planned_test
from docsis_experiments.runs.play import play
from docsis_testbed.paths import TOPOLOGIES

FOLDER = TOPOLOGIES / "populations"
SHIPPED = sorted(FOLDER.glob("*.yaml"))
QUICK = FOLDER / "quick-look.yaml"
SHAPE = Draft202012Validator(schema.json_schema())

MS = 1_000_000

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes quick-look with changes: of what is at a place in the file."""

    def written(*changes: tuple[tuple[str | int, ...], object]) -> Path:
        content: Any = YAML(typ="safe", pure=True).load(QUICK.read_text())
        content["name"] = "mine"
        for entry in content["tiers"]:
            entry["tier"] = YAML(typ="safe", pure=True).load(
                (FOLDER / "tiers" / f"{entry['tier']}.yaml").read_text()
            )
        for place, value in changes:
            at = content
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = value
        path = tmp_path / "mine.yaml"
        with path.open("w") as file:
            YAML(typ="safe", pure=True).dump(content, file)
        return path

    return written


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(schema.json_schema())


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_shipped_populations_can_be_read_fit_their_schema_and_are_written_again(
    file: Path, tmp_path: Path
) -> None:
    population = load(file)
    SHAPE.validate(YAML(typ="safe", pure=True).load(file.read_text()))
    document.write(population, 1, tmp_path / "population.yaml")
    assert load(tmp_path / "population.yaml") == population
    again = YAML(typ="safe", pure=True).load((tmp_path / "population.yaml").read_text())
    SHAPE.validate(again)


@pytest.mark.parametrize(
    ("place", "value", "key", "words"),
    [
        (("tiers", 0, "share"), -1, "tiers.0.share", "is -1; a share is 0 to"),
        (("tiers", 0, "share"), math.nan, "tiers.0.share", "is nan; a share is 0 to"),
        (("tiers", 0, "share"), math.inf, "tiers.0.share", "is inf; a share is 0 to"),
        (("tiers", 0, "share"), "a lot", "tiers.0.share", "number"),
        (("tiers",), [], "tiers", "is empty"),
        (("tiers", 0, "tier"), "golden", "tiers.0.tier", 'there is no service tier "golden"'),
        (("modems", 0, "manager"), "magic", "modems.0.manager", 'no queue manager "magic"'),
        (("modems", 0, "buffer"), "minus one", "modems.0.buffer", ""),
        (("modems", 1, "name"), "docsis-pie", "modems.1.name", "is there twice"),
        (
            ("arms", 1, "modems", 0, "modem"),
            "tin-can",
            "arms.1.modems.0.modem",
            'there is no modem "tin-can"; there are docsis-pie, drop-tail',
        ),
        (("arms", 1, "label"), "all with AQM", "arms.1.label", "is there twice"),
        (("arms", 1, "modems", 0, "share"), -2, "arms.1.modems.0.share", "is -2"),
        (("round_trip", "p5"), "5 ms", "round_trip.p95", "no log-normal distribution has these"),
        (("round_trip", "p5"), "20 ms", "round_trip.p5", "is not between 0 and the median"),
        (("round_trip", "p95"), "10 ms", "round_trip.p95", "is not between the median"),
        (("round_trip", "p95"), "3 s", "round_trip.p95", "and 2 s"),
        (("tests",), 5_001, "tests", "5001 tests of 2 arms are 10002, and the limit is 10000"),
        (("tests",), 0, "tests", "1"),
        (("limit",), 50_001, "limit", "50000"),
        (("measured",), "999 ms", "measured", "does not fit: it has to be 1 s at least"),
        (("tiers", 0, "share"), 10**400, "tiers.0.share", "has too many digits"),
        (("timeout",), "9 ms", "timeout", "must be 10 ms to a minute"),
        (("timeout",), "8 s", "measured", "no shorter than the timeout of 8 s"),
        (("idle",), "20 ms", "idle", "does not fit: it has to be 100 ms at least"),
        (("ramp_up",), "500 ms", "uploads.start_spread", "within the ramp-up of 500 ms"),
        (("ramp_up",), "11 min", "ramp_up", ""),
        (("ramp_up",), "700 s", "ramp_up", "is longer than 600 s"),
        (("measured",), "598 s", "measured", "are 603 s together; a test may take 600 s"),
        (("uploads", "streams"), 0, "uploads.streams", "1"),
        (("uploads", "streams"), 33, "uploads.streams", "32"),
        (("upstream_channel",), "docsis-9", "upstream_channel", 'there is no profile "docsis-9"'),
        (("bands", 0, "at_most"), "0 ms", "bands.0.at_most", "is not above 0 ns"),
        (("colour",), "red", "colour", "unknown key"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_with_its_place(
    write: Write, place: tuple[str | int, ...], value: object, key: str, words: str
) -> None:
    path = write((place, value))
    with pytest.raises(ConfigError) as error:
        load(path)
    problem = error.value.problems[0]
    assert (problem.file, problem.key) == (path, key)
    assert problem.line > 0
    assert words in problem.message
    assert "\n" not in str(error.value)


def test_a_modem_whose_name_names_no_run(write: Write) -> None:
    path = write((("modems", 1, "name"), "新"), (("arms", 1, "modems", 1, "modem"), "新"))
    with pytest.raises(ConfigError, match=r"modems.1.name: \"新\" has no letter or"):
        load(path)


def test_a_population_that_adds_up_to_nothing(write: Write) -> None:
    path = write((("tiers", 0, "share"), 0), (("tiers", 1, "share"), 0.0))
    with pytest.raises(ConfigError, match=r"mine.yaml:\d+: tiers: .*add up to nothing"):
        load(path)


def test_round_trips_below_the_channels_own(write: Write) -> None:
    near = {"median": "7 ms", "p5": "5 ms", "p95": "10 ms"}
    with pytest.raises(ConfigError, match=r"round_trip.p5: 5 ms is not above the 5.0 ms that the"):
        load(write((("round_trip",), near)))
    # Without a channel of its own nothing is in the way.
    assert own_ns(load(write((("round_trip",), near), (("upstream_channel",), "none")))) == 0


def test_a_tier_that_the_channel_does_not_carry(write: Write) -> None:
    place = ("tiers", 1, "tier", "upstream")
    path = write(
        ((*place, "maximum_sustained_traffic_rate"), "2 Gbps"),
        ((*place, "peak_traffic_rate"), "2 Gbps"),
        ((*place, "buffer"), "1 MB"),
    )
    with pytest.raises(ConfigError, match=r"tiers.1.tier: upload-20 has 2000 Mbps upstream, and"):
        load(path)


def test_the_name_is_the_files(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(QUICK.read_text().replace("tiers/", str(FOLDER / "tiers/")))
    for tier in (FOLDER / "tiers").iterdir():
        (tmp_path / "tiers").mkdir(exist_ok=True)
        (tmp_path / "tiers" / tier.name).write_text(tier.read_text())
    with pytest.raises(ConfigError, match=r'name: "quick-look" must be the file\'s name, "other"'):
        load(other)


FIELD_STUDY = load(FOLDER / "field-study.yaml")
TESTS = 4000
SUBSCRIBERS = [subscriber(FIELD_STUDY, 7, number) for number in range(1, TESTS + 1)]

# Five standard errors: chance exceeds them once in two million draws.
ERRORS = 5


def test_tiers_have_their_shares() -> None:
    found = Counter(one.tier.name for one in SUBSCRIBERS)
    assert len(found) == 6
    for count in found.values():
        assert abs(count - TESTS / 6) <= ERRORS * math.sqrt(TESTS * 5 / 36)


def test_round_trips_are_log_normal_with_the_channels_part() -> None:
    """Kolmogorov and Smirnov's distance, at 1 in a million."""
    law = FIELD_STUDY.round_trip
    own = own_ns(FIELD_STUDY)
    below = NormalDist().cdf(math.log(own / law.median) / law.sigma)
    drawn = np.sort([one.round_trip_ns for one in SUBSCRIBERS])
    places = np.array(
        [
            (NormalDist().cdf(math.log(value / law.median) / law.sigma) - below) / (1 - below)
            for value in drawn
        ]
    )
    steps = np.arange(TESTS + 1) / TESTS
    distance = max((steps[1:] - places).max(), (places - steps[:-1]).max())
    assert distance < math.sqrt(math.log(2e6) / 2 / TESTS)
    assert drawn[0] >= own
    assert all(one.path_ns == one.round_trip_ns - own for one in SUBSCRIBERS)
    assert np.median(drawn) / MS == pytest.approx(14, rel=0.03)
    assert np.quantile(drawn, (0.05, 0.95)) / MS == pytest.approx((8, 25), rel=0.06)


def test_tier_distance_and_modem_have_nothing_to_do_with_each_other() -> None:
    rows = np.array(
        [
            (one.tier.upstream.maximum_sustained_traffic_rate, one.round_trip_ns, one.of_modem)
            for one in SUBSCRIBERS
        ]
    )
    off = np.corrcoef(rows.argsort(0).argsort(0).T) - np.eye(3)
    assert np.abs(off).max() < ERRORS / math.sqrt(TESTS)


@given(
    median=st.integers(1, 200),
    ratio=st.floats(1.05, 8),
    least=st.integers(0, 30),
    place=st.floats(0, 1, exclude_max=True),
)
def test_no_round_trip_is_below_the_channels_or_without_end(
    median: int, ratio: float, least: int, place: float
) -> None:
    law = RoundTrip.model_validate(
        {
            "median": f"{median} ms",
            "p5": f"{round(median * MS / ratio)} ns",
            "p95": f"{round(median * MS * ratio)} ns",
        }
    )
    drawn = round_trip_ns(law, least * MS, place)
    assert least * MS <= drawn <= max(LONGEST_ROUND_TRIP, least * MS) + 1000
    assert round_trip_ns(law, least * MS, place * 0.9) <= drawn


@given(st.lists(st.floats(0, 1e6), min_size=1).filter(any), st.floats(0, 1, exclude_max=True))
def test_whoever_has_no_share_is_never_chosen(shares: list[float], place: float) -> None:
    entries = [ModemShare(modem=str(n), share=share) for n, share in enumerate(shares)]
    found = chosen(entries, place)
    assert found.share > 0
    before = math.fsum(entry.share for entry in entries[: int(found.modem)])
    whole = math.fsum(shares)
    assert before - 1e-6 * whole <= place * whole <= before + found.share + 1e-6 * whole


def test_arms_have_the_same_subscribers_and_equal_modems_equal_units() -> None:
    population = load(QUICK)
    all_aqm, today = population.arms
    same = 0
    for number in range(1, 101):
        one = planned_test(population, all_aqm, 3, number)
        other = planned_test(population, today, 3, number)
        assert one.who == other.who
        assert one.unit.topology == other.unit.topology
        assert one.unit.seed == other.unit.seed
        assert (one.unit == other.unit) is (one.modem == other.modem)
        same += one.modem == other.modem
    assert abs(same - 50) <= ERRORS * math.sqrt(100 / 4)


@settings(max_examples=50)
@given(seed=st.integers(0, LARGEST_SEED), number=st.integers(1, 50_000))
def test_a_test_is_its_seeds_alone(seed: int, number: int) -> None:
    """Whatever else is drawn or compared; titles and other arms change nothing."""
    whole = FIELD_STUDY
    other = whole.model_copy(update={"title": "x", "tests": 7, "arms": whole.arms[::-1]})
    one, two = (planned_test(p, whole.arms[1], seed, number) for p in (whole, other))
    assert one == two
    assert 0 <= one.unit.seed < 2**64


def test_other_seeds_are_other_subscribers() -> None:
    seeds = {subscriber(FIELD_STUDY, seed, number).seed for seed in (0, 1) for number in (1, 2)}
    assert len(seeds) == 4
    with pytest.raises(ValueError, match="no test 0"):
        subscriber(FIELD_STUDY, 1, 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_channels_part_is_that_of_runs(name: str, write: Write) -> None:
    """The bound is that of the mean of eight distances.

    Where grants have no random place, requests in turn keep step with MAPs, so that each is off by
    up to half a MAP, and the mean of eight by a quarter at the most.
    """
    population = load(
        write(
            (("upstream_channel",), name),
            # The slowest of the channels carries 4.1 Mbps.
            *(
                (("tiers", tier, "tier", "upstream", key), "2 Mbps")
                for tier in (0, 1)
                for key in ("maximum_sustained_traffic_rate", "peak_traffic_rate")
            ),
            (("idle",), "2 s"), (("ramp_up",), "1 s"), (("measured",), "1 s"),
        )
    )  # fmt: skip
    off = []
    for number in range(1, 9):
        test = planned_test(population, population.arms[0], 901, number)
        idle = play(test.unit).groups[REQUESTS].values["idle-round-trip"]
        off.append(idle - test.who.round_trip_ns / MS)
    # Hosts and the links beside the channel take a tenth of a millisecond.
    assert abs(float(np.mean(off)) - 0.1) < named(name).map_length / MS / 4


def test_mean_access_of_the_models_with_a_law() -> None:
    """docs/mac.md: (U + 2 + U') T of cablelabs-2014, and docsis-ns3's 5,038.9 us of docsis-3.1."""
    assert mean_access_ns(named("cablelabs-2014")) == pytest.approx(6 * MS, rel=0.01)
    assert mean_access_ns(named("docsis-3.1")) == pytest.approx(5.0389 * MS, rel=0.02)
