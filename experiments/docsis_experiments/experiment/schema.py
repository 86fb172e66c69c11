# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of scenarios, for editors to complete and check."""

from __future__ import annotations

from typing import Any

from docsis_control.config.schema import DIALECT
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.registry import ALGORITHMS
from docsis_experiments.experiment.models import Grid, Run, Scenario
from docsis_experiments.judging.expectations import Order, Ratio, Slope, Tolerance, Value
from docsis_experiments.traffic.kinds import KINDS


def json_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of a scenario's file."""
    schema = Scenario.model_json_schema()
    parts = schema["$defs"]
    for models, tag in (
        (tuple(KINDS.values()), "kind"),
        ((Value, Ratio, Slope, Order), "check"),
        (tuple(ALGORITHMS.values()), "algorithm"),
    ):
        for model in models:
            # Python has a default for it, a file must say it.
            part = parts[model.__name__]
            part["required"] = sorted({tag, *part.get("required", ())})
            del part["properties"][tag]["default"]
    presets = {"enum": [preset.value for preset in Preset]}
    run = parts[Run.__name__]["properties"]
    run["manager"] = {"anyOf": [presets, _union(run["manager"])], "description": _MANAGER}
    managers = parts[Grid.__name__]["properties"]["managers"]
    managers["items"] = {"anyOf": [presets, _union(managers["items"])]}
    number = {"type": "number"}
    for model in (Value, Ratio, Slope):
        properties = parts[model.__name__]["properties"]
        for key in ("published", "tolerance"):
            properties[key] = {"anyOf": [number, properties[key]]}
    assert Tolerance.__name__ in parts
    return {"$schema": DIALECT, **schema}


_MANAGER = "A preset's name, or a mapping with its algorithm."


def _union(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key in ("oneOf", "anyOf", "$ref")}
