# SPDX-License-Identifier: Apache-2.0
"""Samples of the compiled pipeline, as `docsis-switch sample` counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docsis_testbed import switch_report
from docsis_testbed.paths import P4_BUILD


@dataclass(frozen=True)
class Drops:
    """Decisions about frames in a row at a drop_prob that stays as it is.

    Attributes:
        drop_prob: From 0 to 13.6.
        frames: How many came.
        dropped: How many of them were dropped.
        runs: Frames from one drop to the next, that one included, and how often.
        windows: Drops in a thousand frames in a row, and how often.
    """

    drop_prob: float
    frames: int
    dropped: int
    runs: tuple[tuple[int, int], ...]
    windows: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sessions:
    """How often sessions with frames queued at the same time came together.

    Attributes:
        sessions: How many there were.
        queues: Sub-queues.
        search: In groups of 4, by serial search.
        trials: Times that other sessions were drawn.
        collisions: Trials in which at least two shared a sub-queue.
    """

    sessions: int
    queues: int
    search: bool
    trials: int
    collisions: int


@dataclass(frozen=True)
class Sampled:
    """All that is drawn.

    Attributes:
        plain: Sample of PIE, whose drops remember nothing.
        derandomised: Sample of DOCSIS-PIE at the same probability.
        curve: Samples of DOCSIS-PIE, by rising probability.
        hashed: Sample of 256 queues.
        groups: Sample of 64 queues, which is how often two come to a group.
        searched: Sample of 64 groups of 4 with serial search.
    """

    plain: Drops
    derandomised: Drops
    curve: Sequence[Drops]
    hashed: Sequence[Sessions]
    groups: Sequence[Sessions]
    searched: Sequence[Sessions]


def _sample(*arguments: str) -> list[dict[str, Any]]:
    program = str(P4_BUILD / "cm.json")
    results: list[dict[str, Any]] = switch_report.run("sample", *arguments, "--program", program)[
        "results"
    ]
    return results


def drops(manager: str, probabilities: Sequence[float], frames: int, seed: int) -> list[Drops]:
    """Frames through the pipeline at each probability.

    Args:
        manager: "docsis-pie", or "pie" for drops without memory.
        probabilities: drop_prob, from 0 to 13.6.
        frames: For each.
        seed: Determines what the pipeline draws.

    Raises:
        TestbedError: The switch is not built, or refuses; the words are its own.
    """
    values = [text for p in probabilities for text in ("--drop-prob", repr(p))]
    found = _sample(
        "drops", "--queue-manager", manager, "--frames", str(frames), "--seed", str(seed), *values
    )
    return [
        Drops(
            each["drop_prob"],
            each["frames"],
            each["dropped"],
            tuple((run, times) for run, times in each["run_lengths"]),
            tuple((drops, times) for drops, times in each["drops_in_1000"]),
        )
        for each in found
    ]


def sessions(
    numbers: Sequence[int], *, queues: int, search: bool, trials: int, seed: int
) -> list[Sessions]:
    """Sessions drawn at random, each with a frame queued, for each number of them.

    Raises:
        TestbedError: As for `drops`.
    """
    values = [text for n in numbers for text in ("--sessions", str(n))]
    found = _sample(
        "sessions", "--queues", str(queues), *(["--search"] if search else []),
        "--trials", str(trials), "--seed", str(seed), *values,
    )  # fmt: skip
    return [Sessions(**each) for each in found]
