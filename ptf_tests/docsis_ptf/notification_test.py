# SPDX-License-Identifier: Apache-2.0
"""Third rung for P4Runtime's notifications: a primary that hears, and frames to hear of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from finsy.proto import p4r
from ptf import testutils

from docsis_ptf.messages import MODIFY, Do, update
from docsis_ptf.programs import ENTITIES
from docsis_ptf.protocol_test import ProtocolTest
from docsis_ptf.rpc import OK, Arbitration, Stream

_HOUR_NS: Final = 3_600_000_000_000


class NotificationTest(ProtocolTest):
    """The program `entities`, and a stream of its own that is the primary's.

    The suite's client, which hears nothing but packets, makes room for it.
    """

    program = ENTITIES
    STATIONS: ClassVar[str] = "TestIngress.stations"
    DIGEST: ClassVar[str] = "learn_t"

    def setUp(self) -> None:
        """Becomes the primary in the place of the suite's client."""
        super().setUp()
        self.client.close()
        self.stream = self._become_primary()
        self.addCleanup(self.stream.close)

    def _become_primary(self) -> Stream:
        """Asks until the target has noticed that the client, which had the same id, has gone."""
        found: list[Stream] = []

        def primary() -> bool:
            stream = self.rpc.stream()
            stream.arbitrate(self.params.election_id)
            told = stream.next(self.params.timeout)
            if not isinstance(told, Arbitration) or told.code is not OK:
                stream.close()
                return False
            found.append(stream)
            return True

        self.poll("becoming the primary", primary)
        return found[0]

    def learn(self) -> None:
        """From now on frames of unknown sources make digests."""
        default = self.names.entry(
            self.STATIONS, do=Do("TestIngress.learn"), is_default_action=True
        )
        self.do(update(MODIFY, default))

    def digest_key(self) -> Any:
        """A p4.v1.Entity for the digest, without its configuration."""
        known = self.p4info.digests[0].preamble
        return p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=known.id))

    def digest(
        self, max_list_size: int, max_timeout_ns: int, ack_timeout_ns: int = _HOUR_NS
    ) -> Any:
        """A p4.v1.Entity that configures the digest."""
        entity = self.digest_key()
        config = entity.digest_entry.config
        config.max_list_size = max_list_size
        config.max_timeout_ns = max_timeout_ns
        config.ack_timeout_ns = ack_timeout_ns
        return entity

    def frame(self, source: int) -> None:
        """A frame from this source address goes into the near port, and has been looked up."""
        before = self._seen()
        head = b"\x02\0\0\0\0\x77" + source.to_bytes(6) + b"\x88\xb5"
        testutils.send_packet(self, self.near, head.ljust(60, b"\0"))
        self.poll("a frame that is seen", lambda: self._seen() > before)

    def _seen(self) -> int:
        (cell,) = self.read(self.names.counter("TestIngress.seen", 1))
        return int(cell.counter_entry.data.packet_count)

    def heard(self, seconds: float) -> Any:
        """The next message of the stream; None if none comes. Its end fails the test."""
        told = self.stream.next(seconds)
        if told is not None and not isinstance(told, p4r.StreamMessageResponse):
            self.fail(f"the primary's stream: {told}")
        return told

    def expect_list(self) -> Any:
        """The next message is a p4.v1.DigestList of the digest."""
        told = self.heard(self.params.timeout)
        if told is None:
            self.fail("instead of a digest list nothing came")
        return self.list_of(told)

    def list_of(self, told: Any) -> Any:
        """The p4.v1.DigestList of the digest that a message is."""
        if told.WhichOneof("update") != "digest":
            self.fail(f"instead of a digest list {told} came")
        self.assertEqual(told.digest.digest_id, self.digest_key().digest_entry.digest_id)
        self.assertGreater(told.digest.timestamp, 0)
        return told.digest

    def expect_learnt(self, wanted: Iterable[int], longest: int) -> list[Any]:
        """Lists come until these addresses at the near port have been told, and no others.

        How many lists a target makes of them, and in which order, is its own: the longest list and
        the longest delay that are configured are maxima (P4Runtime 9.8).

        Args:
            wanted: The addresses, each of which is told once.
            longest: The most digests of a list.

        Returns:
            The p4.v1.DigestLists.
        """
        due = {(address, self.near) for address in wanted}
        lists: list[Any] = []
        while due:
            lists.append(self.expect_list())
            due -= self.expect_some_of(due, lists[-1], longest)
        return lists

    def expect_some_of(
        self, due: set[tuple[int, int]], told: Any, longest: int
    ) -> set[tuple[int, int]]:
        """The addresses and ports of a list, which are distinct, due, and not too many."""
        learnt = self.learnt(told)
        self.assertLessEqual(len(learnt), longest, f"digests in a list: {learnt}")
        self.assertGreater(len(learnt), 0, "a list of no digest")
        self.assertEqual(len(set(learnt)), len(learnt), f"a list tells one twice: {learnt}")
        self.assertLessEqual(set(learnt), due, "told, and not due")
        return set(learnt)

    def learnt(self, told: Any) -> list[tuple[int, int]]:
        """Addresses and ports of a list, each value in its shortest form."""
        found: list[tuple[int, int]] = []
        for data in told.data:
            members = [member.bitstring for member in data.struct.members]
            for octets in members:
                self.assertTrue(octets, "a value of no bytes")
                self.assertTrue(len(octets) == 1 or octets[0], f"{octets!r} is padded")
            address, port = map(int.from_bytes, members)
            found.append((address, port))
        return found

    def acknowledge(self, told: Any) -> None:
        """Acknowledges a digest list."""
        request = p4r.StreamMessageRequest()
        request.digest_ack.digest_id = told.digest_id
        request.digest_ack.list_id = told.list_id
        self.stream.send(request)

    def idle_entries(self, told: Any) -> list[Any]:
        """The p4.v1.TableEntries of a message that tells of nothing but idle ones."""
        if told.WhichOneof("update") != "idle_timeout_notification":
            self.fail(f"instead of idle entries {told} came")
        notification = told.idle_timeout_notification
        self.assertGreater(notification.timestamp, 0)
        self.assertGreater(len(notification.table_entry), 0, "a notification of no entry")
        return list(notification.table_entry)

    def key_of(self, entity: Any) -> Any:
        """The key of a table entry, to read it by."""
        entry = entity.table_entry
        key = p4r.TableEntry(table_id=entry.table_id, match=entry.match, priority=entry.priority)
        return p4r.Entity(table_entry=key)
