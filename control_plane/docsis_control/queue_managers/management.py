# SPDX-License-Identifier: Apache-2.0
"""A service flow's queue management: its queue manager, parameters and flow queues.

Durations are nanoseconds and sizes bytes once parsed; in YAML both have their units. Probabilities,
shares and weights are numbers without a unit, exact as they are written: `fractions` of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import MAX_BUFFER, MAX_FRAME, KeyedError, Model
from docsis_control.config.units import Buffer, BufferLimit, format_bytes
from docsis_control.queue_managers.bounds import time
from docsis_control.queue_managers.flow_queues import FlowQueues
from docsis_control.queue_managers.names import QueueManager

if TYPE_CHECKING:
    from docsis_control.law.law import Law
    from docsis_control.plan import ServiceFlow
    from docsis_control.tables import TableEntry

Colour = Literal["vermilion", "blue", "green", "purple", "orange", "sky", "black", "grey"]
"""Colours of lines in figures, which the colour-blind can tell apart."""

Line = Literal["-", "--", "-.", ":"]
"""Styles of lines in figures, as Matplotlib writes them."""


class QueueManagement(Model):
    """A queue manager with its parameters; hashable, and equal to another that does the same.

    Each manager is a subclass in a module of `managers`, which says all that the controller knows
    of it: its parameters and their bounds, what the pipeline gets of them, and its law if it has
    one.
    """

    title: ClassVar[str]
    """Its name and source, as the P4 contract has them."""

    decides: ClassVar[str]
    """Its place in the pipeline, and the P4 file that decides; Markdown."""

    state: ClassVar[str]
    """Its registers, tables and law; Markdown."""

    without_flow_queues: ClassVar[str] = ""
    """The reason why it cannot have flow queues; "" where it can."""

    controlled: ClassVar[bool] = False
    """Whether a periodic law of the controller's sets its drop probability."""

    algorithm: str = ""
    buffer: Buffer | None = Field(
        default=None,
        description="Queue limit: a size, or a time at the sustained rate; unless given, "
        "the service flow's own.",
    )
    flow_queues: FlowQueues | None = Field(
        default=None, description="Queues for the sessions within the service flow; else one."
    )

    @field_validator("buffer")
    @classmethod
    def _holds_a_frame(cls, value: BufferLimit | None) -> BufferLimit | None:
        if value is None:
            return None
        if value.size is None:
            assert value.time is not None
            time(value.time, "a buffer in time")
        elif not MAX_FRAME <= value.size <= MAX_BUFFER:
            raise ValueError(
                f"a buffer must be from {MAX_FRAME} B, the largest frame, to {MAX_BUFFER} B, "
                f"not {format_bytes(value.size)}"
            )
        return value

    @model_validator(mode="after")
    def _goes_with_flow_queues(self) -> Self:
        if self.flow_queues is not None and self.without_flow_queues:
            raise KeyedError(
                "flow_queues", f"do not go with {self.algorithm}: {self.without_flow_queues}"
            )
        return self

    @property
    def queue_manager(self) -> QueueManager:
        """Its number in the pipeline."""
        return QueueManager[self.algorithm.upper().replace("-", "_")]

    @property
    def parameters(self) -> dict[str, Any]:
        """The algorithm's own parameters, as they are written in YAML."""
        return self.model_dump(
            mode="json", exclude={"algorithm", "buffer", "flow_queues"}, exclude_none=True
        )

    def pipeline_target(self) -> int | None:
        """Nanoseconds for `latency_target` of the service flow's entry; None is the flow's own."""
        return None

    def latency_target_of(self, flow: "ServiceFlow") -> int | None:
        """The latency target that it goes by with a service flow, microseconds; None without one.

        Not every manager goes by one; a share of the buffer, or a curve, is none.
        """
        del flow
        return None

    def entries(self, flow: "ServiceFlow") -> "Iterator[TableEntry]":
        """Yields the entries of its own tables for a service flow under it; most have none."""
        yield from ()

    @classmethod
    def lasting(cls) -> "Iterator[TableEntry]":
        """Yields the entries that its tables have as long as a device runs."""
        yield from ()

    def measured_as(self, buffer_size: int) -> "MeasuredAs":
        """How `docsis-switch bench` provisions it: with its own parameters unless a manager says
        otherwise.

        A queue that stands at a few frames must go through all of its code and hardly ever lose a
        frame. Entries of `lasting` are not there.

        Args:
            buffer_size: Bytes of the service flow's buffer.
        """
        del buffer_size
        return MeasuredAs(self)

    def law(self, granted: bool) -> "type[Law] | None":
        """The controller's law for a service flow under it; None where nobody needs one.

        Args:
            granted: Whether grants of an upstream channel let the flow's frames go.
        """
        del granted
        return None


@dataclass(frozen=True)
class MeasuredAs:
    """How a benchmark provisions a queue manager.

    Attributes:
        management: It with the parameters that it is measured with.
        registers: The value of its service flow's cell in some registers, by their names.
    """

    management: QueueManagement
    registers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Described:
    """A preset: a management that has a name, and how it is told and drawn.

    Attributes:
        management: The management.
        label: Name in tables and figures, with the parameters that distinguish similar presets.
        colour: Colour of its lines in figures.
        line: Style of its lines; no other preset has the same colour and style.
        what: Its description in the documentation's table.
        parameters: Its parameters in that table.
        source: Source of the parameters in that table.
    """

    management: QueueManagement
    label: str
    colour: Colour
    line: Line
    what: str
    parameters: str
    source: str


def as_written(management: QueueManagement) -> dict[str, Any]:
    """The mapping that a YAML file holds: plain values, with their units."""
    return management.model_dump(mode="json", exclude_none=True)
