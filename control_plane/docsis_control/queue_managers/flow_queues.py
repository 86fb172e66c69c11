# SPDX-License-Identifier: Apache-2.0
"""Queues for the sessions within a service flow."""

from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model

MAX_FLOW_QUEUES: Final = 256
"""Sub-queues that a service flow may have in the traffic manager."""

NO_FLOW_QUEUES: Final = "its eight queues a port are served by strict priority, not in turns"
"""Why a target without docsis.tm.v1 (BMv2) refuses them."""

SEARCHED_GROUP: Final = 4
"""Sub-queues that a serial search looks through (001, "SFQ with Hashing/Serial Searching")."""

DEFAULT_MULTIPLIER: Final = 0x9E3779B1
"""A prime near 2^32 over the golden ratio, which spreads what a CRC leaves close together."""


RoundRobin = Literal["deficit", "packets"]
"""Order in which flow queues that have frames take turns: by deficit, in equal bytes (Shreedhar and
Varghese, 1996), or a frame each, however long (001, figure 5)."""

ROUND_ROBIN_CODES: Final[Mapping[RoundRobin, int]] = {"deficit": 0, "packets": 1}
"""Numbers of the orders in a RoundRobin of docsis.tm.v1."""


class FlowQueues(Model):
    """Stochastic Fairness Queueing: frames hashed to queues that are served in turn."""

    queues: int = Field(
        default=MAX_FLOW_QUEUES,
        description=f"Number of queues, 2 to {MAX_FLOW_QUEUES}.",
        json_schema_extra={"minimum": 2, "maximum": MAX_FLOW_QUEUES},
    )
    search: bool = Field(
        default=False,
        description=f"Whether a session looks for a queue of its own among {SEARCHED_GROUP}.",
    )
    divided: bool = Field(
        default=False,
        description="Whether each queue has a part of the buffer, as large as the others', "
        "where otherwise all of them share all of it.",
    )
    round_robin: RoundRobin = Field(
        default="deficit",
        description="How queues take turns: deficit, in equal bytes; packets, a frame each.",
    )
    multiplier: int = Field(
        default=DEFAULT_MULTIPLIER,
        description="Odd multiplier of the hash: another one makes other sessions collide.",
        json_schema_extra={"minimum": 1, "maximum": 2**32 - 1},
    )

    @field_validator("queues")
    @classmethod
    def _enough(cls, value: int) -> int:
        if not 2 <= value <= MAX_FLOW_QUEUES:
            raise ValueError(f"there may be 2 to {MAX_FLOW_QUEUES} queues, not {value}")
        return value

    @field_validator("multiplier")
    @classmethod
    def _odd(cls, value: int) -> int:
        if not 1 <= value < 2**32:
            raise ValueError(f"the multiplier must be from 1 to {2**32 - 1}, not {value}")
        if value % 2 == 0:
            raise ValueError(
                f"the multiplier must be odd, not {value}: an even one loses bits of the hash"
            )
        return value

    @model_validator(mode="after")
    def _groups(self) -> Self:
        if self.search and self.queues % SEARCHED_GROUP:
            raise KeyedError(
                "queues",
                f"a search goes through groups of {SEARCHED_GROUP}, and {self.queues} queues are "
                f"no multiple of {SEARCHED_GROUP}",
            )
        return self
