# SPDX-License-Identifier: Apache-2.0
"""All runs from each of N seeds, in virtual time and in several processes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, nullcontext
from typing import Any, Final

from docsis_control.topology.models import Topology
from docsis_experiments.repetition.making import Made, Order
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.pool import play_all
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import key, units
from docsis_experiments.runs.workers import check_jobs
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import TestbedError

MOST_SEEDS: Final = 10_000


class Seeds:
    """See `making.Maker`. Outcomes stay where they are kept: equal inputs give equal ones."""

    words = "seeds"

    def __init__(self, jobs: int, store: Store) -> None:
        """Args: how many processes, and where outcomes are kept.

        Raises:
            TestbedError: The number of processes is out of range.
        """
        self._jobs = check_jobs(jobs)
        self._store = store
        self.stage = VirtualStage()

    @staticmethod
    def numbers(count: int) -> range:
        """The seeds from 1 up.

        Raises:
            TestbedError: There are too few or too many.
        """
        if not 1 <= count <= MOST_SEEDS:
            raise TestbedError(f"--seeds {count}: must be a number from 1 to {MOST_SEEDS}")
        return range(1, count + 1)

    @property
    def marks(self) -> dict[str, Any]:
        """See `Maker`."""
        return {"stage": "virtual", "jobs": self._jobs}

    def opened(self, what: str, topology: Topology) -> nullcontext[None]:
        """See `Maker`; there is nothing to be held."""
        del what, topology
        return nullcontext()

    def make(self, order: Order, made: Made) -> Generator[Outcome, None, None]:
        """See `Maker`."""
        keyed = {key(unit): unit for unit in units(order.loaded, order.runs, order.numbers)}
        there, told = self._store.there(keyed)
        made.kept = len(there)
        made.told += told
        yield from there.values()
        done = len(there)
        missing = [unit for one, unit in keyed.items() if one not in there]
        order.show(self._phase(done, order), done)
        with closing(play_all(missing, self._jobs)) as played:
            for one in played:
                done += 1
                if one.outcome is None:
                    made.failures.append(one.failure)
                else:
                    self._store.keep(one.outcome)
                    yield one.outcome
                order.show(self._phase(done, order), done)

    def finish(self, order: Order) -> None:
        """See `Maker`; what is kept may be of use again."""

    def _phase(self, done: int, order: Order) -> str:
        return f"{done} of {order.count} runs, {self._jobs} at a time"
