# SPDX-License-Identifier: Apache-2.0
"""A sweep's file, and the points and units that follow from it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from ruamel.yaml import YAML

from docsis_control.config.errors import ConfigError
from docsis_control.config.units import format_rate
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.loader import load as load_scenario
from docsis_experiments.experiment.managers import label_of
from docsis_experiments.experiment.plan import buffer_bytes, plan_for
from docsis_experiments.sweeps import schema
from docsis_experiments.sweeps.axes import AXES, Condition, rate_of
from docsis_experiments.sweeps.loader import LoadedSweep, load
from docsis_experiments.sweeps.models import MOST_RUNS
from docsis_testbed.paths import TOPOLOGIES

SHIPPED = sorted((TOPOLOGIES / "sweeps").glob("*.yaml"))
SHAPE = Draft202012Validator(schema.json_schema())

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a sweep of voip-latency, with these keys in place of its own."""

    def written(**keys: object) -> Path:
        content: dict[str, object] = {
            "name": "mine",
            "title": "A sweep",
            "experiment": str(TOPOLOGIES / "scenarios" / "voip-latency.yaml"),
            "axes": {"managers": ["docsis-pie"]},
            "seeds": 2,
            **keys,
        }
        path = tmp_path / "mine.yaml"
        with path.open("w") as file:
            YAML(typ="safe", pure=True).dump(
                {key: value for key, value in content.items() if value is not None}, file
            )
        return path

    return written


def refused(path: Path) -> str:
    with pytest.raises(ConfigError) as error:
        load(path)
    words = str(error.value)
    assert "\n" not in words
    assert words.startswith(f"{path}:")
    return words


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_shipped_sweeps_can_be_read_and_fit_their_schema(file: Path) -> None:
    assert load(file).runs > 1
    SHAPE.validate(YAML(typ="safe", pure=True).load(file.read_text()))


def test_every_value_with_every_other_in_a_fixed_order(write: Write) -> None:
    loaded = load(
        write(
            axes={
                "managers": ["drop-tail", "docsis-pie"],
                "rates": ["5 Mbps", "20 Mbps"],
                "round_trip_times": ["20 ms", "100 ms"],
            },
            seeds=[7, 3],
        )
    )
    assert [point.words for point in loaded.points] == [
        f"{manager}, {rate}, {time}"
        for rate in ("5 Mbps", "20 Mbps")
        for time in ("20 ms", "100 ms")
        for manager in ("Drop tail", "DOCSIS-PIE")
    ]
    assert loaded.runs == 16
    assert loaded.sweep.seeds == (7, 3)


def test_a_rate_keeps_the_ratios_of_peak_and_burst(write: Write) -> None:
    loaded = load(write(axes={"managers": ["docsis-pie"], "rates": ["5 Mbps"]}))
    base = loaded.base.topology.tier
    [point] = loaded.points
    tier = point.condition.topology.tier
    assert base is not None
    assert tier is not None
    assert tier.upstream.maximum_sustained_traffic_rate == 5_000_000
    for key in ("peak_traffic_rate", "maximum_traffic_burst"):
        assert getattr(tier.upstream, key) * 4 == getattr(base.upstream, key)
    assert tier.downstream == base.downstream


@functools.cache
def voip_latency() -> Loaded:
    return load_scenario(TOPOLOGIES / "scenarios" / "voip-latency.yaml")


@settings(max_examples=50)
@given(rate=st.integers(100_000, 1_000_000_000))
def test_any_rate_is_a_service_that_can_be_had(rate: int) -> None:
    loaded = voip_latency()
    scenario = loaded.scenario.model_copy(update={"expectations": ()})
    changed = AXES["rates"].apply(Condition(scenario, loaded.topology), rate)
    assert rate_of(changed) == rate
    tier = changed.topology.tier
    assert tier is not None
    assert tier.upstream.peak_traffic_rate >= rate


def test_a_buffer_a_round_trip_time_and_a_number_of_flows(write: Write) -> None:
    loaded = load(
        write(
            axes={
                "managers": ["drop-tail"],
                "buffers": ["50 ms"],
                "round_trip_times": ["40 ms"],
                "flows": {"of": "near", "counts": [5]},
            },
            experiment=str(_renamed(write)),
        )
    )
    [point] = loaded.points
    scenario, topology = point.condition.scenario, point.condition.topology
    assert buffer_bytes(point.condition.run, topology, "upstream") == 20_000_000 // 8 // 20
    assert {server.round_trip_time for server in topology.servers} == {40_000_000}
    assert sum(one.group == "near" for one in plan_for(scenario, topology).flows) == 5
    assert dict(point.numbers) == {"buffers": 50.0, "round_trip_times": 40.0, "flows": 5.0}


def _renamed(write: Write) -> Path:
    """voip-latency with a group of uploads that is called near."""
    yaml = YAML(typ="safe", pure=True)
    source = TOPOLOGIES / "scenarios" / "voip-latency.yaml"
    data = yaml.load(source.read_text())
    data |= {
        "name": "near",
        "topology": str(source.parent / data["topology"]),
        "traffic": [{"name": "near", "kind": "transfer"}],
        "expectations": [],
    }
    path = write().parent / "near.yaml"
    with path.open("w") as file:
        yaml.dump(data, file)
    return path


def test_times_instead_of_the_experiments(write: Write) -> None:
    [point] = load(write(ramp_up="2 s", measured="3 s")).points
    assert (point.condition.scenario.ramp_up, point.condition.scenario.measured) == (
        2_000_000_000,
        3_000_000_000,
    )


