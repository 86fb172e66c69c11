# SPDX-License-Identifier: Apache-2.0
"""Dynamic service while faults happen in Mininet, and what is known of what came of it.

The controller's answer tells whether a change was made. Where it dies or is stopped before it
answers, nobody knows: from then on both are possible, until the switches show which it was.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

from docsis_control.config.models import KeyedError
from docsis_control.dynamic.change import changed
from docsis_control.dynamic.client import ChangeError, ChangeUnknownError, apply
from docsis_control.plan import Deployment
from docsis_control.provisioning import deploy
from docsis_experiments.chaos.changing import Wish, Wishes
from docsis_experiments.chaos.mininet.leftovers import THREADS


class Changes:
    """One change after the other, each in a thread of its own; told of from one thread.

    Attributes:
        outcomes: What became of them.
    """

    def __init__(self, first: Deployment, seed: int) -> None:
        """Args: what a controller begins with, and the seed of all draws."""
        self.outcomes: Counter[str] = Counter()
        self._first = first
        self._possible = [first]
        self._lives = 1
        self._wishes = Wishes(seed)
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None

    @property
    def lives(self) -> int:
        """How many controllers there were."""
        return self._lives

    @property
    def going_on(self) -> bool:
        """Whether one has not been answered yet."""
        return self._asking is not None and self._asking.is_alive()

    @property
    def unsure(self) -> bool:
        """Whether nobody knows what became of the last one."""
        return len(self._possible) > 1

    def begin_anew(self) -> None:
        """Another controller has begun, which knows the topology alone."""
        with self._lock:
            self._lives += 1
            self._possible = [self._first]

    def possible(self) -> list[Deployment]:
        """What may be deployed; the likelier comes first."""
        with self._lock:
            return list(self._possible)

    def shown(self, which: Deployment) -> None:
        """The switches have this one."""
        with self._lock:
            if any(one is which for one in self._possible):
                self._possible = [which]

    def nobody_there(self) -> None:
        """There was nobody whom a change could be asked of."""
        self.outcomes["nobody there"] += 1

    def ask(self, pid: int) -> None:
        """Asks a controller for something; one at a time.

        Args:
            pid: Its process.
        """
        if self.going_on or self.unsure:
            self.outcomes["not asked"] += 1
            return
        before, life = self._possible[0], self._lives
        wish = self._wishes.next(before)
        self._asking = threading.Thread(
            target=self._ask, args=(wish, before, life, pid), name=f"{THREADS}change", daemon=True
        )
        self._asking.start()

    def _ask(self, wish: Wish, before: Deployment, life: int, pid: int) -> None:
        try:
            after = _after(before, wish)
        except KeyedError:
            # Such as more service flows than there is room for: the controller refuses it, too.
            self.outcomes["refused"] += 1
            return
        now, outcome = [after], "made"
        try:
            apply(wish.modem, wish.changes, pid, managed=wish.managed)
        except ChangeUnknownError:
            now, outcome = [before, after], "nobody knows"
        except ChangeError:
            now, outcome = [before], "not made"
        with self._lock:
            self.outcomes[outcome] += 1
            # Unless there is another controller by now, which knows nothing of it.
            if self._lives == life:
                self._possible = now

    def wait(self, seconds: float) -> None:
        """Until the last one has been answered, at most so long."""
        if self._asking is not None:
            self._asking.join(seconds)


def compared(changes: Changes, differences: Callable[[Deployment], list[str]]) -> Iterator[str]:
    """What is deployed otherwise than it may be, in words.

    Args:
        changes: Which deployments are possible.
        differences: What the switches have otherwise than in one of them, in words.
    """
    said: list[str] = []
    for deployment in changes.possible():
        here = differences(deployment)
        if not here:
            changes.shown(deployment)
            return
        said = said or here
    yield from said


def _after(before: Deployment, wish: Wish) -> Deployment:
    """What a controller has deployed after a wish."""
    modem = next(one for one in before.modems if one.name == wish.modem)
    configurations = {one.name: one.configuration for one in before.modems}
    configurations[wish.modem] = changed(modem.configuration, wish.changes)
    managers = {
        (modem.number, one.direction, one.reference): one.management for one in wish.managed
    }
    return deploy(
        before.topology,
        before.upstream,
        before.downstream,
        changed=configurations,
        managers=managers,
        before=before,
    )
