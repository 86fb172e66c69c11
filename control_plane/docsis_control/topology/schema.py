# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of topologies and tiers, for editors to complete and check."""

from typing import Any

from docsis_control.config.models import ServiceTier
from docsis_control.config.schema import DIALECT
from docsis_control.mac.profiles import NAMES, NONE
from docsis_control.ports import MOST_HOSTS
from docsis_control.topology.models import CableModem, Topology
from docsis_control.topology.neighbourhood import HOSTS_A_MODEM
from docsis_control.topology.upstream_channels import MOST_CHANNELS, UpstreamChannel


def json_schemas() -> dict[str, dict[str, Any]]:
    """The schemas by file kind: "topology" and "tier" (JSON Schema 2020-12)."""
    topology = Topology.model_json_schema()
    _as_written(topology)
    return {
        "topology": {"$schema": DIALECT, **topology},
        "tier": {"$schema": DIALECT, **ServiceTier.model_json_schema()},
    }


def _as_written(topology: dict[str, Any]) -> None:
    """A file names other files, and has short forms; a run's record has all in place."""
    modem = topology["$defs"][CableModem.__name__]
    for model, schema, keys in (
        (Topology, topology, ("tier", "service_classes")),
        (CableModem, modem, ("tier", "configuration")),
    ):
        for key in keys:
            schema["properties"][key] = {
                "anyOf": [{"type": "string"}, schema["properties"][key]["anyOf"][0]],
                "description": model.model_fields[key].description,
            }
    named = modem["properties"]["hosts"]
    number = {"type": "integer", "minimum": 1, "maximum": HOSTS_A_MODEM}
    modem["properties"]["hosts"] = {
        "anyOf": [named, number],
        "description": "Hosts behind it, or how many; one unless given.",
    }
    modem["properties"]["count"] = {
        **number,
        "maximum": MOST_HOSTS,
        "description": "As many modems, with numbers behind the name.",
    }
    modem["required"].remove("hosts")
    topology["properties"]["hosts"] = {
        **named,
        "description": "Instead of modems: the hosts behind one, named as the switch.",
    }
    topology["required"].remove("modems")
    channels_as_written(topology)


def channels_as_written(topology: dict[str, Any]) -> None:
    """A channel may be the name of its profile alone, and need not have a name.

    Args:
        topology: Schema of a model with `upstream_channels`, which is changed.
    """
    channel = topology["$defs"][UpstreamChannel.__name__]
    channel["required"].remove("name")
    written = {"$ref": f"#/$defs/{UpstreamChannel.__name__}"}
    properties = topology["properties"]
    properties["upstream_channel"] = {
        "anyOf": [{"enum": [NONE, *NAMES]}, written],
        "description": "The one upstream channel and its request/grant MAC; none unless given.",
    }
    properties["upstream_channels"] = {
        "type": "array",
        "items": {"anyOf": [{"enum": list(NAMES)}, written]},
        "minItems": 1,
        "maxItems": MOST_CHANNELS,
        "description": "Several upstream channels, over which the modems are spread.",
    }
