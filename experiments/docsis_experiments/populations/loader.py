# SPDX-License-Identifier: Apache-2.0
"""Reads populations, and the tiers that a population names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.config.units import format_duration
from docsis_control.config.yaml_file import Document, Location, explain, plain, read, validate
from docsis_control.topology.channel_forms import write_out_channels
from docsis_control.topology.loader import named_tier
from docsis_control.topology.models import Topology
from docsis_control.topology.services import check_services
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.populations.drawing import own_ns
from docsis_experiments.populations.models import Population
from docsis_experiments.populations.testing import scenario_of, topology_of

RECORDED: Final = "population"
"""Stem of the file in a population's record, which has any name."""


def load(file: Path) -> Population:
    """Read a population, with its tiers in place.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    data = plain(document.root)
    assert isinstance(data, dict)
    where = write_out_channels(document, data)
    tiers = data.get("tiers")
    for index, entry in enumerate(tiers if isinstance(tiers, list) else ()):
        _resolve(document, entry, ("tiers", index))
    population = validate(document, Population, data, where)
    if file.stem not in (population.name, RECORDED):
        raise ConfigError(
            [
                document.problem(
                    ("name",), f'"{population.name}" must be the file\'s name, "{file.stem}"'
                )
            ]
        )
    try:
        check(population)
    except KeyedError as error:
        location = tuple(int(part) if part.isdigit() else part for part in error.key.split("."))
        raise ConfigError([document.problem(where(location), str(error))]) from None
    return population


def _resolve(document: Document, entry: object, at: Location) -> None:
    """Puts a tier in place of its name."""
    if isinstance(entry, dict) and "tier" in entry and not isinstance(entry["tier"], dict):
        named: Any = entry["tier"]
        entry["tier"] = named_tier(document, named, (*at, "tier"))


def check(population: Population) -> None:
    """Whether tiers, channel, distances and modems go together, and make tests.

    Raises:
        KeyedError: They do not; the key is the population's.
    """
    own = own_ns(population)
    for key in ("p5", "median"):
        value: int = getattr(population.round_trip, key)
        if value <= own:
            raise KeyedError(
                f"round_trip.{key}",
                f"{format_duration(value)} is not above the {own / 1e6:.1f} ms that the upstream "
                "channel takes of an idle round trip by itself",
            )
    for index, entry in enumerate(population.tiers):
        try:
            check_services(topology_of(entry.tier, population, 0))
        except ValidationError as error:
            _, place, sentence = min(explain(Topology, error), key=lambda one: one[0])
            raise KeyedError(
                f"tiers.{index}.tier", f"{'.'.join(map(str, place))}: {sentence}"
            ) from None
        except KeyedError as error:
            raise KeyedError(f"tiers.{index}.tier", f"{error.key}: {error}") from None
        _check_channel(population, index)
    for index, modem in enumerate(population.modems):
        try:
            scenario_of(population, modem)
        except ValidationError as error:
            _, place, sentence = min(explain(Scenario, error), key=lambda one: one[0])
            raise KeyedError(_key(place, index), sentence) from None


def _key(place: Location, modem: int) -> str:
    """The key of a population by its place in the scenario that a modem is tested with."""
    match place:
        case ("runs", 0, "label", *_):
            return f"modems.{modem}.name"
        case ("runs", 0, *rest):
            return ".".join(map(str, ("modems", modem, *rest)))
        case ("traffic", 0, *rest):
            return ".".join(map(str, rest))
        case ("traffic", _, *rest):
            return ".".join(map(str, ("uploads", *rest)))
        case _:
            return ".".join(map(str, place))


def _check_channel(population: Population, index: int) -> None:
    """A tier that its channel cannot carry would test the channel."""
    tier = population.tiers[index].tier
    rate = tier.upstream.maximum_sustained_traffic_rate
    for channel in population.upstream_channels:
        carried = channel.numbers.data_rate
        if rate > carried:
            raise KeyedError(
                f"tiers.{index}.tier",
                f"{tier.name} has {rate / 1e6:g} Mbps upstream, and the channel carries "
                f"{carried / 1e6:.1f} Mbps",
            )
