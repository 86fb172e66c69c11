# SPDX-License-Identifier: Apache-2.0
"""Second rung for tests of P4Runtime itself: raw calls beside the suite's client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final
from unittest import SkipTest

import grpc
import ptf
from finsy.proto import p4r

from docsis_ptf.egress import Egress
from docsis_ptf.messages import DELETE, Names, update
from docsis_ptf.p4runtime_test import P4RuntimeTest
from docsis_ptf.programs import ENTITIES, load_entities
from docsis_ptf.rpc import OK, Answer, Rpc

UNKNOWN: Final = grpc.StatusCode.UNKNOWN
QUIET_SECONDS: Final = 0.1


class ProtocolTest(P4RuntimeTest):
    """A program freshly pushed, and calls that are whatever the test makes them.

    Attributes:
        program: "cm", or "entities" (programs.py).
        rpc: The calls.
        names: Messages of the program.
        p4info: The program's.
    """

    program: ClassVar[str] = "cm"

    def setUp(self) -> None:
        """Pushes the program. SkipTest: the target refuses one that is not the suite's own."""
        super().setUp()
        self.rpc = Rpc(self.params.grpc, self.params.device_id, self.params.timeout)
        self.addCleanup(self.rpc.close)
        self.dataplane = ptf.dataplane_instance
        self.egress = Egress(self.dataplane, timeout=self.params.timeout, quiet=QUIET_SECONDS)
        self.near, self.far = self.params.cpe_ports
        if self.program == ENTITIES:
            self._push_entities()
        else:
            self.client.push(self.program)
            self.pipeline = self.client.pipeline
        self.names = Names(self.pipeline.schema)
        self.p4info = self.pipeline.p4info
        self.dataplane.flush()

    def _push_entities(self) -> None:
        """Its packet headers are not the suite's, so the client is left out of it."""
        pipeline = load_entities(self.params.programs)
        if pipeline is None:
            raise SkipTest(
                f"{self.params.target}: {self.params.programs} has no {ENTITIES}.json; compile"
                f" {ENTITIES}.p4 of switch/crates/v1model/tests/programs for the target"
            )
        answer = self.rpc.set_pipeline(
            pipeline.p4info, pipeline.device_config, self.params.election_id
        )
        if answer.code is not OK:
            raise SkipTest(f"{self.params.target}: it refuses the program {ENTITIES}: {answer}")
        self.pipeline = pipeline

    def endTest(self) -> None:
        """Fails the test where a frame left the switch behind the last expectation."""
        self.egress.finish()

    def write(self, *updates: Any, atomicity: Any = p4r.WriteRequest.CONTINUE_ON_ERROR) -> Answer:
        """Writes as the suite's client, which is the primary."""
        return self.rpc.write(updates, self.params.election_id, atomicity=atomicity)

    def do(self, *updates: Any) -> None:
        """Writes what the target must take."""
        answer = self.write(*updates)
        self.assertIs(answer.code, OK, f"{answer}")

    def read(self, *entities: Any) -> list[Any]:
        """Reads what the target must tell."""
        answer = self.rpc.read(entities)
        self.assertIs(answer.code, OK, f"{answer}")
        return answer.entities

    def text(self, entity: Any) -> str:
        """An entity in words that compare, whatever the order of a key's fields."""
        return self.names.text(entity)

    def assert_details(self, answer: Answer, codes: Sequence[grpc.StatusCode], said: str) -> None:
        """A call with parts that failed: UNKNOWN, and a code for each part, in order."""
        self.assertIs(answer.code, UNKNOWN, f"{said}: {answer}")
        self.assertEqual(
            [code.name for code in answer.errors],
            [code.name for code in codes],
            f"{said}: {answer}",
        )

    def assert_refused(self, change: Any, *codes: grpc.StatusCode, said: str) -> None:
        """An update alone is refused with one of these codes."""
        answer = self.write(change)
        self.assertIs(answer.code, UNKNOWN, f"{said}: {answer}")
        self.assertEqual(len(answer.errors), 1, f"{said}: {answer}")
        self.assertIn(answer.errors[0], codes, f"{said}: {answer}")

    def undone(self, entities: Iterable[Any]) -> None:
        """Deletes these behind the case."""
        deletions = [update(DELETE, entity) for entity in entities]
        self._undo.append((f"{len(deletions)} insertions", lambda: self.do(*deletions)))
