# SPDX-License-Identifier: Apache-2.0
"""The presets: the parameters of the papers and RFCs by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.registry import DESCRIBED

PRESETS: Final[Mapping[Preset, QueueManagement]] = MappingProxyType(
    {preset: described.management for preset, described in DESCRIBED.items()}
)
"""All presets by name."""


def resolve(choice: Preset | QueueManagement) -> QueueManagement:
    """Resolves a preset's name; any other management is returned as it is."""
    return PRESETS[choice] if isinstance(choice, Preset) else choice


def preset_of(management: QueueManagement) -> Preset | None:
    """The preset that it is, if it is one."""
    return next((preset for preset, known in PRESETS.items() if known == management), None)


def name_of(management: QueueManagement) -> str:
    """The name of a management: a preset's where it is one, else its algorithm's."""
    preset = preset_of(management)
    return management.algorithm if preset is None else preset.value
