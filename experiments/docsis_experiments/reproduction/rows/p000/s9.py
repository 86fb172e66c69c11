# SPDX-License-Identifier: Apache-2.0
"""Section 9: what an operator can set, what is the default, and what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provision import provision
from docsis_control.modem_config.provisioned import ServiceFlow
from docsis_control.modem_config.rules import Channel
from docsis_control.state.counters import SERVICE_FLOW_COUNTERS
from docsis_experiments.reproduction.row import Asked, Exact, Measured, Results, Row

RATE: Final = 200_000_000
TARGET_MS: Final = 33
_CHANNEL: Final = Channel(upstream=1_000_000_000, downstream=1_000_000_000)


def provisioned(whole: Mapping[str, Any], aqm: Mapping[str, Any]) -> ServiceFlow:
    """The upstream service flow of a modem whose configuration file says so.

    Args:
        whole: Keys of the file.
        aqm: The upstream service flow's AQM encodings.
    """
    flow = {"qos_parameter_set_type": 7, "maximum_sustained_traffic_rate": f"{RATE} bps"}
    upstream = {**flow, "service_flow_reference": 1, **({"aqm": dict(aqm)} if aqm else {})}
    configuration = ModemConfiguration.model_validate(
        {
            **whole,
            "upstream_service_flows": [upstream],
            "downstream_service_flows": [{**flow, "service_flow_reference": 2}],
        }
    )
    return provision(configuration, _CHANNEL).service_flows[0]


def options() -> list[str]:
    """Those of the three options that do what they are for."""
    default = provisioned({}, {})
    checks = {
        "upstream_aqm_disable": not provisioned({"upstream_aqm_disable": True}, {}).aqm_enabled,
        "disable": not provisioned({}, {"disable": True}).aqm_enabled,
        "latency_target": provisioned({}, {"latency_target": f"{TARGET_MS} ms"}).latency_target
        == TARGET_MS * 1_000_000,
    }
    assert default.aqm_enabled, "an AQM runs where nobody disables it"
    assert default.latency_target != TARGET_MS * 1_000_000, "the option changes something"
    return [name for name, works in checks.items() if works]


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked, results
    default = provisioned({}, {})
    counters = [name for name in SERVICE_FLOW_COUNTERS if name.endswith("_drop_aqm")]
    return {
        "default buffer": Exact(8e3 * default.buffer_size / RATE),
        "options": Exact(float(len(options()))),
        "drop counters": Exact(float(len(counters))),
    }


ROWS: Final = (Row("000-S9", lambda asked: (), _parts),)
