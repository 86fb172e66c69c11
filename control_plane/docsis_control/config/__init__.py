# SPDX-License-Identifier: Apache-2.0
"""What the operator writes: topologies and service tiers in YAML, validated."""

from docsis_control.config.errors import ConfigError
from docsis_control.config.loader import load_tier, load_topology
from docsis_control.config.models import (
    Aqm,
    Device,
    Host,
    Server,
    ServiceFlowProfile,
    ServiceTier,
    Topology,
)
from docsis_control.config.schema import json_schemas
from docsis_control.config.units import (
    BufferLimit,
    parse_bytes,
    parse_duration,
    parse_rate,
)

__all__ = [
    "Aqm",
    "BufferLimit",
    "ConfigError",
    "Device",
    "Host",
    "Server",
    "ServiceFlowProfile",
    "ServiceTier",
    "Topology",
    "json_schemas",
    "load_tier",
    "load_topology",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
]
