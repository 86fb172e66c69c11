# SPDX-License-Identifier: Apache-2.0
"""The configuration file that a modem boots from: binary TLVs and YAML, both ways."""

from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.file import (
    Decoded,
    from_bytes,
    from_yaml,
    to_bytes,
    to_plain,
    to_yaml,
)
from docsis_control.modem_config.rules import Channel, Limits, Violation, check, check_channel

__all__ = [
    "Channel",
    "Decoded",
    "Limits",
    "ModemConfiguration",
    "Violation",
    "check",
    "check_channel",
    "from_bytes",
    "from_yaml",
    "to_bytes",
    "to_plain",
    "to_yaml",
]
