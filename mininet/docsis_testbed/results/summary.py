# SPDX-License-Identifier: Apache-2.0
"""summary.json: the figures of a run, in the shape of summary.schema.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jsonschema

from docsis_testbed.errors import TestbedError
from docsis_testbed.experiment import Measurement
from docsis_testbed.measure import statistics, voice

_DIGITS: Final = 6


def schema() -> dict[str, Any]:
    """The JSON Schema of summary.json."""
    text = resources.files("docsis_testbed.results").joinpath("summary.schema.json").read_text()
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def validate(summary: dict[str, Any]) -> None:
    """Refuse a summary that is not in the documented shape.

    Raises:
        TestbedError: naming the place.
    """
    try:
        jsonschema.validate(summary, schema())
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top"
        raise TestbedError(f"summary.json: {place}: {error.message}") from None


def controller_figures(folder: Path) -> dict[str, Any]:
    """The controller's own record of its time keeping.

    Args:
        folder: Where it left stats.json.

    Raises:
        TestbedError: it left none.
    """
    path = folder / "stats.json"
    try:
        stats = json.loads(path.read_text())
        return {
            "updates": stats["updates"],
            "missed": stats["missed"],
            "lateness_ms": {key: stats["lateness_ms"][key] for key in ("p50", "p99", "max")},
        }
    except (OSError, json.JSONDecodeError, KeyError) as error:
        raise TestbedError(f"{path}: no statistics of the controller ({error!r})") from None


def run_figures(measurement: Measurement) -> dict[str, Any]:
    """One entry of `runs`."""
    loaded = measurement.probes.between(
        measurement.loaded.start_ns, measurement.loaded.end_ns
    )
    idle = measurement.probes.between(measurement.idle.start_ns, measurement.idle.end_ns)
    return {
        "aqm": measurement.aqm.value,
        "upstream": {
            "goodput_mbps": measurement.goodput.mbps(
                measurement.loaded.start_ns, measurement.loaded.end_ns
            ),
            "latency_ms": asdict(statistics.latency(loaded.delays)),
            "induced_latency_ms": asdict(statistics.induced(loaded.delays, idle.delays)),
            "loss_ratio": loaded.loss_ratio,
            "mos": voice.mos(loaded.delays, loaded.sent_ns.size),
        },
        "aqm_drops": measurement.counters["sf_drop_aqm"],
        "tail_drops": measurement.counters["sf_drop_buffer_full"],
        "controller": controller_figures(measurement.folder / "controller"),
    }


def summarise(
    measurements: list[Measurement],
    *,
    target: str,
    topology: str,
    tier: str,
    versions: dict[str, str],
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        measurements: In the order in which they ran.
        target: Name of the switch target.
        topology: Name of the topology.
        tier: Name of the service tier.
        versions: Version by program.
    """
    summary = {
        "target": target,
        "topology": topology,
        "tier": tier,
        "versions": versions,
        "runs": [run_figures(measurement) for measurement in measurements],
    }
    rounded: dict[str, Any] = _rounded(summary)
    validate(rounded)
    return rounded


def _rounded(value: Any) -> Any:
    """Floats to a microsecond's and a bit's worth of digits, so that people can read them."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
