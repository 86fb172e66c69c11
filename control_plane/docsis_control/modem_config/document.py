# SPDX-License-Identifier: Apache-2.0
"""The configuration file of a modem, as an operator writes it (MULPI, annex C.1)."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import Duration, Frequency
from docsis_control.config.yaml_file import Location
from docsis_control.modem_config.aggregate import UNQUOTED, Aggregate
from docsis_control.modem_config.classifiers import Classifier
from docsis_control.modem_config.fields import Byte, Ipv4, Ipv6, Number16, Number32
from docsis_control.modem_config.service_flows import (
    MS,
    DownstreamServiceFlow,
    UpstreamServiceFlow,
)
from docsis_control.modem_config.tlv import (
    CM_MIC,
    CMTS_MIC,
    END_OF_DATA,
    MIC_LENGTH,
    MTA_DELIMITER,
    NOT_A_MODEM,
    PAD,
)
from docsis_control.modem_config.wire import Address, Flag, Hertz, Time, Unsigned, Wire

AUTO: Final = "auto"
"""A MIC that is worked out when the file is written."""

NONE: Final = "none"
"""No MIC."""

_MIC: Final = re.compile(r"0x[0-9a-f]{32}", re.ASCII)


def _mic(value: object) -> str:
    if isinstance(value, str) and (value in (AUTO, NONE) or _MIC.fullmatch(value.lower())):
        return value.lower()
    if isinstance(value, int):
        raise ValueError(UNQUOTED)
    raise ValueError(f'"{value}" is not a MIC; write auto, none, or 0x and 32 hexadecimal digits')


Mic = Annotated[
    str,
    BeforeValidator(_mic),
    WithJsonSchema({"type": "string", "pattern": "^(auto|none|0x[0-9A-Fa-f]{32})$"}),
]


def _digest(mic: str) -> bytes:
    return bytes(MIC_LENGTH) if mic == AUTO else bytes.fromhex(mic[2:])


class ModemConfiguration(Aggregate):
    """A modem's configuration file: service flows, classifiers and what else it boots with."""

    downstream_frequency: Annotated[
        Annotated[Frequency, Field(le=0xFFFFFFFF)] | None, Wire(1, "Downstream Frequency", Hertz())
    ] = None
    upstream_channel_id: Annotated[Byte | None, Wire(2, "Upstream Channel ID", Unsigned(1))] = None
    network_access: Annotated[bool | None, Wire(3, "Network Access Control", Flag())] = None
    maximum_number_of_cpes: Annotated[
        Annotated[int, Field(ge=1, le=254)] | None, Wire(18, "Maximum Number of CPEs", Unsigned(1))
    ] = None
    tftp_server_timestamp: Annotated[
        Number32 | None, Wire(19, "TFTP Server Timestamp", Unsigned(4))
    ] = None
    provisioned_modem_ipv4_address: Annotated[
        Ipv4 | None, Wire(20, "TFTP Server Provisioned Modem IPv4 Address", Address(4))
    ] = None
    upstream_classifiers: Annotated[
        tuple[Classifier, ...], Field(strict=False), Wire(22, "Upstream Packet Classification")
    ] = ()
    downstream_classifiers: Annotated[
        tuple[Classifier, ...], Field(strict=False), Wire(23, "Downstream Packet Classification")
    ] = ()
    upstream_service_flows: Annotated[
        tuple[UpstreamServiceFlow, ...], Field(strict=False), Wire(24, "Upstream Service Flow")
    ] = ()
    downstream_service_flows: Annotated[
        tuple[DownstreamServiceFlow, ...], Field(strict=False), Wire(25, "Downstream Service Flow")
    ] = ()
    maximum_number_of_classifiers: Annotated[
        Number16 | None, Wire(28, "Maximum Number of Classifiers", Unsigned(2))
    ] = None
    privacy_enable: Annotated[bool | None, Wire(29, "Privacy Enable", Flag())] = None
    provisioned_modem_ipv6_address: Annotated[
        Ipv6 | None, Wire(59, "TFTP Server Provisioned Modem IPv6 Address", Address(6))
    ] = None
    default_upstream_target_buffer: Annotated[
        Duration | None, Wire(68, "Default Upstream Target Buffer", Time(2, MS))
    ] = None
    upstream_aqm_disable: Annotated[bool | None, Wire(76, "CM Upstream AQM Disable", Flag())] = None
    cm_mic: Mic = Field(
        default=AUTO,
        description="CM MIC, TLV 6: auto works it out; none leaves it out; else as given.",
    )
    cmts_mic: Mic | None = Field(
        default=None,
        description="CMTS MIC, TLV 7: auto works it out with the shared secret; none leaves it "
        "out; else as given. Unless given, auto where there is a secret.",
    )
    padding: int | None = Field(
        default=None,
        ge=0,
        le=0xFFFF,
        description="Pads behind the end of data; up to a multiple of four bytes unless given.",
    )

    @classmethod
    def rank(cls, kind: int) -> int:
        # The MICs are the last TLVs.
        return kind + 256 if kind in (CM_MIC, CMTS_MIC) else kind

    @model_validator(mode="after")
    def _of_a_modem(self) -> Self:
        for index, other in enumerate(self.other_tlvs):
            if other.type == MTA_DELIMITER:
                raise KeyedError(f"other_tlvs.{index}.type", f"{other.type} {NOT_A_MODEM}")
        return self

    def present(self) -> list[int]:
        types = super().present()
        if self.cm_mic != NONE:
            types.append(CM_MIC)
        if self.cmts_mic not in (None, NONE):
            types.append(CMTS_MIC)
        # Pads between TLVs have nothing but their place.
        return types + [PAD] * (self.tlv_order or ()).count(PAD)

    def parts(self) -> Iterator[tuple[int, Location, bytes]]:
        """Does the same as for any aggregate; a MIC that is not given as bytes is all zero."""
        yield from super().parts()
        if self.cm_mic != NONE:
            yield CM_MIC, ("cm_mic",), _digest(self.cm_mic)
        if self.cmts_mic is not None and self.cmts_mic != NONE:
            yield CMTS_MIC, ("cmts_mic",), _digest(self.cmts_mic)
        for _ in range((self.tlv_order or ()).count(PAD)):
            yield PAD, ("tlv_order",), b""

    @classmethod
    def own_types(cls) -> dict[int, str]:
        return {
            PAD: "tlv_order",
            CM_MIC: "cm_mic",
            CMTS_MIC: "cmts_mic",
            END_OF_DATA: "padding",
        }
