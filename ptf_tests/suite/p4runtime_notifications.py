# SPDX-License-Identifier: Apache-2.0
"""What the target tells its primary by itself: digests, and entries that nobody hits.

P4Runtime 1.5, sections 9.1.8, 9.8, 16.3 and 16.4, and the same in 1.3 and 1.4. The pipeline under
test has neither, so these tests push the program `entities`, a small one of the project's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

import grpc

from docsis_ptf import notification_test
from docsis_ptf.messages import DELETE, INSERT, MODIFY, Do, Exact, Match, update
from docsis_ptf.protocol_test import QUIET_SECONDS

CODE: Final = grpc.StatusCode
HOUR_NS: Final = 3_600_000_000_000
MILLISECOND_NS: Final = 1_000_000


class Digests(notification_test.NotificationTest):
    """A list comes when it is full; what is told once is not told again before its time."""

    def doRunTest(self) -> None:
        self.learn()
        # Full: two that differ. The same frame twice counts once.
        self.do(update(INSERT, self.digest(max_list_size=2, max_timeout_ns=HOUR_NS)))
        for source in (1, 1, 2):
            self.frame(source)
        first = self.expect_learnt((1, 2), longest=2)
        # Told and not acknowledged: new ones alone make a list.
        for source in (1, 2, 3, 4):
            self.frame(source)
        second = self.expect_learnt((3, 4), longest=2)
        ids = [told.list_id for told in (*first, *second)]
        self.assertEqual(len(set(ids)), len(ids), f"lists of one number: {ids}")
        # Acknowledged: what was told first is new again. Nobody says when that is in force.
        for told in first:
            self.acknowledge(told)
        due = {(1, self.near), (2, self.near)}
        assert_time_left = self.time_limit("digest lists of what was acknowledged")
        while due:
            for source in (1, 2):
                self.frame(source)
            while due and (message := self.heard(0.05)) is not None:
                due -= self.expect_some_of(due, self.list_of(message), longest=2)
            assert_time_left()


class DigestTimeouts(notification_test.NotificationTest):
    """A list that does not become full comes when it is old; acknowledgements may time out, too."""

    def doRunTest(self) -> None:
        self.learn()
        slow = self.digest(max_list_size=1000, max_timeout_ns=20 * MILLISECOND_NS)
        self.do(update(INSERT, slow))
        self.frame(5)
        self.assertEqual(self.learnt(self.expect_list()), [(5, self.near)])
        # With no time to acknowledge nothing is remembered, and with lists of one all come at once.
        self.do(update(MODIFY, self.digest(max_list_size=1, max_timeout_ns=0, ack_timeout_ns=0)))
        for _ in range(3):
            self.frame(6)
            self.assertEqual(self.learnt(self.expect_list()), [(6, self.near)])


class DigestConfiguration(notification_test.NotificationTest):
    """Digests are enabled, changed, read and disabled; without that none comes."""

    def doRunTest(self) -> None:
        self.learn()
        config = self.digest(max_list_size=1, max_timeout_ns=0)
        for kind, said in ((MODIFY, "a change"), (DELETE, "a deletion")):
            self.assert_refused(
                update(kind, config), CODE.NOT_FOUND, said=f"{said} of what is not enabled"
            )
        self.do(update(INSERT, config))
        (told,) = self.read(self.digest_key())
        self.assertEqual(told, config)
        self.assert_refused(update(INSERT, config), CODE.ALREADY_EXISTS, said="enabled again")
        changed = self.digest(max_list_size=1, max_timeout_ns=0, ack_timeout_ns=5)
        self.do(update(MODIFY, changed))
        (told,) = self.read(self.digest_key())
        self.assertEqual(told, changed)
        self.frame(8)
        self.assertEqual(self.learnt(self.expect_list()), [(8, self.near)])
        self.do(update(DELETE, self.digest_key()))
        self.frame(9)
        self.assertIsNone(self.heard(QUIET_SECONDS), "a digest that is not enabled any more")
        self.do(update(INSERT, config))
        self.frame(10)
        # A target may still have had the one before in its hands.
        assert_time_left = self.time_limit("a digest list of what came last")
        while (10, self.near) not in self.learnt(self.expect_list()):
            assert_time_left()


class IdleTimeouts(notification_test.NotificationTest):
    """An entry that nobody hits is told with its key, again and again; one that is hit is not."""

    TTL_NS: Final = 100 * MILLISECOND_NS

    def station(self, address: int, ttl: int) -> Any:
        match = {"hdr.ethernet.src": Exact(address)}
        return self.names.entry(
            self.STATIONS,
            match,
            Do("TestIngress.known"),
            idle_timeout_ns=ttl,
            metadata=b"whose",
        )

    def doRunTest(self) -> None:
        ttls = (self.TTL_NS, HOUR_NS, 0, self.TTL_NS)
        entries = [self.station(address, ttl) for address, ttl in enumerate(ttls, start=1)]
        self.do(*(update(INSERT, entity) for entity in entries))
        self.undone(entries)
        for entity in entries:
            (told,) = self.read(self.key_of(entity))
            self.assertEqual(
                (told.table_entry.idle_timeout_ns, told.table_entry.metadata),
                (entity.table_entry.idle_timeout_ns, b"whose"),
            )
        # The first, and more than once, while the last is hit again and again.
        told, longest_ns = self.hit_until_told_twice(4, entries[0])
        for idle in told:
            self.assertEqual(idle.idle_timeout_ns, self.TTL_NS, "an entry that has no such time")
        # This machine may have been too slow to hit in time, which it then knows.
        if len(told) > 2:
            self.assertGreaterEqual(longest_ns, self.TTL_NS, f"told although it was hit: {told}")

    def hit_until_told_twice(self, address: int, wanted: Any) -> tuple[list[Any], int]:
        """Sends frames that hit one entry until another one has been told twice.

        Returns:
            All that was told, and the longest that no hit may have come in between, nanoseconds.
        """
        told: list[Any] = []
        longest_ns, last_ns = 0, time.monotonic_ns()
        assert_time_left = self.time_limit("an idle entry, twice")
        while sum(idle.match == wanted.table_entry.match for idle in told) < 2:
            begun_ns = time.monotonic_ns()
            self.frame(address)
            # The hit was somewhere between these two moments.
            longest_ns, last_ns = max(longest_ns, time.monotonic_ns() - last_ns), begun_ns
            while (message := self.heard(0)) is not None:
                told += self.idle_entries(message)
                assert_time_left()
            assert_time_left()
        return told, longest_ns


class SinceLastHit(notification_test.NotificationTest):
    """time_since_last_hit is told where it is asked for, of entries without an idle time, too."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"idle_timeout_ns": HOUR_NS}, {"idle_timeout_ns": 0}]

    def doRunTest(self, idle_timeout_ns: int) -> None:
        match: dict[str, Match] = {"hdr.ethernet.src": Exact(3)}
        known = Do("TestIngress.known")
        entity = self.names.entry(self.STATIONS, match, known, idle_timeout_ns=idle_timeout_ns)
        self.do(update(INSERT, entity))
        self.undone([entity])
        (told,) = self.read(self.key_of(entity))
        self.assertFalse(told.table_entry.HasField("time_since_last_hit"))
        asked = self.key_of(entity)
        asked.table_entry.time_since_last_hit.SetInParent()

        def since() -> int:
            (found,) = self.read(asked)
            return int(found.table_entry.time_since_last_hit.elapsed_ns)

        self.poll("time that passes without a hit", lambda: since() > 20 * MILLISECOND_NS)
        before = since()
        self.frame(3)
        self.poll("a hit that is seen", lambda: since() < before)


