# SPDX-License-Identifier: Apache-2.0
"""P4Runtime's Write: who may, what each update of a batch is answered, and what a batch leaves.

P4Runtime 1.5, section 12, and the same in 1.3 and 1.4. A server may do the updates of a batch in
any order, so no batch here depends on one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import grpc
from finsy.proto import p4r

from docsis_ptf import batch_test
from docsis_ptf.messages import DELETE, INSERT, MODIFY, group, update
from docsis_ptf.rpc import OK

CODE: Final = grpc.StatusCode
NO_DEVICE: Final = 0xD0C5
"""Added to the target's device id: one that it does not have."""


class Admission(batch_test.BatchTest):
    """Who is not the primary writes nothing, and pushes no program; the answer is of the call."""

    def doRunTest(self) -> None:
        before = self.state()
        own = self.params.election_id
        for election_id in (None, own + 1, own + (1 << 64)):
            answer = self.rpc.write([update(INSERT, self.primary(7))], election_id)
            self.assertIs(answer.code, CODE.PERMISSION_DENIED, f"as {election_id}: {answer}")
            self.assertEqual(answer.errors, (), f"as {election_id}: {answer}")
            answer = self.rpc.set_pipeline(
                self.p4info, self.pipeline.device_config, election_id, cookie=1
            )
            self.assertIs(answer.code, CODE.PERMISSION_DENIED, f"as {election_id}: {answer}")
        # An empty batch is one, too.
        self.assertIs(self.rpc.write([], own + 1).code, CODE.PERMISSION_DENIED)
        self.assertIs(self.rpc.write([], own).code, OK)
        self.assertEqual(self.state(), before)


class UnknownDevice(batch_test.BatchTest):
    """Calls for a device that the target does not have are answered NOT_FOUND."""

    def doRunTest(self) -> None:
        other, own = self.params.device_id + NO_DEVICE, self.params.election_id
        all_of_it = p4r.GetForwardingPipelineConfigRequest.ALL
        answers = {
            "Write": self.rpc.write([update(INSERT, self.primary(7))], own, device_id=other),
            "Read": self.rpc.read([p4r.Entity(table_entry=p4r.TableEntry())], other),
            "GetForwardingPipelineConfig": self.rpc.get_pipeline(all_of_it, other),
            "SetForwardingPipelineConfig": self.rpc.set_pipeline(
                self.p4info, self.pipeline.device_config, own, device_id=other
            ),
        }
        for call, answer in answers.items():
            self.assertIs(answer.code, CODE.NOT_FOUND, f"{call}: {answer}")


class ErrorDetails(batch_test.BatchTest):
    """Of a batch that fails in part each update has its error, in order, the good ones included.

    The good ones are done (CONTINUE_ON_ERROR), and the others change nothing.
    """

    def cases(self) -> Iterable[dict[str, Any]]:
        # Each update is at each place once.
        return [{"first": first} for first in range(len(self.batch()))]

    def batch(self) -> list[tuple[str, Any]]:
        """Names of updates, each with the code of its error."""
        return [
            ("good insertion", CODE.OK),
            ("insertion of what is there", CODE.ALREADY_EXISTS),
            ("change of what is missing", CODE.NOT_FOUND),
            ("good change", CODE.OK),
            ("deletion of what is missing", CODE.NOT_FOUND),
            ("insertion that is malformed", CODE.INVALID_ARGUMENT),
            ("good deletion", CODE.OK),
        ]

    def updates(self) -> dict[str, Any]:
        malformed = self.primary(4)
        del malformed.table_entry.match[:]
        return {
            "good insertion": update(INSERT, self.bucket(1)),
            "insertion of what is there": update(INSERT, self.primary(1, service_flow=9)),
            "change of what is missing": update(MODIFY, self.station(0xBAD)),
            "good change": update(MODIFY, self.primary(2, service_flow=5)),
            "deletion of what is missing": update(DELETE, self.rule(99)),
            "insertion that is malformed": update(INSERT, malformed),
            "good deletion": update(DELETE, self.rule(6)),
        }

    def doRunTest(self, first: int) -> None:
        there = [self.primary(1), self.primary(2), self.rule(6), self.rule(17)]
        self.do(*(update(INSERT, entity) for entity in there))
        behind = [self.primary(1), self.primary(2, service_flow=5), self.rule(17), self.bucket(1)]
        self.undone(behind)
        batch = self.batch()
        batch = batch[first:] + batch[:first]
        updates = self.updates()
        answer = self.write(*(updates[name] for name, _ in batch))
        self.assert_details(answer, [code for _, code in batch], f"{[name for name, _ in batch]}")
        self.assertEqual(self.state(), sorted(self.text(entity) for entity in behind))


class OneOfEachAlone(batch_test.BatchTest):
    """A batch of one that fails has one error; one that succeeds is OK and has no details."""

    def doRunTest(self) -> None:
        answer = self.write(update(INSERT, self.primary(3)))
        self.assertEqual((answer.code, answer.errors), (OK, ()), f"{answer}")
        self.undone([self.primary(3)])
        self.assert_refused(
            update(INSERT, self.primary(3)), CODE.ALREADY_EXISTS, said="the same again"
        )
        self.assert_refused(update(DELETE, group(77)), CODE.NOT_FOUND, said="no such group")
        untyped = update(p4r.Update.UNSPECIFIED, self.primary(5))
        self.assert_refused(untyped, CODE.INVALID_ARGUMENT, said="an update without a type")
        nothing = p4r.Update(type=INSERT)
        answer = self.write(nothing)
        self.assertIs(answer.code, CODE.UNKNOWN, f"an update of no entity: {answer}")
        self.assertEqual(self.state(), [self.text(self.primary(3))])


class RollbackOnError(batch_test.AllOrNoneTest):
    """ROLLBACK_ON_ERROR: a batch with one bad update leaves no trace, of any of its updates."""

    atomicity = "ROLLBACK_ON_ERROR"


class DataplaneAtomic(batch_test.AllOrNoneTest):
    """DATAPLANE_ATOMIC: a batch with one bad update leaves no trace, of any of its updates."""

    atomicity = "DATAPLANE_ATOMIC"
