# SPDX-License-Identifier: Apache-2.0
"""The outcome of a run: plain, bounded data, made from the record of either stage. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from docsis_experiments.experiment.canonical import canonical
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.measurement.links import Ways
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.reading import Reading
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.service_flow_shares import Rates

PROBABILITIES: Final[tuple[float, ...]] = (
    0.0,
    0.001,
    0.005,
    *(percent / 100 for percent in range(1, 100)),
    0.995,
    0.999,
    1.0,
)
"""Probabilities of the quantiles that stand for a group's distribution of latency."""

MOST_WORDS: Final = 500
"""Characters of a sentence that is kept."""

MOST_FAULTS: Final = 20


@dataclass(frozen=True)
class Group:
    """A group of the traffic.

    Attributes:
        values: By name: "packets", and of all metrics that its kind has: "goodput", or "latency
            mean", "latency p50" ...; NaN where nothing was there to be measured.
        latency: Milliseconds at PROBABILITIES; empty where no packet arrived.
        service_flows: By name, where the group loads all service flows.
    """

    values: Mapping[str, float]
    latency: tuple[float, ...]
    service_flows: Mapping[str, Rates] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """A run.

    Attributes:
        key: Key of its inputs and of what made it.
        run: Label of the run.
        number: The seed in virtual time, in Mininet which of the repetitions it is.
        manager: What the queue manager is called.
        management: The same as canonical JSON.
        buffer_ms: Its buffer, as a time at the sustained rate.
        seconds: Length of the measured time.
        groups: By the traffic's group.
        quantities: What was asked for beside, by `Quantity.key`.
        counters: Counters of the service flow over the measured time, packets.
        updates, missed: Updates of the control loop, and those that it missed.
        lateness_ms: p99 lateness of the control loop's updates.
        valid: Whether time never jumped.
        withheld: Why the run gets no verdict, in words; "" where it gets one.
        faults: What went wrong with the measuring, in words.
        digest: Digest of all that happened, hexadecimal, where time is virtual; "" elsewhere.
        links: Frames on the links with loss or jitter over the measured time, by the host or
            server that a link leads to.
    """

    key: str
    run: str
    number: int
    manager: str
    management: str
    buffer_ms: float
    seconds: float
    groups: Mapping[str, Group]
    quantities: Mapping[str, Reading]
    counters: Mapping[str, int]
    updates: int
    missed: int
    lateness_ms: float
    valid: bool
    withheld: str
    faults: tuple[str, ...]
    digest: str
    links: Mapping[str, Ways] = field(default_factory=dict)

    def at(self, number: int) -> Outcome:
        """The same as another repetition."""
        return replace(self, number=number)


def of_record(
    record: RunRecord,
    scenario: Scenario,
    quantities: Iterable[Quantity],
    *,
    key: str,
    number: int,
) -> Outcome:
    """Makes the outcome of a run.

    Args:
        record: What it left.
        scenario: What it is of.
        quantities: What is measured beside the usual statistics.
        key: Key of its inputs and of what made it.
        number: The seed, or which of the repetitions.
    """
    return Outcome(
        key=key,
        run=record.label,
        number=number,
        manager=record.manager,
        management=canonical(dict(record.management)),
        buffer_ms=record.buffer_ms,
        seconds=record.seconds,
        groups={group.name: _group(record, group.name) for group in scenario.traffic},
        quantities={quantity.key: _measured(quantity, record) for quantity in quantities},
        counters=dict(record.counters),
        updates=_count(record, "updates"),
        missed=_count(record, "missed"),
        lateness_ms=_lateness(record),
        valid=record.timing.valid,
        withheld=_words(record.withheld),
        faults=tuple(_words(fault) for fault in record.faults[:MOST_FAULTS]),
        digest=record.digest,
        links={link.host: link.ways for link in record.links},
    )


def _group(record: RunRecord, name: str) -> Group:
    packets = record.measured(name)
    values = {"packets": float(packets.sent_s.size)}
    for metric in METRICS.values():
        if metric.told(record, name):
            values |= metric.values(record, name)
    delays = packets.delays
    table = np.quantile(delays, PROBABILITIES) if delays.size else np.zeros(0)
    shares = record.shares.get(name)
    return Group(
        values, tuple(float(value) for value in table), {} if shares is None else shares.rates
    )


def _measured(quantity: Quantity, record: RunRecord) -> Reading:
    return Reading(measure(quantity, record), _words(absence(quantity, record)))


def _count(record: RunRecord, name: str) -> int:
    count = record.controller[name]
    assert isinstance(count, int), "made by reports.document"
    return count


def _lateness(record: RunRecord) -> float:
    lateness = record.controller["lateness_ms"]
    assert isinstance(lateness, Mapping), "made by reports.document"
    return float(lateness["p99"])


def _words(sentence: str) -> str:
    return sentence if len(sentence) <= MOST_WORDS else sentence[: MOST_WORDS - 1] + "…"