class IdleMetadata(notification_test.NotificationTest):
    """An idle entry is told with the metadata that it was written with."""

    def doRunTest(self) -> None:
        entity = self.names.entry(
            self.STATIONS,
            {"hdr.ethernet.src": Exact(1)},
            Do("TestIngress.known"),
            idle_timeout_ns=MILLISECOND_NS,
            metadata=b"whose",
        )
        self.do(update(INSERT, entity))
        self.undone([entity])
        (told,) = self.read(self.key_of(entity))
        self.assertEqual(told.table_entry.metadata, b"whose")
        message = self.heard(self.params.timeout)
        self.assertIsNotNone(message, "no idle entry was told")
        (idle, *_) = self.idle_entries(message)
        self.assertEqual(idle.metadata, b"whose")


class IdleTimeoutsRefused(notification_test.NotificationTest):
    """Idle times that are negative, of a default entry, or of a table that has none."""

    def doRunTest(self) -> None:
        known = Do("TestIngress.known")
        of = self.names.entry
        negative = of(self.STATIONS, {"hdr.ethernet.src": Exact(1)}, known, idle_timeout_ns=-1)
        default = of(self.STATIONS, do=known, is_default_action=True, idle_timeout_ns=1)
        ports = of("TestIngress.ports", {"meta.port": Exact(1)}, Do("NoAction"), idle_timeout_ns=1)
        for kind, entity, said in (
            (INSERT, negative, "a negative time"),
            (MODIFY, default, "the default entry"),
            (INSERT, ports, "a table without"),
        ):
            self.assert_refused(update(kind, entity), CODE.INVALID_ARGUMENT, said=said)
