# SPDX-License-Identifier: Apache-2.0
"""The queue managers of 000, section 4, by the names that rules have, and its readings of PIE."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from docsis_control.queue_managers.document import changed, from_mapping
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS


class Manager(StrEnum):
    """A queue manager of section 4, and DOCSIS-PIE, which came of it."""

    BB = "drop-tail-250ms"
    """Bufferbloat."""
    BC = "drop-tail-50ms"
    """Buffer Control."""
    CD = "codel"
    """CoDel 20/150 ms."""
    CT = "codel-dt"
    """CoDel-DT 20/150 ms."""
    SC = "sfq-codel"
    """SFQ-CoDel 50/200 ms with 32 queues."""
    PIE = "pie"
    """PIE 15 ms, as the reading has it (K4)."""
    SP = "sfq-pie"
    """SFQ-PIE 45 ms with 32 queues."""
    DP = "docsis-pie"
    """DOCSIS-PIE 10 ms: shown, not judged."""


AQMS: Final = (Manager.CD, Manager.CT, Manager.SC, Manager.PIE, Manager.SP)
"""The queue managers that the catalogue calls AQMs."""

SINGLE: Final = (Manager.CD, Manager.PIE, Manager.CT)
"""AQMs with one queue."""

SEVEN: Final = (Manager.BB, Manager.BC, *AQMS)
"""The queue managers of the figures."""


class PieOf2014(StrEnum):
    """The PIE of 000's figures 1 to 6 (K4)."""

    FIRST = "docsis-pie-2014"
    """DOCSIS-PIE's law, de-randomisation and burst allowance; the delay by PIE's estimate of the
    departure rate."""
    RFC_8033 = "pie"
    DOCSIS = "docsis-pie"
    """All of DOCSIS-PIE, its token bucket's prediction included."""


TARGET_OF_PIE: Final = "15 ms"

_PIES: Final[dict[PieOf2014, dict[str, Any]]] = {
    PieOf2014.FIRST: {"algorithm": "docsis-pie-2014", "latency_target": TARGET_OF_PIE},
    PieOf2014.RFC_8033: {"algorithm": "pie", "target": TARGET_OF_PIE},
    PieOf2014.DOCSIS: {"algorithm": "docsis-pie", "latency_target": TARGET_OF_PIE},
}

_PRESETS: Final = {
    Manager.BB: Preset.DROP_TAIL_250MS,
    Manager.BC: Preset.BUFFER_CONTROL_50MS,
    Manager.CD: Preset.CODEL,
    Manager.CT: Preset.CODEL_DT,
    Manager.SC: Preset.SFQ_CODEL,
    Manager.SP: Preset.SFQ_PIE,
    Manager.DP: Preset.DOCSIS_PIE,
}


def managed(
    manager: Manager, seed: int, pie: PieOf2014 = PieOf2014.FIRST, queues: int | None = None
) -> QueueManagement:
    """A queue manager as a run has it.

    Flow queues get another hash with each seed, so that sessions fall as seeded (K10).

    Args:
        manager: Which.
        seed: The run's seed.
        pie: What PIE is.
        queues: The number of flow queues, instead of 32.
    """
    if manager is Manager.PIE:
        return from_mapping(_PIES[pie])
    preset = PRESETS[_PRESETS[manager]]
    if preset.flow_queues is None:
        return preset
    found = with_multiplier(preset, multiplier(seed))
    return found if queues is None else changed(found, {"flow_queues": {"queues": queues}})


def with_multiplier(management: QueueManagement, odd: int) -> QueueManagement:
    """The same with another hash of its flow queues.

    Args:
        management: Has flow queues.
        odd: Its multiplier.
    """
    return changed(management, {"flow_queues": {"multiplier": odd}})


def multiplier(seed: int) -> int:
    """The multiplier of the flow queues' hash: odd, and as if drawn anew with each seed.

    The finaliser of SplitMix64 (Steele, Lea and Flood 2014); what is near together in seeds must
    not be so in hashes, or sessions would meet in neighbouring seeds again.
    """
    mixed = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return (mixed ^ mixed >> 31) % 2**32 | 1
