# SPDX-License-Identifier: Apache-2.0
"""Sessions drawn at random, and which of them meet in a flow queue of the compiled pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from docsis_experiments.reproduction.row import Asked, Draws, Level, Results, Share

TRIALS: Final = 1_000_000
"""Trials of all registered seeds together, for each number of sessions (rows F8 and F9)."""

SEEDS: Final = 20
"""Seeds that are registered for them. A study has fewer, and so fewer trials, and an extension has
more: a seed has the same trials in all of them, so that each draws what another has not drawn."""

_TRIALS_AT_SMOKE: Final = 20_000
"""Of the one seed."""

QUEUES: Final = 256


@dataclass(frozen=True)
class Hashed:
    """How sessions come to flow queues.

    Attributes:
        search: In groups of four, by serial search.
        sessions: Each number of them is drawn.
    """

    search: bool
    sessions: tuple[int, ...]

    @property
    def label(self) -> str:
        """The label that the rows have for it."""
        return "search" if self.search else "plain"


def draws(hashed: Hashed, asked: Asked) -> Iterable[Draws]:
    """As many trials as the rule wants, divided among the registered seeds."""
    trials = _TRIALS_AT_SMOKE if asked.level is Level.SMOKE else TRIALS // SEEDS
    numbers = [word for n in hashed.sessions for word in ("--sessions", str(n))]
    for seed in asked.seeds:
        arguments = (
            "sessions", "--queues", str(QUEUES), *(["--search"] if hashed.search else []),
            "--trials", str(trials), "--seed", str(seed), *numbers,
        )  # fmt: skip
        yield Draws(hashed.label, arguments, seed)


def meetings(results: Results, label: str, sessions: int) -> Mapping[int, tuple[int, int]]:
    """Trials in which sessions met, and all trials, by seed."""
    return {
        seed: (each["collisions"], each["trials"])
        for seed, report in results.draws(label).items()
        for each in cast("Sequence[Mapping[str, Any]]", report["results"])
        if each["sessions"] == sessions
    }


def together(found: Mapping[int, tuple[int, int]]) -> Share:
    """The share over all seeds."""
    return Share(
        sum(hits for hits, _ in found.values()),
        sum(trials for _, trials in found.values()),
        tuple(sorted(found)),
    )
