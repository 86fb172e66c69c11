# SPDX-License-Identifier: Apache-2.0
"""A metric: a number of a run, and all that files, tables and reports have to know of it.

The modules of `metrics/` are the metrics, each with one as `METRIC`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import STATISTICS, Statistic
from docsis_experiments.measurement.trace import Trace


@dataclass(frozen=True)
class Unit:
    """A unit.

    Attributes:
        words: For tables; may be "".
        suffix: What keys and columns in files end with; may be "".
    """

    words: str
    suffix: str


MILLISECONDS: Final = Unit("ms", "_ms")
SECONDS: Final = Unit("s", "_seconds")
MEGABITS_A_SECOND: Final = Unit("Mbit/s", "_mbps")
PERCENT: Final = Unit("%", "_percent")
NONE: Final = Unit("", "")


@dataclass(frozen=True)
class Limits:
    """The least and the greatest value that there can be; infinite where there is no such."""

    low: float = -math.inf
    high: float = math.inf


UNLIMITED: Final = Limits()

LAST: Final = 1000
"""Place of a metric that does not say where it stands."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number of a run.

    Attributes:
        name: In experiments' files: lower-case words with hyphens.
        title: In tables, such as "Goodput".
        short: The same in few letters; as the title unless given.
        description: What it is, in sentences: for JSON Schemas, whose readers see nothing else.
        unit: Unit of its values.
        value: Measures it; NaN where nothing was there to be measured, infinite for never. It must
            be a function of its arguments alone.
        absence: Why there is no value, in words; asked only where there is none.
        needs: What a group of the traffic has to leave behind, so that it is told of it.
        limits: The limits that values keep to; intervals are cut off there.
        form: How a value is written in tables, as `format` has it.
        whole: Whether values are counts, which files have without a point.
        statistics: Statistics that tables show, where each packet or message has a value;
            () of all others, for which nobody can ask for a statistic.
        flows: The same of each flow; None where it is not told of flows.
        main: Whether it is among the few that every table has.
        place: Where it stands among the others in tables, lowest first.
        needs_idle: Whether there has to be a time with calls and requests alone.
        needs_bound: Whether it needs a bound, so that it is measured only where one is given.
        least_bound_ms: The least that the bound may be.
        whole_run: Whether it is of the whole run, so that a part of it cannot be asked for.
        on_request: Whether it is measured only where somebody asks for it, because it tells
            something of few runs.
    """

    name: str
    title: str
    short: str = ""
    description: str
    unit: Unit = NONE
    value: Callable[[Scope, RunRecord], float]
    absence: Callable[[Scope, RunRecord], str] = Scope.no_packet
    needs: Trace = Trace.PACKETS
    limits: Limits = UNLIMITED
    form: str = ".3g"
    whole: bool = False
    statistics: tuple[Statistic, ...] = ()
    flows: Callable[[Scope, RunRecord], Sequence[float]] | None = None
    main: bool = False
    place: int = LAST
    needs_idle: bool = False
    needs_bound: bool = False
    least_bound_ms: float = 0.0
    whole_run: bool = False
    on_request: bool = False

    @property
    def brief(self) -> str:
        """The title within a sentence, or at the head of a row."""
        return self.short or (self.title if self.title.isupper() else self.title.lower())

    @property
    def key(self) -> str:
        """In files: with the unit, as "goodput_mbps"."""
        return self.name.replace("-", "_") + self.unit.suffix

    def told(self, run: RunRecord, group: str) -> bool:
        """Whether it is measured of each run of the group without being asked for."""
        return (
            not self.needs_bound
            and not self.on_request
            and self.needs in run.traces(group)
            and (run.idle is not None or not self.needs_idle)
        )

    def named(self, statistic: Statistic) -> str:
        """A value of it among those of a group, as "latency p90" or "goodput"."""
        return f"{self.name} {statistic}" if self.statistics else self.name

    @property
    def shown(self) -> tuple[str, ...]:
        """Those of its values that tables show, by their names."""
        return tuple(map(self.named, self.statistics)) or (self.name,)

    def values(self, run: RunRecord, group: str) -> Iterator[tuple[str, float]]:
        """All its values of a group over the measured time, by their names."""
        for statistic in STATISTICS if self.statistics else STATISTICS[:1]:
            yield self.named(statistic), self.value(Scope((group,), statistic), run)
