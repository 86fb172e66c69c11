# SPDX-License-Identifier: Apache-2.0
"""Plays units on a Dask cluster, and yields what came of each as it comes.

What goes between the machines is text and Parquet, validated on either side, as with a pool of
processes. Dask itself pickles what is around it: see `tls.py` for who may take part.

A worker is asked for its code, pipeline and world before it gets a unit, and gets none where they
are not ours. As many units are on their way as the accepted workers have threads: what a worker
that dies had, Dask gives to others, and what none of the present workers may play is taken back.
One that hangs keeps nobody waiting: a unit has as long as in a pool of processes, and a worker that
does not answer the question gets none. Dask cannot end what a worker's thread does, so a thread
that was late gets no other unit, and what waits at a worker without a free thread is taken back.
"""

from __future__ import annotations

import logging
import queue
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from docsis_experiments.runs import loaded_code, sources, workers
from docsis_experiments.runs.pool import Played, answered, understood, words
from docsis_experiments.runs.unit import Unit
from docsis_experiments.sweeps.tls import Access
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from distributed import Client, Future

MOST_SECONDS_ALONE: Final = 60.0
"""Without a worker that may play."""

_LOOK_SECONDS: Final = 1.0
"""Between two looks at who is there."""

Tell = Callable[[str], None]
"""Called with what a user should know while units are played."""


def _alone_seconds() -> float:
    return MOST_SECONDS_ALONE


def play_all(
    units: Iterable[Unit],
    access: Access,
    tell: Tell,
    alone_seconds: Callable[[], float] = _alone_seconds,
) -> Generator[Played, None, None]:
    """Plays units; close the iterator to let go of all that is not played yet.

    Args:
        units: What is played, in this order as far as possible.
        access: Access to the cluster's scheduler.
        tell: Gets a sentence for each worker that is refused.
        alone_seconds: How long to wait for a worker.

    Yields:
        What came of each, in the order in which they end.

    Raises:
        TestbedError: The scheduler is not there or goes away, or there is no worker to be had.
    """
    access.check()
    with _connected(access) as client:
        crew = _Crew(client, access, tell, alone_seconds)
        yield from _played(client, crew, deque(units))


@contextmanager
def _connected(access: Access) -> Iterator[Client]:
    from distributed import Client, Security
    from distributed.comm.core import CommClosedError

    # What it would say about lost connections is said in our own words.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    security = Security(
        require_encryption=True,
        tls_ca_file=str(access.ca),
        tls_client_cert=str(access.certificate),
        tls_client_key=str(access.key),
    )
    try:
        client = Client(
            access.address, security=security, timeout=10, set_as_default=False, name="docsis-p4"
        )
    except (OSError, CommClosedError, TimeoutError) as error:
        raise TestbedError(
            f"--scheduler {access.address}: is no scheduler of Dask ({_short(error)})"
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=5)


@dataclass
class _Sent:
    unit: Unit
    workers: frozenset[str]
    until: float


class _Crew:
    """The workers that are there, and whether they may play."""

    def __init__(
        self, client: Client, access: Access, tell: Tell, alone_seconds: Callable[[], float]
    ) -> None:
        self._client = client
        self._access = access
        self._tell = tell
        self._alone_seconds = alone_seconds
        self._refusals: dict[str, str] = {}
        self._asking: dict[str, Future[Any]] = {}
        self._looked = -_LOOK_SECONDS
        self._last_seen = time.monotonic()
        self._hanging: dict[str, int] = {}
        self.accepted: dict[str, int] = {}

    @property
    def threads(self) -> int:
        """The number of threads of all workers that may play, without those that hang."""
        return sum(self.accepted.values())

    def look(self) -> None:
        """Sees who is there; at most every second.

        Raises:
            TestbedError: The scheduler has gone, or nobody who may play has been there for long.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        present = self._present()
        self._ask([address for address in present if address not in self._refusals])
        for address, answer in self._answers(present):
            self._refusals[address] = words = refusal(answer)
            if words:
                self._tell(f"worker {address} is refused: {words}")
        self._hanging = {
            address: count for address, count in self._hanging.items() if address in present
        }
        free = {
            address: threads - self._hanging.get(address, 0)
            for address, threads in present.items()
            if not self._refusals.get(address, "unknown")
        }
        self.accepted = {address: threads for address, threads in free.items() if threads > 0}
        if self.accepted:
            self._last_seen = now
        elif now - self._last_seen > self._alone_seconds():
            why = "none of its workers may play" if present else "there is no worker"
            raise TestbedError(
                f"--scheduler {self._access.address}: {why}; start one with `dask worker "
                f"{self._access.address}` and its --tls options from a clone of this version; what "
                "has been played is kept"
            )

    def late(self, key: object, unit: Unit) -> None:
        """Takes the thread that was late with a unit out of those that play, and tells so.

        Args:
            key: Key of the unit's future, which is not cancelled yet.
            unit: The unit.

        Raises:
            TestbedError: The scheduler has gone.
        """
        for address in [place for place, keys in self._at_work().items() if key in keys]:
            self._hanging[address] = self._hanging.get(address, 0) + 1
            left = self.accepted.pop(address, 0) - 1
            if left > 0:
                self.accepted[address] = left
            self._tell(
                f"worker {address} took more than {workers.MOST_SECONDS:.0f} s for {words(unit)} "
                "and cannot be stopped: it plays "
                + (f"{left} at a time from now on" if left > 0 else "no more until it is restarted")
            )

    def stuck(self) -> frozenset[object]:
        """Keys of what is at workers all of whose threads hang: it would never begin.

        Raises:
            TestbedError: The scheduler has gone.
        """
        full = self._hanging.keys() - self.accepted.keys()
        if not full:
            return frozenset()
        at_work = self._at_work()
        return frozenset(key for address in full for key in at_work.get(address, ()))

    def _present(self) -> dict[str, int]:
        """Threads by address."""
        with self._told_if_gone():
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return {address: int(entry["nthreads"]) for address, entry in workers.items()}

    def _at_work(self) -> Mapping[str, Collection[object]]:
        """Keys of what each worker has, begun or not, by address."""
        with self._told_if_gone():
            found: Mapping[str, Collection[object]] = self._client.processing()
        return found

    @contextmanager
    def _told_if_gone(self) -> Iterator[None]:
        try:
            yield
        except (OSError, TimeoutError, RuntimeError) as error:
            raise TestbedError(
                f"--scheduler {self._access.address}: has gone away ({_short(error)}); what has "
                "been played is kept, and the same command goes on from there"
            ) from None

    def _ask(self, new: Iterable[str]) -> None:
        """Asks workers for their parts, without waiting: one that hangs never answers.

        A worker loads all code before it answers, so that what it plays later is what it names.
        """
        for address in new:
            if address not in self._asking:
                self._asking[address] = self._client.submit(
                    loaded_code.parts,
                    workers=[address],
                    allow_other_workers=False,
                    pure=False,
                )

    def _answers(self, present: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Yields each new answer, or the error in its place, with the worker's address.

        A worker that has gone away is asked again when it comes back.
        """
        for address in set(self._asking).difference(present):
            self._asking.pop(address).cancel()
        for address, future in list(self._asking.items()):
            if not future.done():
                continue
            del self._asking[address]
            if future.status == "finished":
                yield address, future.result(timeout=60)
            elif future.status == "error" and not _has_gone(error := future.exception(timeout=60)):
                yield address, error


