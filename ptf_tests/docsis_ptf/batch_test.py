# SPDX-License-Identifier: Apache-2.0
"""Third rung for P4Runtime's Write: entries of several kinds to make batches of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

import grpc
from finsy.proto import p4r

from docsis_ptf.messages import (
    DELETE,
    INSERT,
    MODIFY,
    Do,
    Exact,
    Match,
    Ternary,
    group,
    update,
)
from docsis_ptf.protocol_test import UNKNOWN, ProtocolTest
from docsis_ptf.rpc import OK

STATION: Final = "FrameIngress.bridge.station"
PRIMARY: Final = "FrameIngress.classifier.primary"
CLASSIFIER: Final = "FrameIngress.classifier.classifier"
BUCKET: Final = "FrameEgress.token_bucket.msr_bucket"


class BatchTest(ProtocolTest):
    """Entries of four tables, and all that the target has of them."""

    def primary(self, modem: int, service_flow: int = 1) -> Any:
        """The primary service flow of a modem."""
        do = Do("set_primary", {"service_flow": service_flow})
        return self.names.entry(PRIMARY, {"modem": Exact(modem)}, do)

    def station(self, address: int, **fields: Any) -> Any:
        """A station of modem 1; `fields` are others of p4.v1.TableEntry."""
        do = Do("forward", {"port": self.near, "to_rf": 0, "modem": 1})
        match = {"modem": Exact(1), "address": Exact(address)}
        return self.names.entry(STATION, match, do, **fields)

    def rule(self, protocol: int, service_flow: int = 1, priority: int = 10) -> Any:
        """A classifier of modem 1 for an IP protocol."""
        match: dict[str, Match] = {
            "modem": Exact(1),
            "ip_protocol": Ternary(protocol, 0xFF),
        }
        do = Do("set_service_flow", {"service_flow": service_flow})
        return self.names.entry(CLASSIFIER, match, do, priority)

    def bucket(self, service_flow: int, rate: int = 8) -> Any:
        """A token bucket, in the other half of the pipeline."""
        do = Do("set_bucket", {"max_sustained_rate": rate, "max_burst": 1522})
        return self.names.entry(BUCKET, {"service_flow": Exact(service_flow)}, do)

    def some_of_each(self) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Writes rules, primary service flows, stations and buckets, for the rest of the case."""
        found = (
            [self.rule(6), self.rule(17), self.rule(6, priority=20)],
            [self.primary(modem) for modem in (1, 2, 511)],
            [self.station(5, metadata=b"mine"), self.station(6), self.station(1 << 47)],
            [self.bucket(4095)],
        )
        everything = [entity for entities in found for entity in entities]
        self.do(*(update(INSERT, entity) for entity in everything))
        self.undone(everything)
        return found

    def state(self) -> list[str]:
        """Every table entry and multicast group that the target has, in words that compare."""
        found = self.read(p4r.Entity(table_entry=p4r.TableEntry()), group(0))
        return sorted(self.text(entity) for entity in found)


class AllOrNoneTest(BatchTest):
    """A batch with one bad update leaves no trace.

    Attributes:
        atomicity: Name of the mode. All but CONTINUE_ON_ERROR are optional, so a target that has
            none of it is skipped with its words.
    """

    atomicity: ClassVar[str]

    def cases(self) -> Iterable[dict[str, Any]]:
        """The bad update at the beginning, in the middle and at the end."""
        return [{"bad_at": at} for at in (0, 3, 6)]

    def doRunTest(self, bad_at: int) -> None:
        """Writes a batch with the bad update, which changes nothing, and without it."""
        mode = p4r.WriteRequest.Atomicity.Value(self.atomicity)
        there = [self.primary(1), self.primary(2), self.rule(6), self.bucket(5, rate=16)]
        self.do(*(update(INSERT, entity) for entity in there))
        self._undo.append(("what is left", self._clear))
        before = self.state()
        changes = [
            update(INSERT, self.primary(3)),
            update(MODIFY, self.primary(1, service_flow=4000)),
            update(DELETE, self.primary(2)),
            update(INSERT, self.rule(17)),
            update(DELETE, self.rule(6)),
            update(MODIFY, self.bucket(5, rate=99)),
        ]
        bad = update(MODIFY, self.station(0xBAD))
        batch = [*changes[:bad_at], bad, *changes[bad_at:]]
        answer = self.write(*batch, atomicity=mode)
        if grpc.StatusCode.UNIMPLEMENTED in (answer.code, *answer.errors):
            self.assertEqual(self.state(), before, "a batch that is not supported had an effect")
            self.skipTest(f"{self.params.target}: {self.atomicity}: {answer}")
        self.assertIs(answer.code, UNKNOWN, f"{answer}")
        self.assertEqual(len(answer.errors), len(batch), f"{answer}")
        self.assertIs(answer.errors[bad_at], grpc.StatusCode.NOT_FOUND, f"{answer}")
        self.assertEqual(self.state(), before, "a batch that failed left a trace")
        # Without it the same changes are made, all of them.
        answer = self.write(*changes, atomicity=mode)
        self.assertIs(answer.code, OK, f"{answer}")
        behind = [
            self.primary(1, service_flow=4000),
            self.primary(3),
            self.rule(17),
            self.bucket(5, rate=99),
        ]
        self.assertEqual(self.state(), sorted(self.text(entity) for entity in behind))

    def _clear(self) -> None:
        found = self.read(p4r.Entity(table_entry=p4r.TableEntry()))
        self.do(*(update(DELETE, entity) for entity in found))
