# SPDX-License-Identifier: Apache-2.0
"""The presets: the parameters of the papers and RFCs by their names."""

from collections.abc import Mapping
from typing import Any, Final

from docsis_control.queue_managers.models import ADAPTER, QueueManagement
from docsis_control.queue_managers.names import Preset


def _of(algorithm: str, **values: Any) -> QueueManagement:
    """As a YAML file says it."""
    return ADAPTER.validate_python({"algorithm": algorithm, **values})


PRESETS: Final[Mapping[Preset, QueueManagement]] = {
    Preset.DROP_TAIL: _of("drop-tail"),
    # 000, section 4.1.
    Preset.DROP_TAIL_250MS: _of("drop-tail", buffer="250 ms"),
    Preset.BUFFER_CONTROL_50MS: _of("drop-tail", buffer="50 ms"),
    # RFC 8034.
    Preset.DOCSIS_PIE: _of("docsis-pie"),
    # 000, appendix A.
    Preset.DOCSIS_PIE_RATE_TRACKING: _of("docsis-pie", rate_tracking=True),
    # 000, sections 4.5 and 6.
    Preset.DOCSIS_PIE_2014: _of("docsis-pie-2014", latency_target="15 ms"),
    # RFC 8033, section 5.1; the controller's interval is 16 ms, as 002 has it.
    Preset.PIE: _of(
        "pie",
        target="15 ms",
        update_interval="16 ms",
        max_burst="150 ms",
        alpha=0.125,
        beta=1.25,
    ),
    # 002, appendix. It does not say how many packets a measurement of the departure rate has.
    Preset.PIE_002: _of(
        "pie-002",
        target="15 ms",
        update_interval="16 ms",
        max_burst="142 ms",
        alpha=0.25,
        beta=2.5,
        dq_threshold=16,
    ),
    # 002, appendix.
    Preset.ADAPTIVE_RED: _of(
        "adaptive-red",
        min_threshold=0.05,
        max_threshold=0.5,
        weight=0.002,
        initial_max_probability=0.1,
        update_interval="500 ms",
        decrease=0.9,
    ),
    # 000, sections 4.2 and 4.3.
    Preset.CODEL: _of("codel", target="20 ms", interval="150 ms"),
    Preset.CODEL_DT: _of("codel-dt", target="20 ms", interval="150 ms"),
    # 002, appendix.
    Preset.CODEL_002: _of("codel-002", target="20 ms", interval="100 ms"),
    # 001, figure 11; by depth, the same wait at the 5 Mbps of its service flow.
    Preset.LRED: _of(
        "lred",
        min_threshold="200 ms",
        max_threshold="400 ms",
        min_probability=0.01,
        max_probability=0.05,
    ),
    Preset.LRED_DEPTH: _of(
        "lred",
        min_threshold="125 KB",
        max_threshold="250 KB",
        min_probability=0.01,
        max_probability=0.05,
    ),
    # 002: as many queues as its DRR has, and a part of the buffer each.
    Preset.DRR: _of("drop-tail", flow_queues={"queues": 16, "divided": True}),
    # 001, figures 5 and 9.
    Preset.SFQ: _of("drop-tail", flow_queues={"queues": 256}),
    Preset.SFQ_SEARCH: _of("drop-tail", flow_queues={"queues": 256, "search": True}),
    # 000, sections 4.4 and 4.6.
    Preset.SFQ_CODEL: _of("codel", target="50 ms", interval="200 ms", flow_queues={"queues": 32}),
    Preset.SFQ_PIE: _of("pie", target="45 ms", flow_queues={"queues": 32}),
    # 001, figure 14.
    Preset.SFQ_LRED: _of(
        "lred",
        min_threshold="700 ms",
        max_threshold="1400 ms",
        min_probability=0.01,
        max_probability=0.05,
        flow_queues={"queues": 256, "search": True},
    ),
}
"""By name; all of them."""


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
