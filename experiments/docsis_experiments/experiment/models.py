# SPDX-License-Identifier: Apache-2.0
"""A scenario: its runs, the traffic of each, and what it is held against."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.units import (
    Buffer,
    BufferLimit,
    Duration,
    format_duration,
    parse_duration,
)
from docsis_control.modem_config.provisioned import Direction
from docsis_control.queue_managers.presets import name_of, preset_of
from docsis_experiments.experiment.channel import Channel
from docsis_experiments.experiment.managers import Managed, Manager, name_of_run
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.experiment.tcp import Tcp
from docsis_experiments.judging.expectations import Expectation, Ratio
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.measurement.trace import IN_IDLE_TIME, Trace
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.kinds import AnyGroup, kinds_that_leave
from docsis_experiments.traffic.senders import MOST_FLOWS, MOST_USERS, TcpDownloads, TimedPages

LONGEST: Final = 3_600_000_000_000
"""Nanoseconds of an idle time, a ramp-up or a measured time."""

AUTO: Final = "auto"
"""A ramp-up that follows from the topology and the transfers: see `experiment.ramp_up`."""


def _parse_ramp_up(value: object) -> object:
    if value == AUTO:
        return value
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; or {AUTO}") from None


def _format_ramp_up(value: int | str) -> str:
    return value if isinstance(value, str) else format_duration(value)


_DURATION_SCHEMA: Final[dict[str, Any]] = TypeAdapter(Duration).json_schema()

RampUp = Annotated[
    int | Literal["auto"],
    BeforeValidator(_parse_ramp_up),
    PlainSerializer(_format_ramp_up, return_type=str),
    WithJsonSchema({"anyOf": [{"const": AUTO}, _DURATION_SCHEMA]}),
]
"""Nanoseconds or "auto" in Python, "8 s" or "auto" in YAML."""


class Source(Model):
    """The publication that has the figures."""

    paper: str = Field(description="Title, authors, year.")
    section: str = Field(default="", description="Section of the paper.")
    figure: str = Field(default="", description="Figure or table of the paper.")


class Run(Model):
    """One queue manager under the scenario's traffic."""

    label: str = Field(min_length=1, max_length=40, description="What it is called.")
    manager: Manager = Field(description="A preset's name, or a mapping with its algorithm.")
    buffer: Buffer | None = Field(
        default=None, description="Instead of the queue manager's own buffer."
    )
    direction: Direction | None = Field(
        default=None, description="Which way the traffic of this run goes, instead of all others'."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        Managed.of(self.manager, self.buffer)
        return self

    @field_validator("label")
    @classmethod
    def _names_a_folder(cls, value: str) -> str:
        if not slug(value):
            raise ValueError(f'"{value}" has no letter or digit from which its folder has a name')
        return value

    @property
    def managed(self) -> Managed:
        """The queue manager with the run's buffer."""
        return Managed.of(self.manager, self.buffer)

    @property
    def name(self) -> str:
        """For people: see `name_of_run`."""
        return name_of_run(self.label, preset_of(self.manager))

    @property
    def folder(self) -> str:
        """Name of the folder that its files are in."""
        return slug(self.label)


def slug(label: str) -> str:
    """A label as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


class Grid(Model):
    """Each queue manager with each buffer."""

    managers: Annotated[tuple[Manager, ...], BeforeValidator(as_tuple)]
    buffers: Annotated[tuple[Buffer, ...], BeforeValidator(as_tuple)]

    @field_validator("managers", "buffers")
    @classmethod
    def _some(cls, value: tuple[object, ...]) -> tuple[object, ...]:
        if not value:
            raise ValueError("is empty; name one at least")
        if len(set(value)) < len(value):
            raise ValueError("has an entry twice")
        return value

    def runs(self) -> list[Run]:
        """Its runs, labelled "manager buffer"."""
        return [
            Run(label=grid_label(name_of(manager), buffer), manager=manager, buffer=buffer)
            for manager in self.managers
            for buffer in self.buffers
        ]


def grid_label(manager: str, buffer: BufferLimit) -> str:
    """Label of a grid's run."""
    return f"{manager} {buffer}"


def check_groups(groups: Sequence[Group], key: str = "") -> None:
    """Checks that groups and flows can be told apart, and that there are not too many.

    Args:
        groups: Groups of the traffic.
        key: The key that they have in the file, for errors.

    Raises:
        KeyedError: Two have the same name, or there are too many.
    """
    seen: set[str] = set()
    flows = users = 0
    for index, group in enumerate(groups):
        place = f"{key}.{index}" if key else str(index)
        # Groups and flows are told apart by their names alone.
        names = {group.name, *group.flow_names}
        if twice := sorted(names & seen):
            raise KeyedError(f"{place}.name", f"{twice[0]}: another group or flow has it")
        seen |= names
        asking = issubclass(group.senders[0], TimedPages | TcpDownloads)
        flows += 0 if asking else len(group.flow_names)
        users += len(group.flow_names) if asking else 0
        for count, what, most in ((flows, "flows", MOST_FLOWS), (users, "users", MOST_USERS)):
            if count > most:
                raise KeyedError(
                    f"{place}.count",
                    f"makes {count} {what} with the groups before it; there may be {most}",
                )


def _some_groups(value: tuple[Group, ...]) -> tuple[Group, ...]:
    if not value:
        raise ValueError("is empty; name one group at least")
    check_groups(value)
    return value


Traffic = Annotated[tuple[AnyGroup, ...], BeforeValidator(as_tuple), AfterValidator(_some_groups)]
"""The `traffic` of a file: one group or more, told apart by their names."""


class Scenario(Model):
    """Queue managers under traffic, and what is published of them."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="The file's name without .yaml.")
    title: str = Field(description="One line for people.")
    source: Source | None = Field(
        default=None, description="Where what is published of it stands, if anything is."
    )
    scale: str = Field(
        default="", description="What is smaller or shorter than in the source, and why."
    )
    topology: str = Field(description="Topology file, relative to this file.")
    tier: str | None = Field(
        default=None, description="Service tier instead of the topology's, by its name."
    )
    direction: Direction = Field(description="Which way the traffic goes.")
    idle: Duration = Field(
        default=0,
        description="Calls and requests alone before the ramp-up, so that the latency that other "
        "traffic induces can be told; none unless given.",
    )
    ramp_up: RampUp = Field(
        description="Traffic before the measured time; auto is as long as the bucket's burst and "
        "CUBIC need."
    )
    measured: Duration = Field(description="The measured time.")
    runs: Annotated[tuple[Run, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="One after the other, each from an empty machine."
    )
    grid: Grid | None = Field(default=None, description="Instead of runs, or beside them.")
    traffic: Traffic
    tcp: Tcp = Field(default_factory=Tcp, description="How TCP works; as Linux's unless given.")
    channel: Channel | None = Field(
        default=None, description="RF congestion during the measured time."
    )
    every_packet: bool = Field(
        default=False,
        description="Whether every packet is looked at; above 1,000 a second it is a sample unless "
        "given.",
    )
    expectations: Annotated[tuple[Expectation, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Published values and tolerances."
    )

    @field_validator("idle", "ramp_up", "measured")
    @classmethod
    def _bounded(cls, value: int | str) -> int | str:
        if isinstance(value, int) and value > LONGEST:
            raise ValueError("must be an hour at most")
        return value

    @field_validator("measured")
    @classmethod
    def _long_enough(cls, value: int) -> int:
        if value < 1_000_000_000:
            raise ValueError("must be 1 s at least")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.all_runs:
            raise KeyedError("runs", "is missing, and so is a grid; give one of them")
        labels = [run.label for run in self.all_runs]
        if twice := next((label for label in labels if labels.count(label) > 1), None):
            raise KeyedError("runs", f'two runs are called "{twice}"')
        folders = [run.folder for run in self.all_runs]
        if twice := next((name for name in folders if folders.count(name) > 1), None):
            both = [run.label for run in self.all_runs if run.folder == twice]
            raise KeyedError("runs", f'"{both[0]}" and "{both[1]}" are the same folder, "{twice}"')
        for manager in map(name_of, self.grid.managers if self.grid else ()):
            if manager in (run.label for run in self.runs):
                raise KeyedError(
                    "runs",
                    f'"{manager}" is a queue manager of the grid; give the run another label',
                )
        if self.idle and not any(IN_IDLE_TIME & group.leaves() for group in self.traffic):
            kinds = kinds_that_leave(*IN_IDLE_TIME)
            raise KeyedError("idle", f"needs a group of the kind {kinds}: all else begins after it")
        loading = [i for i, g in enumerate(self.traffic) if Trace.SHARES in g.leaves()]
        if len(loading) > 1:
            raise KeyedError(
                f"traffic.{loading[1]}.kind",
                f"{self.traffic[loading[0]].name} is in every service flow already; leave one out",
            )
        for index, group in enumerate(self.traffic):
            if (group.start or 0) >= self.measured:
                raise KeyedError(f"traffic.{index}.start", "is after the measured time")
        for index, expectation in enumerate(self.expectations):
            self._known(f"expectations.{index}.quantity", expectation.quantity)
            if isinstance(expectation, Ratio):
                self._known(f"expectations.{index}.over", expectation.over)
            for place, name in enumerate(expectation.runs):
                if not self.labels(name):
                    raise KeyedError(
                        f"expectations.{index}.runs.{place}",
                        f'there is no run "{name}"; there are {", ".join(self.groups_of_runs)}',
                    )
        return self

    def _known(self, key: str, quantity: Quantity) -> None:
        groups = {group.name: group for group in self.traffic}
        metric = quantity.measures
        for place, name in enumerate(quantity.of):
            if name not in groups:
                raise KeyedError(
                    f"{key}.of.{place}",
                    f'there is no traffic "{name}"; there are {", ".join(groups)}',
                )
            if metric.needs not in groups[name].leaves():
                raise KeyedError(
                    f"{key}.metric",
                    f"{metric.name} is told of the kind {kinds_that_leave(metric.needs)}; "
                    f"{name} is none",
                )
        if metric.needs_idle and not self.idle:
            raise KeyedError(f"{key}.metric", f"{metric.name} needs an idle time")
        if metric.whole_run and quantity.during is not None:
            raise KeyedError(f"{key}.during", f"{metric.name} is of the whole run; leave it out")
        if quantity.during is not None and quantity.during.end > self.measured:
            raise KeyedError(f"{key}.during.end", "is after the measured time")

    def played(self, run: Run) -> Scenario:
        """The same as one of its runs plays it: its traffic goes that run's way."""
        if run.direction is None:
            return self
        return self.model_copy(update={"direction": run.direction})

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Those of its runs, each once."""
        return tuple(dict.fromkeys(run.direction or self.direction for run in self.all_runs))

    @property
    def ramp_up_seconds(self) -> float:
        """The ramp-up, once it is resolved."""
        assert isinstance(self.ramp_up, int), "resolved with the topology"
        return self.ramp_up / 1e9

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """Those named, and the grid's."""
        return (*self.runs, *(self.grid.runs() if self.grid else ()))

    @property
    def groups_of_runs(self) -> Mapping[str, tuple[str, ...]]:
        """Labels of runs by what an expectation may call them: theirs, or a grid's manager."""
        groups: dict[str, tuple[str, ...]] = {run.label: (run.label,) for run in self.all_runs}
        if self.grid is not None:
            for manager in self.grid.managers:
                name = name_of(manager)
                groups[name] = tuple(grid_label(name, buffer) for buffer in self.grid.buffers)
        return groups

    def labels(self, name: str) -> tuple[str, ...]:
        """Labels of the runs that an expectation names; none where there is no such run."""
        return self.groups_of_runs.get(name, ())
