# SPDX-License-Identifier: Apache-2.0
"""What the summary.json of every experiment has in common; each has a schema of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jsonschema

from docsis_control.queue_managers.names import Preset
from docsis_testbed.errors import TestbedError

_DIGITS: Final = 6

SCHEMAS: Final[Mapping[str, str]] = {
    "latency": "summary.schema.json",
    "shares": "shares.schema.json",
    "figures": "figures.schema.json",
    "scenario": "scenario.schema.json",
}
"""Schema by experiment, which is a key of the summary; one without it is of the first. Keys that
came later are not required, so that the report of an older run can be written again."""

_TIMED: Final = ("latency", "shares", "scenario")
"""Experiments in real time."""


def experiment_of(summary: dict[str, Any]) -> str:
    """Which experiment a summary is of.

    Raises:
        TestbedError: it is of none that we know.
    """
    name = summary.get("experiment", "latency")
    if name not in SCHEMAS:
        raise TestbedError(
            f'summary.json: experiment: there is no "{name}"; there are {", ".join(SCHEMAS)}'
        )
    return str(name)


def schema(experiment: str) -> dict[str, Any]:
    """The JSON Schema of an experiment's summary.json."""
    file = resources.files("docsis_experiments.reports").joinpath(SCHEMAS[experiment])
    parsed: dict[str, Any] = json.loads(file.read_text())
    if experiment in _TIMED:
        # What they share stands once; so it does in the schema that is written for users.
        shared = resources.files("docsis_experiments.reports").joinpath("timing.schema.json")
        parsed["$defs"] |= json.loads(shared.read_text())["$defs"]
    if experiment == "latency":
        # The file does not repeat the names.
        parsed["$defs"]["run"]["properties"]["aqm"]["enum"] = [preset.value for preset in Preset]
    return parsed


def validate(summary: dict[str, Any]) -> None:
    """Refuse a summary that is not in the documented shape.

    Raises:
        TestbedError: naming the place.
    """
    try:
        jsonschema.validate(summary, schema(experiment_of(summary)))
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


def rounded(value: Any) -> Any:
    """Floats to a microsecond's and a bit's worth of digits, so that people can read them."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value
