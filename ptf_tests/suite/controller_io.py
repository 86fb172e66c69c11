# SPDX-License-Identifier: Apache-2.0
"""The control header: READ, UPDATE, PROVISION, and what the registers say to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, ClassVar, Final, cast

from docsis_control.state.control_header import Operation
from docsis_ptf import aqm_test
from docsis_ptf.docsis_test import NO_SERVICE_FLOW, SERVICE_FLOWS
from docsis_ptf.entities import ACTIVE, QUIESCENT, Control, State, aqm_state

# Field of the header: register, which is of the service flow unless it is the heartbeat.
REGISTERS = {
    "enqueued_bytes": "sf_enqueued_bytes",
    "dequeued_bytes": "sf_dequeued_bytes",
    "msr_tokens": "msr_tokens",
    "msr_updated": "msr_updated",
    "accu_prob": "aqm_accu_prob",
    "data_state": "aqm_data_state",
    "drop_prob": "aqm_drop_prob",
    "qdelay_old": "aqm_qdelay_old",
    "burst_allowance": "aqm_burst_allowance",
    "control_state": "aqm_control_state",
    "heartbeat": "controller_heartbeat",
    "avg_dq_time": "pie_avg_dq_time",
    "requests_met": "sf_requests_met",
    "red_avg": "red_avg",
    "granted_bytes": "sf_granted_bytes",
    "acked_req_bytes": "sf_acked_req_bytes",
    "arrivals": "pie_002_arrivals",
    "enqueued_packets": "pie_002_enqueued",
    "dequeued_packets": "pie_002_dequeued",
    "departure_rate": "pie_002_departure_rate",
}
REFUSED: Final = 255
"""controller_op_t of an answer to what does not exist."""
LARGEST = Control(
    drop_prob=(1 << 32) - 1,
    qdelay_old=(1 << 32) - 1,
    burst_allowance=(1 << 32) - 1,
    control_state=(1 << 32) - 1,
    heartbeat=(1 << 48) - 1,
)
DISTINCT = Control(
    drop_prob=0x01020304,
    qdelay_old=0x05060708,
    burst_allowance=142_000,
    control_state=aqm_state(QUIESCENT, 0x2AAAAAAA),
    heartbeat=0x0A0B0C0D0E0F,
)


class Update(aqm_test.AqmTest):
    """UPDATE writes the controller's registers of one service flow, and nothing else."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"values": "largest"}, {"values": "distinct"}, {"values": "zero"}]

    def doRunTest(self, values: str) -> None:
        control = {"largest": LARGEST, "distinct": DISTINCT, "zero": Control()}[values]
        index, neighbour = self.new_index(), self.new_index()
        before, others = self.client.state(index), self.client.state(neighbour)
        answer = self.client.update(index, control)
        for name, value in asdict(control).items():
            self.assertEqual(getattr(answer, name), value, name)
        read = self.client.state(index)
        wanted = {**asdict(before), **asdict(control), "timestamp": read.timestamp}
        self.assertEqual(read, State(**wanted))
        after = self.client.state(neighbour)
        wanted = {
            **asdict(others), "heartbeat": control.heartbeat, "timestamp": after.timestamp,
        }  # fmt: skip
        self.assertEqual(after, State(**wanted))


class Provision(aqm_test.AqmTest):
    """PROVISION starts queue management afresh; the byte counters go on."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, QUIESCENT)
        before = self.drop_frame(index)
        self.assertNotEqual(before.data_state, 0)
        after = self.client.provision(index, 3044)
        self.assertEqual(after.msr_tokens, 3044 * 8_000_000)
        self.assertEqual(after.msr_updated, after.timestamp)
        self.assertEqual(
            (after.accu_prob, after.data_state, after.drop_prob, after.qdelay_old), (0, 0, 0, 0)
        )
        self.assertEqual((after.burst_allowance, after.control_state), (0, 0))
        self.assertEqual(after.enqueued_bytes, before.enqueued_bytes)
        self.assertEqual(after.dequeued_bytes, before.dequeued_bytes)


class Reply(aqm_test.AqmTest):
    """An answer repeats the operation, the request's number and the service flow."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"operation": operation.name} for operation in list(Operation)[1:]]

    def doRunTest(self, operation: str) -> None:
        op = Operation[operation]
        index = self.new_index()
        first = self.client.request(op, index)
        second = self.client.request(op, index)
        for reply in (first, second):
            self.assertEqual((reply["op"], reply["service_flow"]), (op, index))
            self.assertEqual(reply["ingress_port"], self.params.cpu_port)
            self.assertEqual(reply["padding"], 0)
        self.assertNotEqual(first["request_id"], second["request_id"])
        self.assertGreater(second["timestamp"], first["timestamp"])


