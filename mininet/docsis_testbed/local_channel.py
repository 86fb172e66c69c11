# SPDX-License-Identifier: Apache-2.0
"""Connections to the gRPC servers of switches on this machine."""

from __future__ import annotations

from typing import Final

import grpc

_OPTIONS: Final = (
    # A proxy of the environment's is for the world outside: it would be asked for 127.0.0.1.
    ("grpc.enable_http_proxy", 0),
)


def local_channel(address: str) -> grpc.Channel:
    """A channel to host:port of a switch, past any proxy."""
    return grpc.insecure_channel(address, options=_OPTIONS)
