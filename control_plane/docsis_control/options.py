# SPDX-License-Identifier: Apache-2.0
"""Options of a controller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docsis_control.p4rt.pipeline import BUILD_FOLDER


@dataclass(frozen=True)
class Options:
    """Options of a controller.

    Attributes:
        election_id: Election id for the arbitration; the highest that a device ever saw wins.
        connect_timeout: Seconds to wait for a device that never answered yet.
        pipelines: Folder of the compiled programs.
        addresses: host:port by device name, where they differ from the plan's.
        thrift: host:port of the Thrift server by device name, of devices that are a BMv2.
    """

    election_id: int = 1
    connect_timeout: float = 10.0
    pipelines: Path = BUILD_FOLDER
    addresses: Mapping[str, str] = field(default_factory=dict)
    thrift: Mapping[str, str] = field(default_factory=dict)
