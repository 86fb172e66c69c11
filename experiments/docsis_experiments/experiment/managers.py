# SPDX-License-Identifier: Apache-2.0
"""Queue managers as a scenario's file has them: a preset's name, or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import BufferLimit
from docsis_control.config.yaml_file import quoted
from docsis_control.queue_managers.document import changed, from_mapping
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS, name_of, preset_of
from docsis_control.queue_managers.registry import AnyManagement


def managed(value: object) -> object:
    """Reads a queue management from a file's value."""
    if isinstance(value, str):
        if value not in list(Preset):
            raise ValueError(
                f"there is no queue manager {quoted(value)}; there are {', '.join(Preset)}"
            )
        return PRESETS[Preset(value)]
    if isinstance(value, Mapping):
        return from_mapping({str(key): item for key, item in value.items()})
    return value


Manager = Annotated[AnyManagement, BeforeValidator(managed)]


def with_buffer(management: QueueManagement, buffer: BufferLimit | None) -> QueueManagement:
    """The same with another buffer; None leaves its own.

    Raises:
        KeyedError: The buffer is not possible.
    """
    return management if buffer is None else changed(management, {"buffer": str(buffer)})


def label_of(management: QueueManagement) -> str:
    """For tables and figures."""
    preset = preset_of(management)
    return management.algorithm if preset is None else preset.label


def name_of_run(label: str, preset: Preset | None) -> str:
    """A run's name for people: its label, with the preset's name as people know it.

    Args:
        label: Label of the run; a grid's has the buffer behind the queue manager.
        preset: The preset that its queue manager is, but for its buffer; None where it is none.
    """
    if preset is None or label.split(" ", maxsplit=1)[0] != preset.value:
        return label
    return ", ".join((preset.label, *label.split(" ", 1)[1:]))


@dataclass(frozen=True)
class Managed:
    """A queue manager of a run.

    Attributes:
        management: With the run's buffer.
        name: A preset's, or the algorithm's.
    """

    management: QueueManagement
    name: str

    @staticmethod
    def of(management: QueueManagement, buffer: BufferLimit | None) -> Managed:
        """A queue manager, and the buffer that replaces its own.

        Raises:
            KeyedError: The buffer is not possible.
        """
        try:
            return Managed(with_buffer(management, buffer), name_of(management))
        except KeyedError as error:
            raise KeyedError("buffer", str(error)) from None

    def as_written(self) -> dict[str, Any]:
        """The mapping that a file would hold."""
        return self.management.model_dump(mode="json", exclude_none=True)
