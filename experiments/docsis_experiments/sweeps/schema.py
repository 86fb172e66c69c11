# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of sweeps, for editors to complete and check."""

from __future__ import annotations

from typing import Any

from docsis_control.config.schema import DIALECT
from docsis_control.queue_managers import document as queue_managers
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.registry import ALGORITHMS
from docsis_experiments.experiment.models import Run
from docsis_experiments.sweeps.models import LARGEST_SEED, MOST_SEEDS, Axes, Sweep


def json_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of a sweep's file."""
    schema = Sweep.model_json_schema()
    parts = schema["$defs"]
    parts |= queue_managers.json_schema()["$defs"]
    management = {
        "anyOf": [
            {"enum": [preset.value for preset in Preset]},
            *({"$ref": f"#/$defs/{model.__name__}"} for model in ALGORITHMS.values()),
        ]
    }
    parts[Run.__name__]["properties"]["manager"] |= management
    parts[Run.__name__]["properties"]["manager"].pop("oneOf", None)
    parts[Run.__name__]["properties"]["manager"].pop("discriminator", None)
    axes = parts[Axes.__name__]["properties"]
    axes["managers"]["items"] = {
        "anyOf": [*management["anyOf"], {"$ref": f"#/$defs/{Run.__name__}"}]
    }
    for name in ("managers", "rates", "buffers", "round_trip_times"):
        axes[name] |= {"minItems": 1, "uniqueItems": True}
        axes[name].pop("default", None)
    seed = {"type": "integer", "minimum": 0, "maximum": LARGEST_SEED}
    schema["properties"]["seeds"] = {
        "description": schema["properties"]["seeds"]["description"],
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS},
            {
                "type": "array",
                "items": seed,
                "minItems": 1,
                "maxItems": MOST_SEEDS,
                "uniqueItems": True,
            },
        ],
    }
    return {"$schema": DIALECT, **schema}
