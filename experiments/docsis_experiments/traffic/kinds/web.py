# SPDX-License-Identifier: Apache-2.0
"""Web users: one page after the other, each of many objects from several servers (000, 4.3)."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import ByteSize, Duration
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.experiment.web_users import MOST_ORIGINS
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Sent, WebPages


class Web(Group):
    """Web users, who load one page after the other: downstream, whatever the direction is."""

    senders = (WebPages,)
    most = 16

    kind: Literal["web"] = "web"
    page: ByteSize = Field(
        default=7_000_000, description="Of a page, HTML included; 7 MB unless given."
    )
    html: ByteSize = Field(
        default=70_000,
        description="Of a page's HTML, which comes first and alone; 70 KB unless given.",
    )
    objects: int = Field(
        default=100,
        ge=0,
        le=1000,
        description="Of a page, each on a connection of its own; 100 unless given.",
    )
    variation: float = Field(
        default=2.0,
        ge=0,
        le=10,
        description="Coefficient of variation of their log-normally distributed sizes, which are "
        "scaled so that the page has its bytes; 2 unless given.",
    )
    origins: int = Field(
        default=4,
        ge=1,
        le=MOST_ORIGINS,
        description="Web servers that the objects are on in turns; they are at the group's "
        "servers in turns, several at one if need be. 4 unless given.",
    )
    connections: int = Field(
        default=6, ge=1, le=32, description="To one web server at once; 6 unless given."
    )
    pause: Duration = Field(
        default=5_000_000_000,
        description="From the end of a page to the start of the next; 5 s unless given.",
    )
    request: ByteSize = Field(default=400, description="Of a request; 400 B unless given.")
    congestion_control: CongestionControl | None = Field(
        default=None, description="TCP's congestion control; the experiment's unless given."
    )

    @field_validator("page")
    @classmethod
    def _bounded_page(cls, value: int) -> int:
        if value > 1_000_000_000:
            raise ValueError("a page has 1 GB at most")
        return value

    @field_validator("request")
    @classmethod
    def _fits(cls, value: int) -> int:
        if not 16 <= value <= 100_000:
            raise ValueError(f"a request has 16 B to 100 KB, not {value} B")
        return value

    @field_validator("pause")
    @classmethod
    def _bounded_pause(cls, value: int) -> int:
        if value > 3_600_000_000_000:
            raise ValueError("must be an hour at most")
        return value

    @model_validator(mode="after")
    def _parts(self) -> Self:
        if not self.html:
            raise KeyedError("html", "a page begins with a byte of HTML at least")
        least = self.html + self.objects
        if self.page < least or (not self.objects and self.page != self.html):
            raise KeyedError(
                "page",
                f"{self.page} B are not the {self.html} B of the HTML and {self.objects} objects "
                "of a byte at least",
            )
        if self.mesh:
            raise KeyedError("mesh", "a page is on several servers already; give a count of users")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        pages = WebPages(
            page=self.page,
            html=self.html,
            objects=self.objects,
            variation_permille=round(1000 * self.variation),
            origins=self.origins,
            connections=self.connections,
            pause=self.pause / 1e9,
            request=self.request,
            congestion_control=self.congestion_control,
        )
        return (Sent(pages),)


KIND: Final = Web
