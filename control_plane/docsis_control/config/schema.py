# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of the configuration files, for editors to complete and check."""

from typing import Any, Final

from docsis_control.config.models import ServiceTier, Topology

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""What the schemas are written in."""


def json_schemas() -> dict[str, dict[str, Any]]:
    """The schemas by file kind: "topology" and "tier" (JSON Schema 2020-12)."""
    tier = ServiceTier.model_json_schema()
    topology = Topology.model_json_schema()
    # In the file, a topology names its tier; a run's record contains it.
    topology["properties"]["tier"] = {
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/ServiceTier"}],
        "description": Topology.model_fields["tier"].description,
    }
    return {
        "topology": {"$schema": DIALECT, **topology},
        "tier": {"$schema": DIALECT, **tier},
    }
