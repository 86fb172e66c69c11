# SPDX-License-Identifier: Apache-2.0
"""The operator's YAML, validated: service tiers, and what every file has in common."""

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import Aqm, ServiceFlowProfile, ServiceTier
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
    "ServiceFlowProfile",
    "ServiceTier",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
]
