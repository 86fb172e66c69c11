# SPDX-License-Identifier: Apache-2.0
"""Third rung for P4Runtime's arbitration: several controllers of one role."""

from __future__ import annotations

import itertools
import os
from typing import Any, Final

import grpc
from finsy.proto import p4r

from docsis_ptf import switches
from docsis_ptf.messages import group
from docsis_ptf.protocol_test import ProtocolTest
from docsis_ptf.rpc import OK, Answer, Arbitration, Stream

BACKUP: Final = grpc.StatusCode.ALREADY_EXISTS
NOBODY: Final = grpc.StatusCode.NOT_FOUND
_numbers = itertools.count(1)


class ArbitrationTest(ProtocolTest):
    """Controllers in a role of the test's own, where the suite's client is not.

    A target remembers the highest election id of a role until it is started again (P4Runtime,
    16.2), so an id above the suite's own in its role would end the run. A target that keeps no
    roles apart is tested only if it is known to forget ids with their streams, as BMv2 does.

    Attributes:
        role: The role's name; empty for the default role.
        base: Election ids above it are the test's.
    """

    role: str
    base: int

    def setUp(self) -> None:
        """Finds out whether the target has roles. SkipTest: it has none, and does not forget."""
        super().setUp()
        self._streams: list[Stream] = []
        self.addCleanup(self._close)
        # Nobody had this name before, whatever the target remembers.
        name = f"docsis-ptf-{os.getpid()}-{next(_numbers)}-{type(self).__name__}"
        refusal = self._has_roles(f"{name}-asks")
        self.base = self.params.election_id
        if not refusal:
            self.role = name
            return
        if self.params.target != switches.BMV2:
            self.skipTest(
                f"{self.params.target}: it keeps no roles apart ({refusal}), and an election id"
                " above the suite's own would be remembered"
            )
        self.role = ""
        # The default role's controllers are to be the test's alone.
        self.client.close()

    def _has_roles(self, name: str) -> str:
        """Why no role is possible beside the default one; empty if one is."""
        stream = self.open(self.params.election_id, role=name, controller=False)
        told = stream.next(self.params.timeout)
        stream.close()
        if isinstance(told, Arbitration):
            return "" if told.code is OK else f"a new role has another primary: {told}"
        return str(told) if told is not None else "no answer to an arbitration with a role"

    def _close(self) -> None:
        for stream in self._streams:
            stream.close()

    def open(
        self, above: int | None, *, role: str | None = None, controller: bool = True
    ) -> Stream:
        """A new stream that asks for an election id so far above `base`, or for none.

        Without `controller` the id is as given.
        """
        stream = self.rpc.stream()
        self._streams.append(stream)
        election_id = self.election(above) if controller else above
        stream.arbitrate(election_id, self.role if role is None else role)
        return stream

    def election(self, above: int | None) -> int | None:
        """An election id of the test's."""
        return None if above is None else self.base + above

    def expect(
        self, stream: Stream, code: grpc.StatusCode, above: int | None, who: str
    ) -> Arbitration:
        """The next thing that the stream hears is this status and highest election id."""
        told = stream.next(self.params.timeout)
        if not isinstance(told, Arbitration):
            heard = f"heard {told}" if told is not None else f"heard nothing in {self._patience}"
            raise AssertionError(f"{who} {heard}, not that its status is {code.name}")
        self.assertEqual(
            (told.code.name, told.election_id),
            (code.name, self.election(above)),
            f"what {who} heard",
        )
        self.assertEqual(told.device_id, self.params.device_id)
        self.assertEqual(told.role, self.role)
        return told

    @property
    def _patience(self) -> str:
        return f"{self.params.timeout:g} s"

    def expect_end(self, stream: Stream, code: grpc.StatusCode, who: str) -> None:
        """The target ends the stream with this status."""
        told = stream.next(self.params.timeout)
        if not isinstance(told, Answer):
            heard = f"heard {told}" if told is not None else "was kept"
            self.fail(f"{who} {heard}, and should have been ended with {code.name}")
        self.assertIs(told.code, code, f"{who}: {told}")

    def try_write(self, above: int | None, number: int) -> Answer:
        """Inserts multicast group `number`, as whoever has this election id."""
        change = p4r.Update(type=p4r.Update.INSERT, entity=group(number, [self.near]))
        return self.rpc.write([change], self.election(above), role=self.role)

    def groups(self) -> set[int]:
        """The multicast groups that the target has."""
        found: list[Any] = self.read(group(0))
        engines = (one.packet_replication_engine_entry for one in found)
        return {engine.multicast_group_entry.multicast_group_id for engine in engines}
