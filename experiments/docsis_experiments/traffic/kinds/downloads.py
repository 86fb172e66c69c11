# SPDX-License-Identifier: Apache-2.0
"""Downloads now and then on one TCP connection, as of 004's peer-to-peer users."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import ByteSize, Duration
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import MOST_USERS, Sent, TcpDownloads


class Downloads(Group):
    """Users who download, and then wait: downstream, whatever the direction is."""

    senders = (TcpDownloads,)
    most = MOST_USERS

    kind: Literal["downloads"] = "downloads"
    count: int = Field(default=1, ge=1, le=MOST_USERS, description="Users; one unless given.")
    size: ByteSize = Field(
        default=4_000_000,
        description="Mean of a download, exponentially distributed; 4 MB unless given.",
    )
    idle: Duration = Field(
        default=5_000_000_000,
        description="Mean time from the end of a download to the request for the next, and before "
        "the first; exponentially distributed, 5 s unless given.",
    )
    request: ByteSize = Field(default=400, description="Of a request; 400 B unless given.")

    @field_validator("size")
    @classmethod
    def _some(cls, value: int) -> int:
        if not 1 <= value <= 1_000_000_000:
            raise ValueError(f"a download has 1 B to 1 GB in the mean, not {value} B")
        return value

    @field_validator("idle")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if not 1_000_000 <= value <= 3_600_000_000_000:
            raise ValueError("must be 1 ms to an hour")
        return value

    @field_validator("request")
    @classmethod
    def _fits(cls, value: int) -> int:
        if not 16 <= value <= 100_000:
            raise ValueError(f"a request has 16 B to 100 KB, not {value} B")
        return value

    @model_validator(mode="after")
    def _asks_one(self) -> Downloads:
        if self.mesh:
            raise KeyedError("mesh", "a user asks one server; give a count of users")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        return (Sent(TcpDownloads(self.size, self.idle, self.request)),)


KIND: Final = Downloads
