# SPDX-License-Identifier: Apache-2.0
"""The axes of a sweep: changes of the experiment's topology, its traffic or its run. Pure.

An axis is one entry of `AXES`, and its values one key of `models.Axes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from pydantic import ValidationError

from docsis_control.config.models import MAX_FRAME, KeyedError, Model
from docsis_control.config.units import (
    BufferLimit,
    format_bytes,
    format_duration,
    format_rate,
    parse_bytes,
    parse_rate,
)
from docsis_control.config.yaml_file import explain
from docsis_control.modem_config.provisioned import Direction
from docsis_control.topology.models import Topology
from docsis_control.topology.services import check_services
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import sustained_rate
from docsis_experiments.sweeps.models import Axes, Flows


@dataclass(frozen=True)
class Condition:
    """The condition under which a point of a sweep is played.

    Attributes:
        scenario: With one run and no expectations.
        topology: With its tier in place.
    """

    scenario: Scenario
    topology: Topology

    @property
    def run(self) -> Run:
        """Its one run."""
        return self.scenario.runs[0]


@dataclass(frozen=True)
class Axis:
    """An axis of numbers.

    Attributes:
        column: Its column in tables, with the unit.
        title: For figures, with the unit.
        keys: From the axis' values in the file to (key below `axes`, value).
        number: A value as a number in the unit, at a sustained rate in bit/s.
        written: A value for people.
        apply: The condition at a value.
    """

    column: str
    title: str
    keys: Callable[[Axes], list[tuple[str, Any]]]
    number: Callable[[Any, int], float]
    written: Callable[[Any], str]
    apply: Callable[[Condition, Any], Condition]


def _at_rate(condition: Condition, rate: int) -> Condition:
    """The loaded service flow at another sustained rate.

    The Peak Traffic Rate, the Maximum Traffic Burst and the tokens at the start keep their ratio to
    it, so that a full bucket lasts as long.
    """
    direction = condition.scenario.direction
    if condition.scenario.channel is not None:
        raise KeyedError("", "the experiment's channel has rates of its own; leave this axis out")
    data = _plain(condition.topology)
    modem = data["modems"][0]
    tier = modem.get("tier") or (None if "configuration" in modem else data.get("tier"))
    if tier is None:
        raise KeyedError(
            "",
            f"the modem {modem['name']} has a configuration file, which says its rates; "
            "take a topology with a service tier",
        )
    flow = tier[direction]
    factor = Fraction(rate, parse_rate(flow["maximum_sustained_traffic_rate"]))
    flow["maximum_sustained_traffic_rate"] = format_rate(rate)
    flow["peak_traffic_rate"] = format_rate(round(parse_rate(flow["peak_traffic_rate"]) * factor))
    for key, least in (("maximum_traffic_burst", MAX_FRAME), ("initial_tokens", 0)):
        if key in flow:
            flow[key] = format_bytes(max(least, round(parse_bytes(flow[key]) * factor)))
    topology = _topology(data)
    _within_channel(topology, direction, rate)
    return Condition(condition.scenario, topology)


def _within_channel(topology: Topology, direction: Direction, rate: int) -> None:
    carried = topology.channel_rate(direction, topology.modems[0].name)
    if carried is not None and rate > carried:
        raise KeyedError(
            "", f"{format_rate(rate)} is above the {format_rate(carried)} of the channel"
        )


def _with_buffer(condition: Condition, buffer: BufferLimit) -> Condition:
    run = condition.run
    if run.buffer is not None or run.manager.buffer is not None:
        raise KeyedError(
            "", f'"{run.label}" has a buffer of its own; take one without, as drop-tail, beside it'
        )
    return _changed(condition, runs=[{**_plain(run), "buffer": str(buffer)}])


def _with_round_trip(condition: Condition, time: int) -> Condition:
    data = _plain(condition.topology)
    for server in data["servers"]:
        server["round_trip_time"] = format_duration(time)
    return Condition(condition.scenario, _topology(data))


def _with_flows(condition: Condition, value: tuple[str, int]) -> Condition:
    name, count = value
    traffic = _plain(condition.scenario)["traffic"]
    named = [group for group in traffic if group["name"] == name]
    if not named:
        known = ", ".join(group["name"] for group in traffic)
        raise KeyedError("", f'the experiment has no traffic "{name}"; it has {known}')
    named[0]["count"] = count
    return _changed(condition, traffic=traffic)


def _changed(condition: Condition, **values: object) -> Condition:
    return Condition(scenario_with(condition.scenario, values), condition.topology)


def scenario_with(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    """The scenario with other values, as a file has them; validated.

    Raises:
        KeyedError: It is none any more; the key is from the scenario's root.
    """
    try:
        return Scenario.model_validate(_plain(scenario) | dict(values))
    except ValidationError as error:
        raise _keyed(Scenario, error) from None


def _topology(data: Mapping[str, object]) -> Topology:
    try:
        topology = Topology.model_validate(data)
    except ValidationError as error:
        raise _keyed(Topology, error) from None
    check_services(topology)
    return topology


def _keyed(model: type[Model], error: ValidationError) -> KeyedError:
    _, location, sentence = min(explain(model, error), key=lambda entry: entry[0])
    return KeyedError(".".join(map(str, location)), sentence)


def _plain(model: Scenario | Topology | Run) -> dict[str, Any]:
    content: dict[str, Any] = model.model_dump(mode="json", exclude_none=True)
    return content


def _counts(flows: Flows | None) -> list[tuple[str, Any]]:
    if flows is None:
        return []
    return [(f"flows.counts.{i}", (flows.of, count)) for i, count in enumerate(flows.counts)]


def _listed(key: str) -> Callable[[Axes], list[tuple[str, Any]]]:
    return lambda axes: [(f"{key}.{i}", value) for i, value in enumerate(getattr(axes, key))]


AXES: Final[Mapping[str, Axis]] = {
    "rates": Axis(
        "rate_mbps",
        "Maximum Sustained Traffic Rate (Mbit/s)",
        _listed("rates"),
        lambda value, rate: value / 1e6,
        format_rate,
        _at_rate,
    ),
    "buffers": Axis(
        "buffer_ms",
        "Buffer (ms at the sustained rate)",
        _listed("buffers"),
        lambda value, rate: 8e3 * value.bytes_at(rate) / rate,
        str,
        _with_buffer,
    ),
    "round_trip_times": Axis(
        "round_trip_ms",
        "Round-trip time (ms)",
        _listed("round_trip_times"),
        lambda value, rate: value / 1e6,
        format_duration,
        _with_round_trip,
    ),
    "flows": Axis(
        "flows",
        "Number of flows",
        lambda axes: _counts(axes.flows),
        lambda value, rate: float(value[1]),
        lambda value: str(value[1]),
        _with_flows,
    ),
}
"""By their key in the file, in the order in which a sweep goes through them."""


def rate_of(condition: Condition) -> int:
    """bit/s that the loaded service flow has for good."""
    return sustained_rate(condition.topology, condition.scenario.direction)
