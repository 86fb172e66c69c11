# SPDX-License-Identifier: Apache-2.0
"""Quantities that files ask of a run: a metric, of which traffic, over which time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.units import Duration
from docsis_experiments.experiment.canonical import canonical
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import Statistic

if TYPE_CHECKING:
    MetricName = str
else:
    MetricName = Literal[tuple(METRICS)]

Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


class Span(Model):
    """A part of the measured time."""

    start: Duration = Field(description="From the start of the measured time.")
    end: Duration = Field(description="From the start of the measured time.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end <= self.start:
            raise KeyedError("end", "is not after the start")
        return self


class Quantity(Model):
    """A quantity that is measured of a run."""

    metric: MetricName = Field(
        description="Which one. "
        + " ".join(f"{metric.name}: {metric.description}" for metric in METRICS.values())
    )
    of: Names = Field(description="Groups of the traffic.")
    statistic: Statistic = Field(default="mean", description="Of latencies; the mean unless given.")
    during: Span | None = Field(
        default=None, description="Part of the measured time; all of it unless given."
    )
    bound: Duration | None = Field(
        default=None,
        description="What a metric that needs a bound holds against it: of recovery the latency at "
        "which a flow counts as recovered.",
    )

    @field_validator("of")
    @classmethod
    def _some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("is empty; name a group of the traffic")
        return value

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.measures.needs_bound != (self.bound is not None):
            bounded = " or ".join(m.name for m in METRICS.values() if m.needs_bound)
            raise KeyedError("bound", f"belongs to {bounded}, which needs it")
        least = self.measures.least_bound_ms
        if self.bound is not None and self.bound / 1e6 < least:
            raise KeyedError("bound", f"must be {least:g} ms at the least for {self.metric}")
        return self

    @property
    def measures(self) -> Metric:
        """The metric."""
        return METRICS[self.metric]

    @property
    def scope(self) -> Scope:
        """The scope: the part of a run that is looked at."""
        return Scope(
            self.of,
            self.statistic,
            (self.during.start / 1e9, self.during.end / 1e9) if self.during else None,
            None if self.bound is None else self.bound / 1e6,
        )

    @property
    def key(self) -> str:
        """The same for what is the same quantity: canonical JSON."""
        return canonical(self.model_dump(mode="json", exclude_none=True))

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return self.measures.unit.words

    @property
    def words(self) -> str:
        """For tables."""
        during = (
            f", {self.during.start / 1e9:g} to {self.during.end / 1e9:g} s" if self.during else ""
        )
        bound = f" to {self.bound / 1e6:g} ms" if self.bound is not None else ""
        named = self.measures.named(self.statistic).replace("-", " ")
        return f"{named}{bound} of {' and '.join(self.of)}{during}"


def measure(quantity: Quantity, run: RunRecord) -> float:
    """The quantity's value of a run; NaN where nothing was there to be measured."""
    return quantity.measures.value(quantity.scope, run)


def absence(quantity: Quantity, run: RunRecord) -> str:
    """Why a quantity has no value, in words; "" where it has one."""
    if not math.isnan(measure(quantity, run)):
        return ""
    return quantity.measures.absence(quantity.scope, run)
