# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of populations, for editors to complete and check."""

from __future__ import annotations

from typing import Any

from docsis_control.config.schema import DIALECT
from docsis_control.queue_managers import document as queue_managers
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.registry import ALGORITHMS
from docsis_control.topology.schema import channels_as_written
from docsis_experiments.populations.models import (
    MOST_NAMED,
    MOST_SHARE,
    Modem,
    ModemShare,
    Population,
    TierShare,
)


def json_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of a population's file."""
    schema = Population.model_json_schema()
    parts = schema["$defs"]
    parts |= queue_managers.json_schema()["$defs"]
    manager = parts[Modem.__name__]["properties"]["manager"]
    for key in ("oneOf", "discriminator"):
        manager.pop(key, None)
    manager["anyOf"] = [
        {"enum": [preset.value for preset in Preset]},
        *({"$ref": f"#/$defs/{model.__name__}"} for model in ALGORITHMS.values()),
    ]
    for model in (TierShare, ModemShare):
        parts[model.__name__]["properties"]["share"] |= {"minimum": 0, "maximum": MOST_SHARE}
    tier = parts[TierShare.__name__]["properties"]["tier"]
    whole = tier.pop("$ref", None)
    tier["anyOf"] = [{"type": "string"}, {"$ref": whole}]
    for key in ("tiers", "modems", "arms"):
        schema["properties"][key] |= {"minItems": 1, "maxItems": MOST_NAMED}
    channels_as_written(schema)
    schema["properties"]["upstream_channels"] |= {
        "maxItems": 1,
        "description": "The same as a list of one.",
    }
    return {"$schema": DIALECT, **schema}
