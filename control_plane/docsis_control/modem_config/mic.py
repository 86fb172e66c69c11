# SPDX-License-Identifier: Apache-2.0
"""The two message integrity checks of a configuration file (MULPI, annex D, "CM/CMTS MIC").

The modem checks the first, an MD5 digest that shows damage; the CMTS the second,
an HMAC-MD5 with a secret that it shares with the provisioning system.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import Final

from docsis_control.modem_config.tlv import CM_MIC, CMTS_MIC, PAD, Tlv, write_tlvs

CMTS_MIC_ORDER: Final = (
    1, 2, 3, 4, 17, 43, 6, 18, 19, 20, 22, 23, 24, 25, 28, 29, 26, 35, 36, 37, 40,
)  # fmt: skip
"""Types that the CMTS MIC covers, in the order in which it takes them; several of
a type in the order of the file."""


def cm_mic(tlvs: Iterable[Tlv]) -> bytes:
    """The CM MIC: MD5 over all TLVs as they stand, but for the two MICs and the pads."""
    covered = write_tlvs(tlv for tlv in tlvs if tlv.type not in (CM_MIC, CMTS_MIC, PAD))
    return hashlib.md5(covered, usedforsecurity=False).digest()


def cmts_mic(tlvs: Sequence[Tlv], secret: bytes) -> bytes:
    """The CMTS MIC: HMAC-MD5 over the TLVs that CMTS_MIC_ORDER names, the CM MIC among them."""
    covered = b"".join(
        write_tlvs(tlv for tlv in tlvs if tlv.type == kind) for kind in CMTS_MIC_ORDER
    )
    return hmac.new(secret, covered, "md5").digest()
