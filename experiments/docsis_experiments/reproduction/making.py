# SPDX-License-Identifier: Apache-2.0
"""Makes what is not there yet, and keeps each result as it comes.

Row after row, so that one that is stopped has whole rows; within a row the longest first, so that
no processor waits for another at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from docsis_experiments.reproduction import small_works
from docsis_experiments.reproduction.costs.features import Reader
from docsis_experiments.reproduction.costs.ledger import Ledger
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.row import Computation, Draws, Run, Work
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs import pool, workers
from docsis_experiments.runs.pool import Played
from docsis_experiments.runs.unit import Unit
from docsis_experiments.runs.workers import Ended, Job
from docsis_testbed.errors import TestbedError

Show = Callable[[str, float, str], None]
"""Called with a work's name, the core-seconds, as estimated, of all that has ended, and why the
work failed, or "" where it did not."""

MOST_ALIKE: Final = 20
"""Works one after the other that fail for the same reason before nothing more is tried: a disk that
is full, or code that was changed, would fail all others, too."""


@dataclass
class Account:
    """The account of what was made.

    Attributes:
        works: Keys of those that are needed.
        kept: Keys of those of them that were there already.
        made: Keys of those that were made.
        failures: Why works failed, by key.
        seconds: The time of the works whose time is known.
        estimated: What was estimated for those.
    """

    works: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    estimated: float = 0.0

    def add(self, other: Account) -> None:
        """Adds what was made afterwards: what was there already then may have been made here."""
        self.works |= other.works
        self.kept |= other.kept - self.made
        self.made |= other.made
        self.failures |= other.failures
        self.seconds += other.seconds
        self.estimated += other.estimated


@dataclass(frozen=True)
class Done:
    """The result of a work.

    Attributes:
        work: The work.
        keep: Keeps what came of it; None where it failed.
        failure: Why; "" where it did not.
        processor_seconds: The time that it took, where that is known.
    """

    work: Work
    keep: Callable[[Shelf, str], None] | None
    failure: str
    processor_seconds: float | None


class Player(Protocol):
    """Makes works somewhere."""

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        """Yields what came of each, as it comes; closed, it ends all that goes on."""


class Processes:
    """Makes works in processes of this machine."""

    def __init__(self, jobs: int) -> None:
        """Args: how many at a time.

        Raises:
            TestbedError: It is out of range.
        """
        self.jobs = workers.check_jobs(jobs)

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        """See `Player`.

        Raises:
            TestbedError: There are draws among them, and no switch to make these. Nothing is made.
        """
        if any(isinstance(work, Draws) for work in works):
            small_works.check_draws()
        jobs: Iterator[Job[Any]] = (
            pool.job(work.unit) if isinstance(work, Run) else small_works.job(work)
            for work in works
        )
        # Units and other works are told apart by what they are: each is asked for once.
        of_units = {work.unit: work for work in works if isinstance(work, Run)}
        with closing(workers.do_all(jobs, self.jobs)) as each:
            for ended in each:
                if isinstance(ended.what, Unit):
                    yield played(of_units[ended.what], pool.played(ended))
                else:
                    yield _understood(ended)


class Cluster:
    """Has runs played on a cluster, and makes all else here."""

    def __init__(
        self, play: Callable[[Sequence[Unit]], Generator[Played, None, None]], here: Processes
    ) -> None:
        """Args: plays units on the cluster; makes other works."""
        self._play = play
        self._here = here

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        """See `Player`."""
        with closing(self._here([work for work in works if not isinstance(work, Run)])) as each:
            yield from each
        runs = {work.unit: work for work in works if isinstance(work, Run)}
        if runs:
            with closing(self._play(list(runs))) as each_played:
                for one in each_played:
                    yield played(runs[one.unit], one)


def make(
    plan: Plan,
    missing: Mapping[str, Work],
    player: Player,
    shelf: Shelf,
    ledger: Ledger,
    estimated: Mapping[str, float],
    show: Show,
    account: Account,
) -> None:
    """Makes what is missing.

    Args:
        plan: What rows ask for.
        missing: What is made of it, by key.
        player: Makes it.
        shelf: Gets what comes of it.
        ledger: Gets what it took.
        estimated: Core-seconds of each, by key.
        show: Tells how far it is.
        account: Gets what was made; it is right at any moment, so that one that is stopped is told.

    Raises:
        TestbedError: Nothing can be made at all, or be kept, or too many works in a row failed for
            the same reason.
    """
    ordered = order(plan, missing, estimated)
    keys = {id(missing[key]): key for key in ordered}
    read = Reader()
    passed = 0.0
    alike = _Alike(_rows_of(plan, ordered))
    with closing(player([missing[key] for key in ordered])) as each:
        for done in each:
            key = keys[id(done.work)]
            passed += estimated[key]
            if done.keep is None:
                account.failures[key] = done.failure
            else:
                done.keep(shelf, key)
                account.made.add(key)
                if done.processor_seconds is not None:
                    ledger.note(read.of(done.work), done.processor_seconds)
                    account.seconds += done.processor_seconds
                    account.estimated += estimated[key]
            show(words(done.work), passed, done.failure)
            alike.look(done, key)


class _Alike:
    """Ends a sitting in which one work after the other fails for the same reason.

    A reason that one row alone has may be the row's own, and others can still be made.
    """

    def __init__(self, rows: Mapping[str, frozenset[str]]) -> None:
        """Args: the rows that need a work, by its key."""
        self._rows = rows
        self._others = len(frozenset().union(*rows.values())) > 1
        self._reason = ""
        self._count = 0
        self._common: frozenset[str] = frozenset()

    def look(self, done: Done, key: str) -> None:
        """Looks at the next work that has ended.

        Raises:
            TestbedError: It is the last one of too many.
        """
        reason, rows = _reason(done), self._rows[key]
        if reason and reason == self._reason:
            self._count += 1
            self._common &= rows
        else:
            self._reason, self._count, self._common = reason, 1, rows
        if reason and self._count >= MOST_ALIKE and not (self._others and self._common):
            raise TestbedError(
                f"{self._count} runs and draws in a row failed for the same reason, so no other is "
                f"tried; the last: {done.failure}"
            )


def _rows_of(plan: Plan, keys: Iterable[str]) -> dict[str, frozenset[str]]:
    """The ids of the rows that need each of some works."""
    found: dict[str, set[str]] = {key: set() for key in keys}
    for planned in plan.rows:
        for key in found.keys() & planned.keys:
            found[key].add(planned.row.id)
    return {key: frozenset(rows) for key, rows in found.items()}


def _reason(done: Done) -> str:
    """Why a work failed, without what is its own: its name, and paths of its scratch folder."""
    return re.sub(r"\S*/\S*", "", done.failure.removeprefix(f"{words(done.work)}: "))


def order(plan: Plan, missing: Mapping[str, Work], estimated: Mapping[str, float]) -> list[str]:
    """Keys of what is missing, in the order in which it is made."""
    found: dict[str, None] = {}
    for planned in plan.rows:
        there = dict.fromkeys(entry.key for entry in planned.entries if entry.key in missing)
        for key in sorted(there, key=lambda key: -estimated[key]):
            found.setdefault(key)
    return list(found)


def words(work: Work) -> str:
    """A work for people."""
    seed = work.unit.seed if isinstance(work, Run) else work.seed
    return f"{work.label}, seed {seed}"


def played(run: Run, found: Played) -> Done:
    """Makes the result of a run."""
    outcome = found.outcome
    if outcome is None:
        return Done(run, None, found.failure, None)
    return Done(run, lambda shelf, key: shelf.store.keep(outcome), "", found.processor_seconds)


def _understood(ended: Ended[Draws | Computation]) -> Done:
    if ended.content is None:
        return Done(ended.what, None, f"{ended.words}: {ended.failure}", None)
    try:
        found = small_works.understood(ended.what, ended.content)
    except ValueError as error:
        failure = f"{ended.words}: its process answered what nobody asked for ({error})"
        return Done(ended.what, None, failure, None)
    except TestbedError as error:
        return Done(ended.what, None, f"{ended.words}: {error}", None)
    work = ended.what
    return Done(work, lambda shelf, key: shelf.keep(work, key, found), "", ended.processor_seconds)
