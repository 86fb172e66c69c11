# SPDX-License-Identifier: Apache-2.0
"""The tests nearest to a file, which run first: a mutant is mostly caught there, in seconds."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

PTF: Final = {
    "adaptive_red": "adaptive_red",
    "bridge": "forwarding cmts",
    "classifier": "classifier_rules classifier_fields cmts",
    "codel": "codel codel_dt flow_queues",
    "codel_002": "codel_002",
    "control_law": "failsafe early_drop",
    "controller_io": "controller_io",
    "counters": "balance forwarding cmts",
    "departure_rate": "pie codel_dt",
    "docsis_pie": "early_drop aqm_states",
    "egress": "aqm_states balance tos_overwrite codel codel_002 resynchronize",
    "flow_queue": "flow_queues",
    "headers": "forwarding classifier_headers tos_overwrite",
    "ingress": "buffer_limit balance forwarding flow_queues",
    "lred": "lred",
    "parser": "classifier_headers classifier_fields forwarding",
    "pie": "pie",
    "pie_002": "pie_002",
    "pipeline": "forwarding",
    "queue_managers": "early_drop pie pie_002 adaptive_red lred codel_dt codel_002",
    "ramp": "adaptive_red lred",
    "reciprocal": "pie_002",
    "requests": "aqm_states",
    "resynchronize": "resynchronize balance",
    "service_flow": "buffer_limit forwarding classifier_rules",
    "sizes": "cmts",
    "token_bucket": "shaping",
    "tos_overwrite": "tos_overwrite",
    "types": "forwarding buffer_limit codel",
}
"""Modules of the PTF suite, by the P4 file below p4src/include."""

WITH_CMTS: Final = frozenset({"generated_classifiers", "tos_overwrite"})
"""Modules with tests of the CMTS's program among others; the module `cmts` has nothing else."""

LAWS: Final = {
    "adaptive_red": "adaptive_red",
    "docsis_pie": "docsis_pie",
    "docsis_pie_law": "docsis_pie docsis_pie_2014 rate_tracking device_law",
    "fixed_point": "docsis_pie device_law",
    "handshake": "docsis_pie device_law",
    "inverse_square_root": "inverse_square_root",
    "law": "device_law docsis_pie",
    "missed": "missed_ticks",
    "pie": "pie",
    "pie_002": "pie_002",
    "rate_tracking": "rate_tracking rate_tracking_of_grants",
    "readings": "docsis_pie device_law",
    "schedule": "pie pie_002 law_intervals",
    "service_flows": "device_law missed_ticks docsis_pie",
    "states": "device_law",
}
"""Files control_plane/tests/test_NAME.py, by the file of the laws."""

ALL_OF_THE_LAWS: Final = (
    *("adaptive_red", "device_law", "docsis_pie", "docsis_pie_2014", "inverse_square_root"),
    *("law_intervals", "missed_ticks", "pie", "pie_002", "queue_managers", "rate_tracking"),
    *("rate_tracking_of_grants", "register_cells", "running", "state_access"),
)
"""Files control_plane/tests/test_NAME.py that run a law.

test_law_bits is not among them: it compares with what the laws decided once, so it catches every
change whatever it does, and says nothing about what is right. Neither are tests that have a clock,
such as the controller's, because a busy machine would fail them.
"""

VIRTUAL_TIME: Final = (
    *("virtual_channels", "virtual_control", "virtual_demo", "virtual_granted"),
    *("virtual_scenario", "rows_p000_alone"),
)
"""Files experiments/tests/test_NAME.py that run the whole system in virtual time."""

SHAPING: Final = "shaping packet_rate sharing flow_queues buffer_limit balance"
"""Modules of the PTF suite that look at what the traffic manager does."""


def ptf_modules(file: str) -> list[str]:
    """The modules of the PTF suite nearest to a P4 file; forwarding for one that is not known."""
    return PTF.get(PurePosixPath(file).stem, "forwarding").split()


def law_tests(file: str) -> list[str]:
    """The tests nearest to a file of the laws, as paths from the root."""
    names = LAWS.get(PurePosixPath(file).stem, "device_law").split()
    return [f"control_plane/tests/test_{name}.py" for name in names]
