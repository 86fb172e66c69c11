# SPDX-License-Identifier: Apache-2.0
"""Hints for keys that users look for in the wrong place of a topology's file."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OF_HOSTS: Final = (
    "only links of hosts and servers have loss and jitter, and the link between modems and CMTS "
    "has neither; give a host or a server a link, as in link: {loss: 1 %, jitter: 3 ms}"
)

LINKS: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("link", "links", "rf_link", "loss", "jitter"), _OF_HOSTS)
)
"""Hints for the keys of a link that is no host's."""
