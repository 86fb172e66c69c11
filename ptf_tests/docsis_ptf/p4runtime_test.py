# SPDX-License-Identifier: Apache-2.0
"""First rung: a P4Runtime client, and writes that are undone whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import ptf.testutils
from ptf.base_tests import BaseTest

from docsis_control.p4rt.errors import ConnectionLost
from docsis_ptf.client import Client
from docsis_ptf.entities import Counts, Entry, Group
from docsis_ptf.params import TestParams
from docsis_ptf.profiles import lacks
from docsis_ptf.recorder import Recorder
from docsis_ptf.verdicts import Outcome, Verdict, write

# Table entries a write.
BATCH: Final = 500


class P4RuntimeTest(BaseTest):  # type: ignore[misc]  # PTF is untyped
    """A connection to the target as its primary client.

    A leaf test gives `cases()` and `doRunTest()`; every case's writes are undone
    before the next begins, and those of `setUp` at the end.

    Attributes:
        needs: Abilities that the target must have beyond forwarding, as in profiles.py:
            "registers", "shaping", "flow-queues", "packet-rate". They select tests as well, so
            that `^shaping` leaves such tests out; otherwise a target that cannot is found out by
            asking, and the test skipped.
        long: Whether the test takes long: it is in the group of that name, too, which
            `make test` leaves out.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    long: ClassVar[bool] = False
    # The error of the test that found no target to connect to.
    _gone: ClassVar[str] = ""
    # One case; its parameters are its own.
    doRunTest: Callable[..., None]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # PTF appends to this list in place: a class must not share its base's.
        cls._groups = [*cls.needs, *(["long"] if cls.long else [])]

    def setUp(self) -> None:
        super().setUp()
        # Not tearDown, which unittest leaves out when setUp fails.
        self.addCleanup(super().tearDown)
        self.params = TestParams.parse(ptf.testutils.TEST_PARAMS)
        try:
            self.client = Client.connect(self.params)
        except ConnectionLost as error:
            # Every other test would say the same.
            P4RuntimeTest._gone = str(error)
            self.skipTest(f"there is no target any more: {error}")
        self.addCleanup(self.client.close)
        for need in self.needs:
            known = self.params.lacking
            reason = known[need] if need in known else lacks(self.client, need)
            if reason:
                self.skipTest(f"{self.params.target}: {reason}")
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self.addCleanup(self.undo)

    def run(self, result: Any = None) -> None:
        """Runs the test as PTF does, and writes the verdict down; without a target the run ends."""
        recorder = Recorder(result)
        begun = time.monotonic()
        super().run(recorder)
        test = self.id().removesuffix(".runTest")
        verdict = recorder.verdict(test, time.monotonic() - begun)
        if P4RuntimeTest._gone:
            verdict = Verdict(test, Outcome.NOT_RUN, P4RuntimeTest._gone)
            result.stop()
        if path := TestParams.parse(ptf.testutils.TEST_PARAMS).verdicts:
            write(Path(path), verdict)

    def tearDown(self) -> None:
        """Nothing: see setUp."""

    def shortDescription(self) -> str | None:
        """The test's subject, rather than that it walks its cases."""
        return (self.__doc__ or "").partition("\n")[0] or None

    def cases(self) -> Iterable[Mapping[str, Any]]:
        """The parameters of each case; one without any by default."""
        return [{}]

    def runTest(self) -> None:
        """Walks the cases; one that fails does not keep the others from running."""
        lost: ConnectionLost | None = None
        for case in self.cases():
            with self.subTest(**case):
                before = len(self._undo)
                try:
                    self.doRunTest(**case)
                except ConnectionLost as error:
                    lost = error
                    raise
                except BaseException:
                    self.endFailedCase()
                    raise
                finally:
                    if lost is None:
                        self.undo(before)
            if lost is not None:
                # Nothing can be asked or undone, and other cases would only say so again.
                self._undo.clear()
                return
        with self.subTest(at="the end"):
            self.endTest()

    def endFailedCase(self) -> None:
        """Removes what a case that failed would leave to the next one beside its entries."""

    def endTest(self) -> None:
        """Looks, behind all cases, for what must not have happened meanwhile."""

    def undo(self, keep: int = 0) -> None:
        """Takes back all writes but the first `keep`, the latest first."""
        failures: list[str] = []
        while len(self._undo) > keep:
            what, action = self._undo.pop()
            try:
                action()
            except Exception as error:  # the rest must be undone, too
                failures.append(f"{what}: {error}")
        if failures:
            self.fail("could not be undone: " + "; ".join(failures))

    def insert(self, entry: Entry) -> None:
        """Inserts a table entry for the rest of the case."""
        self.client.insert(entry)
        self._undo.append((f"insertion into {entry.table}", lambda: self.client.delete(entry)))

    def insert_all(self, entries: Sequence[Entry]) -> None:
        """Inserts table entries in batches for the rest of the case."""
        for first in range(0, len(entries), BATCH):
            batch = entries[first : first + BATCH]
            self.client.insert_all(batch)
            self._undo.append((f"{len(batch)} insertions", partial(self.client.delete_all, batch)))

    def modify(self, entry: Entry) -> None:
        """Changes an entry, default entries included, for the rest of the case."""
        before = self.client.read(entry)
        self.client.modify(entry)
        self._undo.append((f"change of {entry.table}", lambda: self.client.modify(before)))

    def remove(self, entry: Entry) -> None:
        """Deletes an entry for the rest of the case."""
        before = self.client.read(entry)
        self.client.delete(entry)
        self._undo.append((f"deletion from {entry.table}", lambda: self.client.insert(before)))

    def insert_group(self, group: Group) -> None:
        """Creates a multicast group for the rest of the case."""
        self.client.insert(group)
        self._undo.append((f"group {group.group_id}", lambda: self.client.delete(group)))

    def counts(self, counter: str, *indexes: int) -> list[Counts]:
        """An indirect counter's values."""
        return self.client.counters([(counter, index) for index in indexes])

    def poll(
        self,
        what: str | Callable[[], str],
        condition: Callable[[], bool],
        seconds: float | None = None,
    ) -> None:
        """Waits until the condition holds, and fails with `what` when it never does.

        `seconds` is the longest wait, for what takes its time by design.
        """
        assert_time_left = self.time_limit(what, seconds)
        while not condition():
            assert_time_left()
            time.sleep(0.0005)

    def time_limit(
        self, what: str | Callable[[], str], seconds: float | None = None
    ) -> Callable[[], None]:
        """A time limit, from now on, for a loop that does more than wait, as in `poll`.

        Returns:
            A function for each turn of the loop: it fails the test with `what` when time is up.
        """
        deadline = time.monotonic() + (self.params.timeout if seconds is None else seconds)

        def assert_time_left() -> None:
            if time.monotonic() > deadline:
                self.fail(f"waited in vain: {what if isinstance(what, str) else what()}")

        return assert_time_left
