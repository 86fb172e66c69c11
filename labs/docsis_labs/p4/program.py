# SPDX-License-Identifier: Apache-2.0
"""A compiled P4 program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """The output of p4c.

    Attributes:
        name: Name of the source, such as "data_path.p4".
        json: The target's configuration.
        p4info: In protobuf's text format.
    """

    name: str
    json: bytes
    p4info: bytes
