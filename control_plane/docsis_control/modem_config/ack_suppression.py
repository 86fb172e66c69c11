# SPDX-License-Identifier: Apache-2.0
"""ACK suppression of an upstream service flow, which DOCSIS leaves to vendors.

In a configuration file it is a Vendor Specific QoS Parameter (TLV 24.43): Vendor ID (type 8,
three bytes) first, then what the vendor defines. The testbed's Vendor ID is one that is given to
nobody: it is locally administered.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from docsis_control.modem_config.wire import Codec

VENDOR_ID: Final = bytes.fromhex("02d0c5")
"""The testbed's."""

_PREFIX: Final = bytes((8, len(VENDOR_ID))) + VENDOR_ID
_HEADER: Final = _PREFIX + bytes((1, 1))


class AckSuppression(StrEnum):
    """The TCP acknowledgements that a modem's queue drops, as later ones repeat them."""

    NONE = "none"
    """It keeps all."""
    ALWAYS = "always"
    """Paper 004's rule: a new one drops every queued one of its connection with a lower number."""
    SAFE = "safe"
    """A new one takes the place of the one before, where both tell a higher number and nothing
    else."""

    @property
    def code(self) -> int:
        """Its number in the configuration file, and in an AckSuppression of docsis.tm.v1."""
        return list(AckSuppression).index(self)


@dataclass(frozen=True)
class AckSuppressionCodec(Codec):
    """Vendor Specific QoS Parameters with the testbed's Vendor ID; others' are not taken."""

    @property
    def form(self) -> str:
        codes = ", ".join(f"{rule.code} {rule}" for rule in AckSuppression)
        return f"TLV 8: 3 bytes, 0x{VENDOR_ID.hex()}; TLV 1: 1 byte: {codes}"

    def takes(self, value: bytes) -> bool:
        return value.startswith(_PREFIX)

    def decode(self, value: bytes, scale: int) -> object:
        rules = list(AckSuppression)
        if not value.startswith(_HEADER) or len(value) != len(_HEADER) + 1:
            raise ValueError(
                f"of vendor 0x{VENDOR_ID.hex()} hold 0x{value.hex()}; they must hold TLV 8, the "
                "vendor, and TLV 1 of 1 byte, and nothing else"
            )
        if value[-1] >= len(rules):
            raise ValueError(
                f"of vendor 0x{VENDOR_ID.hex()} hold {value[-1]} in TLV 1; it must be one of "
                f"0 to {len(rules) - 1}"
            )
        return str(rules[value[-1]])

    def encode(self, value: AckSuppression, scale: int) -> bytes:
        return _HEADER + bytes((AckSuppression(value).code,))