def _has_gone(error: object) -> bool:
    from distributed.scheduler import KilledWorker

    return isinstance(error, (KilledWorker, OSError))


def refusal(answer: Any) -> str:
    """Why a worker with such an answer may not play; "" where it may.

    Args:
        answer: What it says of its code, pipeline and world; or the error instead.
    """
    if isinstance(answer, TestbedError) and str(answer) == sources.CHANGED:
        return f"its code, pipeline or world was changed after it had begun; {_START}"
    if not isinstance(answer, Mapping):
        return f"it has not this version of docsis-p4 ({_short(answer)}); {_START}"
    ours = sources.parts("virtual")
    theirs = answer.get("python", ours["python"])
    if theirs != ours["python"]:
        return (
            f"it has Python {_short(theirs)} and this program has Python {ours['python']}, and "
            f"their results differ in last digits; start it with Python {ours['python']}"
        )
    other = [name for name in ours if answer.get(name) != ours[name]]
    if not other:
        return ""
    verb = "is" if len(other) == 1 else "are"
    return f"its {' and '.join(other)} {verb} not the same as here; {_START}"


_START: Final = "start it from a clone of this version"


def _played(client: Client, crew: _Crew, waiting: deque[Unit]) -> Iterator[Played]:
    ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    sent: dict[Future[Any], _Sent] = {}
    while waiting or sent:
        crew.look()
        stuck = crew.stuck()
        for future, one in list(sent.items()):
            if future.done():
                continue
            if future.key in stuck or not one.workers & crew.accepted.keys():
                # All that it may be played by have gone or hang: others take it.
                del sent[future]
                future.cancel()
                waiting.appendleft(one.unit)
            elif time.monotonic() >= one.until:
                crew.late(future.key, one.unit)
                stuck = crew.stuck()
                del sent[future]
                future.cancel()
                # It would take as long again.
                late = f"its worker took more than {workers.MOST_SECONDS:.0f} s"
                yield Played(one.unit, None, f"{words(one.unit)}: {late}")
        while waiting and len(sent) < crew.threads:
            unit = waiting.popleft()
            future = client.submit(
                answered,
                unit.as_json().encode(),
                workers=list(crew.accepted),
                allow_other_workers=False,
                pure=False,
            )
            until = time.monotonic() + workers.MOST_SECONDS
            sent[future] = _Sent(unit, frozenset(crew.accepted), until)
            future.add_done_callback(ended.put)
        try:
            future = ended.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            continue
        ours = sent.pop(future, None)
        if ours is None:
            continue  # taken back
        if future.status in ("cancelled", "lost"):
            waiting.appendleft(ours.unit)
            continue
        yield _outcome(future, ours.unit)


def _outcome(future: Future[Any], unit: Unit) -> Played:
    from distributed.scheduler import KilledWorker

    name = words(unit)
    try:
        answer = future.result(timeout=60)
    except KilledWorker:
        return Played(unit, None, f"{name}: every worker that played it died")
    except Exception as error:  # whatever a worker sends: it fails one unit alone
        return Played(unit, None, f"{name}: its worker failed ({_short(error)})")
    if not isinstance(answer, bytes):
        return Played(unit, None, f"{name}: its worker answered what is no outcome")
    return understood(unit, answer)


def _short(error: object) -> str:
    words = " ".join(str(error).split())
    return (words or type(error).__name__)[:200]
