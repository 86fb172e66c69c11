# SPDX-License-Identifier: Apache-2.0
"""summary.json of a repeated experiment, in the shape of repeated.schema.json."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from docsis_control.topology.models import Link, Topology
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.judging.expectations import Order, Slope
from docsis_experiments.judging.parts import Part
from docsis_experiments.judging.repeated import Judged, Outcomes, Verdict, together
from docsis_experiments.measurement import intervals
from docsis_experiments.measurement.distribution import distribution
from docsis_experiments.measurement.intervals import Estimate, estimate
from docsis_experiments.measurement.links import ImpairedLinks, Way, asked_for
from docsis_experiments.measurement.metric import UNLIMITED, Limits
from docsis_experiments.measurement.metrics import limits_of
from docsis_experiments.measurement.service_flow_shares import Rates
from docsis_experiments.reports import document
from docsis_experiments.reports.head import head
from docsis_experiments.runs.outcome import PROBABILITIES, Outcome

VERSION: Final = 2

NEVER: Final = "never"
"""Stands for an infinite value."""

REACHES_OVER: Final = "the interval reaches over an end of what is allowed"
"""Why a value is undecided of which nothing else is said."""


def number(value: float) -> float | str | None:
    """A value for JSON, which has neither NaN nor infinity."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return NEVER if value > 0 else f"-{NEVER}"
    return value


def estimated(found: Estimate) -> dict[str, Any]:
    """An estimate for JSON."""
    interval = found.interval
    return {
        "runs": found.runs,
        "median": number(found.median),
        "interval": None if interval is None else [number(interval.low), number(interval.high)],
    }


def counted(count: int, words: str) -> str:
    """Returns a number with its unit, as "1 seed" or "30 seeds"."""
    return f"{count} {words if count > 1 else words[:-1]}"


def run_figures(
    run: Run, name: str, outcomes: Sequence[Outcome], asked: Mapping[str, Link]
) -> dict[str, Any]:
    """One entry of `runs`.

    Args:
        run: The run.
        name: Its name for people.
        outcomes: Its outcomes, those that do not count included.
        asked: What links with loss or jitter were asked to do, by the host that each leads to.
    """
    counting = [one for one in outcomes if not one.withheld]
    links = [*_links(counting, asked)]
    any_one = outcomes[0]
    return {
        "label": run.label,
        "name": name,
        "manager": any_one.manager,
        "management": json.loads(any_one.management),
        "buffer_ms": any_one.buffer_ms,
        **({} if run.direction is None else {"direction": run.direction}),
        "made": len(outcomes),
        "counted": [one.number for one in counting],
        "not_counted": [
            {"number": one.number, "why": one.withheld} for one in outcomes if one.withheld
        ],
        "groups": _groups(counting),
        "counters": {
            counter: estimated(estimate([float(one.counters[counter]) for one in counting]))
            for counter in ("sf_drop_aqm", "sf_drop_buffer_full")
        },
        "control_loop": {
            "updates": sum(one.updates for one in counting),
            "missed": sum(one.missed for one in counting),
            "lateness_p99_ms": max((one.lateness_ms for one in counting), default=None),
        },
        "digests": [one.digest for one in counting if one.digest],
        **({"links": links} if links else {}),
    }


def _links(counting: Sequence[Outcome], asked: Mapping[str, Link]) -> Iterator[dict[str, Any]]:
    for host, link in asked.items():
        there = [one.links[host] for one in counting if host in one.links]
        if there:
            yield {
                **asked_for(host, link),
                "from_host": _way([ways.from_host for ways in there]),
                "to_host": _way([ways.to_host for ways in there]),
            }


def _way(ways: Sequence[Way]) -> dict[str, Any]:
    """One direction of a link over runs; the share is of the runs in which frames went into it."""
    shares = [100 * way.lost / way.frames for way in ways if way.frames]
    return {
        "frames": estimated(estimate([float(way.frames) for way in ways], Limits(low=0))),
        "lost": estimated(estimate([float(way.lost) for way in ways], Limits(low=0))),
        "lost_percent": estimated(estimate(shares, Limits(0, 100))),
    }