class Refused(aqm_test.AqmTest):
    """A request for what does not exist changes nothing, is answered so, and is counted."""

    def cases(self) -> Iterable[dict[str, Any]]:
        unknown = [{"op": op, "index": 1} for op in (4, 77, 255)]
        return unknown + [{"op": int(op), "index": SERVICE_FLOWS} for op in list(Operation)[1:]]

    def doRunTest(self, op: int, index: int) -> None:
        before, fates = self.client.state(1), self.fates(NO_SERVICE_FLOW)
        values = {**asdict(LARGEST), "msr_tokens": 1}
        reply = self.client.request(cast(Operation, op), index, **values)
        self.assertEqual((reply["op"], reply["service_flow"]), (REFUSED, index))
        state = set(reply) - {"op", "padding", "ingress_port", "request_id", "service_flow"}
        self.assertEqual({reply[name] for name in state - {"timestamp"}}, {0})
        self.expect_fates(NO_SERVICE_FLOW, fates, malformed=1)
        after = self.client.state(1)
        self.assertEqual(after, replace(before, timestamp=after.timestamp))


class ByteCounters(aqm_test.AqmTest):
    """The backlog's two counters advance by the frames' lengths."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"length": length} for length in (64, 65, 1500, 1522)]

    def doRunTest(self, length: int) -> None:
        index = self.service_flow()
        self.make_primary(index)
        self.pass_frames(index, 7, length)
        state = self.client.state(index)
        self.assertEqual((state.enqueued_bytes, state.dequeued_bytes), (7 * length, 7 * length))


class Registers(aqm_test.AqmTest):
    """Registers over P4Runtime and the control header show and set the same state."""

    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, QUIESCENT)
        self.drop_frame(index)
        self.assert_same(index)
        self.client.update(index, DISTINCT)
        self.assert_same(index)
        self.client.provision(index, 1522)
        self.assert_same(index)
        # The other way round: what registers write, READ shows.
        for name, value in asdict(LARGEST).items():
            self.client.set_register(REGISTERS[name], self.cell(name, index), value)
            self.assertEqual(getattr(self.client.state(index), name), value, name)
        self.assert_same(index)
        # No field is another one's register: each has a value of its own.
        for number, (name, register) in enumerate(REGISTERS.items(), start=1):
            self.client.set_register(register, self.cell(name, index), number)
        self.assert_same(index)

    def cell(self, field: str, index: int) -> int:
        return 0 if field == "heartbeat" else index

    def assert_same(self, index: int) -> None:
        """Every field of READ's answer is the register's value."""
        state = asdict(self.client.state(index))
        cells = [(register, self.cell(field, index)) for field, register in REGISTERS.items()]
        values = self.client.registers(cells)
        for field, value in zip(REGISTERS, values, strict=True):
            self.assertEqual(state[field], value, field)


class DropsByRegister(aqm_test.AqmTest):
    """The data path obeys a drop_prob that was written over P4Runtime."""

    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, ACTIVE, drop_prob=0)
        self.pass_frames(index, 5)
        self.arm(index, ACTIVE, drop_prob=0)
        self.client.set_register("aqm_accu_prob", index, (1 << 32) - 1)
        self.client.set_register("aqm_drop_prob", index, 1)
        self.drop_frame(index)
