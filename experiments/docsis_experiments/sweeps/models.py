# SPDX-License-Identifier: Apache-2.0
"""A sweep: an experiment, the axes along which it is varied, and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeVar

from pydantic import BeforeValidator, Field, field_validator

from docsis_control.config.models import KeyedError, Model, NodeName
from docsis_control.config.units import Buffer, DataRate, Duration
from docsis_experiments.experiment.managers import label_of, managed
from docsis_experiments.experiment.models import Run
from docsis_experiments.experiment.tagged import as_tuple

DEFAULT_LIMIT: Final = 500
"""Runs of a sweep that says nothing of a limit."""

MOST_RUNS: Final = 20_000
"""The most runs that a limit may allow."""

MOST_SEEDS: Final = 1_000
LARGEST_SEED: Final = 2**64 - 1

_T = TypeVar("_T")


def _run(value: object) -> object:
    """A queue manager as a run: its preset's name or mapping, or with a label of its own."""
    if isinstance(value, Run) or (isinstance(value, Mapping) and "manager" in value):
        return value
    management = managed(value)
    if not isinstance(value, str | Mapping):
        raise ValueError("must be a preset's name, or a mapping with its algorithm")
    return {"label": label_of(management), "manager": value}  # type: ignore[arg-type]


def _seeds(value: object) -> object:
    """A number of seeds, from 1 on, or the seeds themselves."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_SEEDS:
            raise ValueError(f"there may be 1 to {MOST_SEEDS} of them, not {value}")
        return tuple(range(1, value + 1))
    return as_tuple(value)


Manager = Annotated[Run, BeforeValidator(_run)]


class Flows(Model):
    """How many flows a group of the traffic has."""

    of: NodeName = Field(description="Name of the group.")
    counts: Annotated[tuple[int, ...], BeforeValidator(as_tuple)] = Field(
        description="Its numbers of flows."
    )

    @field_validator("counts")
    @classmethod
    def _each_once(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        return each_once(value)


class Axes(Model):
    """The axes that are varied: every value of an axis with every value of all others."""

    managers: Annotated[tuple[Manager, ...], BeforeValidator(as_tuple)] = Field(
        default=(),
        description="Queue managers: presets' names, mappings, or runs with a label; those of the "
        "experiment unless given.",
    )
    rates: Annotated[tuple[DataRate, ...], BeforeValidator(as_tuple)] = Field(
        default=(),
        description="Maximum Sustained Traffic Rates of the loaded service flow; Peak Traffic Rate "
        "and Maximum Traffic Burst keep their ratio to it.",
    )
    buffers: Annotated[tuple[Buffer, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Buffers, instead of the service flow's own."
    )
    round_trip_times: Annotated[tuple[Duration, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Round-trip times to every server."
    )
    flows: Flows | None = Field(default=None, description="Numbers of flows of a group.")

    @field_validator("rates", "buffers", "round_trip_times")
    @classmethod
    def _each_once(cls, value: tuple[object, ...]) -> tuple[object, ...]:
        return each_once(value)

    @field_validator("managers")
    @classmethod
    def _labels(cls, value: tuple[Run, ...]) -> tuple[Run, ...]:
        known: dict[tuple[str, str], str] = {}
        for index, run in enumerate(value):
            # Folders are named by one, tables and comparisons by the other.
            for told in (("folder", run.folder), ("name", run.name)):
                if told in known:
                    raise KeyedError(
                        f"{index}",
                        f'"{known[told]}" and "{run.label}" cannot be told apart; give one of '
                        "them as {label: ..., manager: ...}",
                    )
                known[told] = run.label
        if not value:
            raise ValueError("is empty; name one at least")
        return value


class Sweep(Model):
    """An experiment under many conditions, in virtual time."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="The file's name without .yaml.")
    title: str = Field(description="One line for people.")
    experiment: str = Field(description="File of the experiment, relative to this file.")
    ramp_up: Duration | None = Field(
        default=None, description="Traffic before the measured time, instead of the experiment's."
    )
    measured: Duration | None = Field(
        default=None, description="The measured time, instead of the experiment's."
    )
    axes: Axes
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = Field(
        description="How many, from 1 on, or a list of them."
    )
    limit: int = Field(
        default=DEFAULT_LIMIT,
        ge=1,
        le=MOST_RUNS,
        description=f"A sweep with more runs is refused; {DEFAULT_LIMIT} unless given, "
        f"{MOST_RUNS} at the most.",
    )

    @field_validator("seeds")
    @classmethod
    def _possible(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(value) > MOST_SEEDS:
            raise ValueError(f"there may be {MOST_SEEDS} of them, not {len(value)}")
        if wrong := [seed for seed in value if not 0 <= seed <= LARGEST_SEED]:
            raise ValueError(f"a seed is a number from 0 to 2^64-1, not {wrong[0]}")
        return each_once(value)


def each_once(value: tuple[_T, ...]) -> tuple[_T, ...]:
    """The values, if there are some and none is there twice.

    Raises:
        ValueError: There are none, or one is there twice.
    """
    if not value:
        raise ValueError("is empty; name one at least")
    if len(set(value)) < len(value):
        raise ValueError("has an entry twice")
    return value