def _groups(counted: Sequence[Outcome]) -> dict[str, Any]:
    if not counted:
        return {}
    return {
        name: {
            "values": {
                value: estimated(
                    _of([one.groups[name].values[value] for one in counted], limits_of(value))
                )
                for value in counted[0].groups[name].values
            },
            "latency_ms": latency_figures([one.groups[name].latency for one in counted]),
            "service_flows": _service_flows([one.groups[name].service_flows for one in counted]),
        }
        for name in counted[0].groups
    }


def _service_flows(rates: Sequence[Mapping[str, Rates]]) -> list[dict[str, Any]]:
    """The rates of each service flow where a group loads all of them; else nothing."""
    return [
        {
            "name": name,
            "configured_mbps": any_one.configured,
            "received_mbps": estimated(estimate([one[name].received for one in rates])),
            "forwarded_mbps": estimated(estimate([one[name].forwarded for one in rates])),
        }
        for name, any_one in rates[0].items()
    ]


def _of(values: Iterable[float], limits: Limits = UNLIMITED) -> Estimate:
    """Estimates the mean over the runs that have a value."""
    return estimate([value for value in values if not math.isnan(value)], limits)


def latency_figures(tables: Sequence[Sequence[float]]) -> dict[str, Any] | None:
    """The distribution over runs for JSON; None where no packet arrived."""
    found = distribution(tables)
    if found is None:
        return None
    return {
        "runs": found.runs,
        "probability": list(PROBABILITIES),
        "median": list(found.median),
        "band": found.kind,
        "low": list(found.low),
        "high": list(found.high),
    }


def differences(
    scenario: Scenario,
    runs: Sequence[Run],
    called: Mapping[str, str],
    outcomes: Sequence[Outcome],
) -> list[dict[str, Any]]:
    """Each run less the first, within a seed or repetition: one entry of `differences` each.

    What goes another way is another experiment, and has no difference.
    """
    counted = Outcomes(outcomes)
    base = runs[0].label
    # A run may write out what the scenario says anyway.
    way = scenario.played(runs[0]).direction
    found = []
    for run in (run for run in runs[1:] if scenario.played(run).direction == way):
        numbers = counted.numbers((base, run.label))
        pairs = [(counted.of(base)[at], counted.of(run.label)[at]) for at in numbers]
        found.append(
            {
                "run": run.label,
                "name": called[run.label],
                "base": base,
                "base_name": called[base],
                "groups": _differences(pairs),
            }
        )
    return found


def _differences(pairs: Sequence[tuple[Outcome, Outcome]]) -> dict[str, Any]:
    if not pairs:
        return {}
    return {
        name: {
            value: estimated(
                _of(
                    other.groups[name].values[value] - base.groups[name].values[value]
                    for base, other in pairs
                )
            )
            for value in group.values
        }
        for name, group in pairs[0][0].groups.items()
    }


def part_figures(judged: Judged) -> dict[str, Any]:
    """One entry of `expectations`."""
    part = judged.part
    return {
        "hash": part.expectation.hash,
        # An order's name has both runs.
        "what": f"difference of {part.expectation.quantity.words}"
        if isinstance(part.expectation, Order)
        else part.what,
        "run": part.run,
        "name": _name(part),
        "unit": part.unit,
        "published": list(part.published),
        "allowed": list(part.allowed),
        "measured": estimated(judged.estimate),
        "method": judged.estimate.method,
        "numbers": list(judged.numbers),
        "values": [number(value) for value in judged.values],
        "verdict": None if judged.verdict is None else judged.verdict.value,
        "why": judged.why,
        "source": part.expectation.source,
        "reason": part.expectation.reason,
        "no_test": part.expectation.no_test,
    }


def _name(part: Part) -> str:
    match part.expectation:
        case Order():
            before, after = part.names
            return f"{after} less {before}"
        case Slope():
            return f"{part.names[0]} to {part.names[-1]}"
    return part.names[0]


