# SPDX-License-Identifier: Apache-2.0
"""How every gRPC channel to a switch is set up, whoever opens it."""

from typing import Final

_LARGEST_METADATA: Final = 1 << 20
"""Bytes. Error details of a large batch travel in the trailing metadata."""


def channel_options() -> tuple[tuple[str, int], ...]:
    """Options for `grpc.insecure_channel` and `grpc.aio.insecure_channel`."""
    return (
        # A batch of thousands of entries is one message.
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", _LARGEST_METADATA),
        # A new connection is really new, without the back-off of the one before.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        # A switch is on this machine or in its laboratory: never behind the way to the Internet.
        ("grpc.enable_http_proxy", 0),
    )
