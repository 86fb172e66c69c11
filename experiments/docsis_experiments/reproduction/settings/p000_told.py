# SPDX-License-Identifier: Apache-2.0
"""The results of the population's runs, seed by seed. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from docsis_experiments.measurement import voice
from docsis_experiments.reproduction.row import Asked, Results, Seeds, Share
from docsis_experiments.reproduction.settings.p000_loads import game_groups
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_pooled import Table, latencies, quantile
from docsis_experiments.reproduction.settings.p000_population import Condition, conditions, label
from docsis_experiments.reproduction.settings.p000_readings import Reading
from docsis_experiments.reproduction.settings.p000_units import quantity
from docsis_experiments.reproduction.settings.ratio import ratio as of_two
from docsis_experiments.runs.outcome import Outcome

_G711_MS: Final = 10
"""The codec's part of the effective latency, beside delay and jitter (catalogue, section 9)."""


@dataclass(frozen=True)
class Population:
    """The runs that came of a row's works.

    Attributes:
        asked: What was asked.
        reading: How the paper is read.
        results: What came.
    """

    asked: Asked
    reading: Reading
    results: Results

    def seeds(self, manager: Manager) -> Iterator[tuple[int, dict[Condition, Outcome]]]:
        """Each seed all of whose conditions are there, with them."""
        there = {
            condition: self.results.runs(label(manager, condition))
            for condition in conditions(self.asked.level)
        }
        for seed in self.asked.seeds:
            if all(seed in runs for runs in there.values()):
                yield seed, {condition: runs[seed] for condition, runs in there.items()}

    def runs(self, manager: Manager) -> Iterator[tuple[Condition, Outcome]]:
        """Every run that is there, whether its seed is complete or not."""
        for condition in conditions(self.asked.level):
            runs = self.results.runs(label(manager, condition))
            for seed in self.asked.seeds:
                if seed in runs:
                    yield condition, runs[seed]

    def of_seeds(
        self, manager: Manager, value: Callable[[dict[Condition, Outcome]], float]
    ) -> dict[int, float]:
        """A number of each complete seed."""
        return {seed: value(outcomes) for seed, outcomes in self.seeds(manager)}

    def share(self, manager: Manager, hit: Callable[[Condition, Outcome], bool]) -> Share | None:
        """Runs for which something holds; None where there is no run."""
        found = list(self.runs(manager))
        if not found:
            return None
        hits = sum(hit(condition, outcome) for condition, outcome in found)
        return Share(hits, len(found), tuple(sorted({outcome.number for _, outcome in found})))

    def latency(self, outcomes: Mapping[Condition, Outcome], probability: float) -> float:
        """A quantile of the game's one-way latency over conditions, milliseconds (K8, K2)."""
        return (
            quantile(self.latencies(outcomes.items()), probability) + self.reading.game_one_way_ms
        )

    def latencies(self, runs: Iterable[tuple[Condition, Outcome]]) -> list[Table]:
        """Distributions of the game's latency, with their weights (K8), without its path."""
        tables: list[Table] = []
        for condition, outcome in runs:
            games = [outcome.groups[name] for name in game_groups(condition.traffic)]
            tables += latencies(games, None if self.reading.by_packets else 1.0)
        return tables

    def mos(self, condition: Condition, outcome: Outcome) -> float:
        """Mean over the condition's sessions (K9)."""
        scores = [
            _effective(outcome, game, self.reading.game_one_way_ms)
            if self.reading.effective_latency
            else _e_model(outcome, game, self.reading)
            for game in game_groups(condition.traffic)
        ]
        return sum(scores) / len(scores)


def loss_percent(condition: Condition, outcome: Outcome) -> float:
    """The loss of the game's packets, all sessions together."""
    return value_of(outcome, "loss", game_groups(condition.traffic))


def queue_loss_percent(outcome: Outcome) -> float:
    """The loss of all packets that came to the service flow in the measured time.

    Its counters have every packet of every group, however many of a group's are recorded.
    """
    received = outcome.counters["sf_received"]
    lost = sum(outcome.counters[name] for name in ("sf_drop_aqm", "sf_drop_buffer_full"))
    return 100 * lost / received if received else math.nan


def value_of(
    outcome: Outcome,
    metric: str,
    of: Iterable[str],
    statistic: str = "mean",
    during: tuple[float, float] | None = None,
    bound_ms: float | None = None,
) -> float:
    """The value of a quantity; NaN where nothing was there to be measured."""
    return outcome.quantities[quantity(metric, list(of), statistic, during, bound_ms).key].value


def ratio(one: Mapping[int, float], other: Mapping[int, float]) -> Seeds:
    """The ratios of the seeds that both have."""
    return paired(one, other, of_two)


def paired(
    one: Mapping[int, float], other: Mapping[int, float], of: Callable[[float, float], float]
) -> Seeds:
    """Something of two numbers of each seed that both have."""
    return Seeds({seed: of(value, other[seed]) for seed, value in one.items() if seed in other})


def _e_model(outcome: Outcome, game: str, reading: Reading) -> float:
    """Section 9's MOS, with what the path has that the testbed has not.

    MOS(R) with R = 93.2 - Id(d) - Ie_eff(Ppl), as `measurement.voice` has it; d includes
    the path's one-way delay.
    """
    group = outcome.groups[game]
    if not group.latency:
        return 1.0
    least_ms = group.latency[0] + reading.game_one_way_ms
    robustness = (
        voice.PACKET_LOSS_ROBUSTNESS if reading.conceals else voice.ROBUSTNESS_WITHOUT_CONCEALMENT
    )
    rating = voice.rating(least_ms, value_of(outcome, "unplayable", [game]), robustness)
    return max(1.0, voice.mean_opinion_score(rating))


def _effective(outcome: Outcome, game: str, path_ms: float) -> float:
    """Section 9's second MOS: by mean, jitter and loss.

    MOS(R - 2.5 loss) with e = mean + 2 jitter + codec, milliseconds, and R = 93.2 - e / 40 where e
    is below 160, else 93.2 - (e - 120) / 10; the loss is in percent.
    """
    group = outcome.groups[game]
    if not group.latency:
        return 1.0
    mean_ms = group.values["latency mean"] + path_ms
    effective = mean_ms + 2 * value_of(outcome, "jitter", [game]) + _G711_MS
    rating = voice.BASIC_RATING - (effective / 40 if effective < 160 else (effective - 120) / 10)
    return max(1.0, voice.mean_opinion_score(rating - 2.5 * group.values["loss"]))