def sentence(judged: Sequence[Judged], count: int, words: str) -> str:
    """The verdict of all, in one sentence that says why where there is none.

    Args:
        judged: All parts.
        count: Seeds or repetitions that were played.
        words: Which of the two they are.
    """
    played = counted(count, words)
    if not judged:
        return f"There is no verdict of {played}, for nothing is published to compare with."
    counts = Counter(one.verdict for one in judged)
    no_test = counts.pop(None, 0)
    total = counts.total()
    aside = f"; {no_test} more have bands that are no test" if no_test else ""
    if not total:
        return f"There is no verdict of {played}, for no band of the {no_test} is a test."
    if counts[Verdict.UNDECIDED] == total and count < intervals.LEAST_RUNS:
        too_few = "is too few" if count == 1 else "are too few"
        return f"Undecided: {played} {too_few}, a verdict needs {intervals.LEAST_RUNS}{aside}."
    if counts[Verdict.REPRODUCED] == total:
        theirs = (
            "interval of the one judged value is"
            if total == 1
            else f"intervals of all {total} judged values are"
        )
        return f"Reproduced: of {played}, the 95% {theirs} within what was allowed{aside}."
    parts = [
        f"{counts[which]} {'is' if counts[which] == 1 else 'are'} {which}"
        + (_because(judged) if which is Verdict.UNDECIDED else "")
        for which in Verdict
        if counts[which]
    ]
    verdict = together(one.verdict for one in judged)
    assert verdict is not None
    told = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    values = "value" if total == 1 else "values"
    return f"{verdict.capitalize()}: of {total} judged {values} over {played}, {told}{aside}."


def _because(judged: Sequence[Judged]) -> str:
    """Why values are undecided, in brackets; "" where they have several reasons."""
    reasons = {one.why or REACHES_OVER for one in judged if one.verdict is Verdict.UNDECIDED}
    return f" ({reasons.pop()})" if len(reasons) == 1 else ""


def summarise(
    scenario: Scenario,
    runs: Sequence[Run],
    outcomes: Sequence[Outcome],
    judged: Sequence[Judged],
    *,
    numbers: range,
    words: str,
    target: str,
    topology: Topology,
    versions: Mapping[str, str],
    timers: Mapping[str, Any],
    marks: Mapping[str, Any],
    note: str = "",
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        scenario: What was run.
        runs: Those of its runs that were made.
        outcomes: All of them, in the order of runs and numbers.
        judged: The parts of the expectations.
        numbers: Seeds or repetitions.
        words: Which of the two they are.
        target: Name of the switch target.
        topology: What was built.
        versions: Version by program.
        timers: The machine's own lateness.
        marks: Marks of the stage: `stage`, and `jobs` where there are some.
        note: The user's own note, or "".
    """
    called = {run.label: run.name for run in scenario.all_runs}
    asked = ImpairedLinks(topology).asked
    verdict = together(one.verdict for one in judged)
    figures: dict[str, Any] = document.rounded(
        {
            "experiment": "repeated",
            "version": VERSION,
            **head(scenario, topology, target=target, versions=versions, timers=timers, note=note),
            **marks,
            "numbers": words,
            "count": len(numbers),
            "statistics": {
                "confidence": intervals.CONFIDENCE,
                "least_runs": intervals.LEAST_RUNS,
                "bootstrap_runs": intervals.BOOTSTRAP_RUNS,
                "resamples": intervals.RESAMPLES,
            },
            "verdict": None if verdict is None else verdict.value,
            "sentence": sentence(judged, len(numbers), words),
            "runs": [
                run_figures(
                    run,
                    called[run.label],
                    [one for one in outcomes if one.run == run.label],
                    asked,
                )
                for run in runs
            ],
            "differences": differences(scenario, runs, called, outcomes),
            "expectations": [part_figures(one) for one in judged],
        }
    )
    document.validate(figures)
    return figures
