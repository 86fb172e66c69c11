# SPDX-License-Identifier: Apache-2.0
"""The scope of a metric: groups of the traffic, over the measured time or a part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from docsis_experiments.measurement.record import Floats, Packets, RunRecord
from docsis_experiments.measurement.statistics import Statistic
from docsis_experiments.measurement.viewing import Viewing


@dataclass(frozen=True)
class Scope:
    """The part of a run that is looked at.

    Attributes:
        of: Groups of the traffic, which are taken together.
        statistic: Statistic of a metric that has a value of each packet or message.
        during: Seconds of the measured time; None for all of it.
        bound_ms: Bound of a metric that needs a bound; None of the others.
    """

    of: tuple[str, ...]
    statistic: Statistic = "mean"
    during: tuple[float, float] | None = None
    bound_ms: float | None = None

    @property
    def names(self) -> str:
        """The groups, in words."""
        return " and ".join(self.of)

    def span(self, run: RunRecord) -> tuple[float, float]:
        """The time that is looked at, in seconds of the measured time."""
        return (0.0, run.seconds) if self.during is None else self.during

    def packets(self, run: RunRecord) -> Packets:
        """Those of the groups that were sent in that time; none where one of the groups sent none.

        What the other groups have would stand for the group that sent nothing.
        """
        return self._chosen(run, run.packets)

    def messages(self, run: RunRecord) -> Packets:
        """The same of messages."""
        return self._chosen(run, run.messages)

    def round_trips(self, run: RunRecord) -> Packets:
        """The same of requests that were made in that time."""
        return self._chosen(run, run.round_trips)

    def page_loads(self, run: RunRecord) -> Floats:
        """Load times of pages that were complete in that time, seconds; none where a group's none
        was."""
        loads = [run.pages[name].loads(*self.span(run)) for name in self.of]
        return np.concatenate(loads if all(one.size for one in loads) else [np.zeros(0)])

    def viewings(self, run: RunRecord) -> list[Viewing]:
        """The viewings of the players of the groups, over the whole run."""
        return [one for name in self.of for one in run.videos[name].values()]

    def rates(self, run: RunRecord) -> list[float]:
        """Mean goodput of each flow of the groups in that time, Mbit/s."""
        span = self.span(run)
        return [rate for name in self.of for rate in run.received[name].mbps(*span)]

    def silent(self, run: RunRecord, of: Mapping[str, Packets]) -> str:
        """Groups that have none of the packets, or messages, in that time; in words, may be ""."""
        return " and ".join(self._silent(run, of))

    def no_packet(self, run: RunRecord) -> str:
        """Why packets have no value, in words."""
        if silent := self.silent(run, run.packets):
            return f"no packet of {silent} was sent in that time"
        return f"no packet of {self.names} arrived in that time"

    def nothing_received(self, run: RunRecord) -> str:
        """Why goodput has no value, in words."""
        del run
        return f"nothing of {self.names} arrived in that time"

    def _silent(self, run: RunRecord, of: Mapping[str, Packets]) -> list[str]:
        span = self.span(run)
        return [
            name for name in self.of if name not in of or not of[name].between(*span).sent_s.size
        ]

    def _chosen(self, run: RunRecord, of: Mapping[str, Packets]) -> Packets:
        if self._silent(run, of):
            return Packets.together([])
        return Packets.together([of[name] for name in self.of]).between(*self.span(run))