def test_without_managers_it_has_the_experiments_runs(write: Write) -> None:
    loaded = load(write(axes={"rates": ["5 Mbps"]}))
    runs = loaded.base.scenario.all_runs
    assert [point.condition.run for point in loaded.points] == list(runs)
    # By their names, where the labels are presets'.
    assert [point.manager for point in loaded.points] == [label_of(run.manager) for run in runs]


def test_managers_as_mappings_and_with_labels(write: Write) -> None:
    quick = {"label": "quick", "manager": {"algorithm": "codel", "target": "5 ms"}}
    loaded = load(write(axes={"managers": [{"algorithm": "pie", "target": "20 ms"}, quick]}))
    assert [point.manager for point in loaded.points] == ["pie", "quick"]


MANAGERS = {"managers": ["docsis-pie"]}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"axes": {"managers": ["nope"]}}, 'axes.managers.0: there is no queue manager "nope"'),
        ({"axes": {"managers": [7]}}, "axes.managers.0: must be a preset's name"),
        ({"axes": {"managers": []}}, "axes.managers: is empty"),
        ({"axes": {"manager": ["pie"]}}, 'axes.manager: unknown key; did you mean "managers"?'),
        ({"axes": {**MANAGERS, "delays": ["1 ms"]}}, "axes.delays: unknown key"),
        ({"axes": {"managers": ["pie", "pie"]}}, "axes.managers.1: "),
        (
            {"axes": {"managers": ["pie", {"label": "pie", "manager": "pie", "buffer": "1 s"}]}},
            'axes.managers.1: "PIE, 15 ms" and "pie" cannot be told apart',
        ),
        ({"axes": {**MANAGERS, "rates": ["5 furlongs"]}}, "axes.rates.0: "),
        ({"axes": {**MANAGERS, "rates": ["5 Mbps", "5 Mbps"]}}, "axes.rates: has an entry twice"),
        ({"axes": {**MANAGERS, "rates": []}}, "axes.rates: is empty"),
        ({"axes": {**MANAGERS, "rates": ["90 Gbps"]}}, "axes.rates.0: tier.upstream."),
        ({"axes": {**MANAGERS, "round_trip_times": ["60 s"]}}, "axes.round_trip_times.0: "),
        (
            {"axes": {"managers": ["drop-tail-250ms"], "buffers": ["50 ms"]}},
            'axes.buffers.0: "Drop tail, 250 ms" has a buffer of its own',
        ),
        ({"axes": {**MANAGERS, "buffers": ["1 B"]}}, "axes.buffers.0: "),
        (
            {"axes": {**MANAGERS, "flows": {"of": "nobody", "counts": [1]}}},
            'axes.flows.counts.0: the experiment has no traffic "nobody"; it has game, ',
        ),
        ({"axes": {**MANAGERS, "flows": {"of": "game", "counts": [9]}}}, "axes.flows.counts.0: "),
        ({"seeds": 0}, "seeds: there may be 1 to 1000 of them, not 0"),
        ({"seeds": [-1]}, "seeds: a seed is a number from 0 to 2^64-1, not -1"),
        ({"seeds": [1, 1]}, "seeds: has an entry twice"),
        ({"seeds": None}, "seeds: is missing"),
        ({"measured": "1 ms"}, "measured: "),
        ({"experiment": "nope.yaml"}, "there is no such file"),
        ({"name": "other"}, 'name: "other" must be the file\'s name, "mine"'),
        ({"limit": MOST_RUNS + 1}, "limit: "),
        ({"seeds": 6, "limit": 5}, "limit: the sweep has 6 runs, and its limit is 5"),
        ({"seeds": 501}, "limit: the sweep has 501 runs, and its limit is 500"),
    ],
)
def test_bad_input_is_one_sentence_with_file_and_key(
    write: Write, keys: dict[str, object], words: str
) -> None:
    assert words in refused(write(**keys))


def test_a_sweep_above_its_limit_is_counted_before_it_is_made(write: Write) -> None:
    # 10^12 runs: nobody would wait for their points.
    many = [f"{number} ms" for number in range(1, 1001)]
    axes: dict[str, Any] = {
        **MANAGERS,
        "round_trip_times": many,
        "buffers": many,
        "rates": [format_rate(1_000_000 + number) for number in range(1000)],
    }
    words = refused(write(axes=axes, seeds=1000))
    assert "the sweep has 1000000000000 runs" in words


def test_a_channel_with_rates_of_its_own(write: Write) -> None:
    congested = TOPOLOGIES / "scenarios" / "rf-congestion.yaml"
    words = refused(write(experiment=str(congested), axes={**MANAGERS, "rates": ["5 Mbps"]}))
    assert "axes.rates.0: the experiment's channel has rates of its own" in words


def test_the_schema_is_one(write: Write) -> None:
    Draft202012Validator.check_schema(schema.json_schema())
    for wrong in ({"seeds": "many"}, {"axes": {"managers": ["nope"]}}, {"limit": 0}):
        content = YAML(typ="safe", pure=True).load(write(**wrong).read_text())
        with pytest.raises(ValidationError):
            SHAPE.validate(content)
    assert json.dumps(schema.json_schema())


def test_points_are_the_same_from_the_same_file(write: Write) -> None:
    path = write(axes={"rates": ["5 Mbps", "10 Mbps"], **MANAGERS})
    first, second = load(path), load(path)
    assert isinstance(first, LoadedSweep)
    assert first == second
