# SPDX-License-Identifier: Apache-2.0
"""P4 devices, links, hosts and their traffic in virtual time: see `World`."""

from docsis_world._world import (
    CHANNEL_PROFILES,
    SOURCES,
    RpcError,
    Stream,
    World,
    WorldError,
    __version__,
    channel_profile,
)

__all__ = [
    "CHANNEL_PROFILES",
    "SOURCES",
    "RpcError",
    "Stream",
    "World",
    "WorldError",
    "__version__",
    "channel_profile",
]
