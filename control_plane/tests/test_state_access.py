# SPDX-License-Identifier: Apache-2.0
"""Access to the pipeline's state: what is read for whom, written once, calmed and cleared."""

from dataclasses import replace
from typing import Any, cast

import grpc
import numpy as np
import pytest
from finsy.proto import p4r
from hypothesis import given
from hypothesis import strategies as st
from law_devices import TICK_US, flow, readings

from docsis_control.law.law import Interval, Law, Outcome, Unmanaged
from docsis_control.law.readings import Settings, backlog
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.p4rt.entities import bitstring
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.plan import SubQueues
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.managers.codel import Codel
from docsis_control.queue_managers.managers.codel_002 import Codel002
from docsis_control.queue_managers.managers.codel_dt import CodelDt
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.managers.lred import Lred
from docsis_control.queue_managers.managers.pie import Pie
from docsis_control.queue_managers.managers.pie_002 import Pie002
from docsis_control.state.access import BucketState, needs
from docsis_control.state.control_header import Operation
from docsis_control.state.packets import PacketAccess
from docsis_control.state.probe import probe_state_access
from docsis_control.state.registers import RegisterAccess, RegisterTicks

UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED
ALWAYS = {
    "sf_enqueued_bytes",
    "sf_dequeued_bytes",
    "msr_tokens",
    "msr_updated",
    "aqm_data_state",
}

SUB_QUEUE_REGISTERS = (
    *("queue_enqueued_bytes", "queue_dequeued_bytes"),
    *("queue_owner", "queue_shared_until", "queue_sharers"),
)


class Registers:
    """A connection to registers, which keeps what it was asked."""

    device_id = 1
    place = "cm1"

    def __init__(self, pipeline: Pipeline) -> None:
        self.names = {register.id: register.name for register in pipeline.schema.registers}
        self.ids = {name: register_id for register_id, name in self.names.items()}
        self.values: dict[tuple[str, int], int] = {}
        self.asked: list[tuple[str, int]] = []
        self.given: dict[tuple[str, int], int] = {}
        self.election_id = p4r.Uint128(low=1)
        self.fails = False
        # Bytes that enter and leave each service flow's queue between two cells of a Read.
        self.passing = 0
        # Whether it answers as most servers do: in the order asked, in canonical form.
        self.is_orderly = False

    def cell(self, entity: Any) -> tuple[str, int]:
        entry = entity.register_entry
        return self.names[entry.register_id], entry.index.index

    async def read_raw(self, request: bytes, seconds: float) -> list[bytes]:
        return self.answer(request)

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Answers as the control loop's own connection does."""
        if method.endswith("Read"):
            return self.answer(request)
        updates = p4r.WriteRequest.FromString(request).updates
        self.take(updates)
        return [b""]

    def answer(self, request: bytes) -> list[bytes]:
        entities = p4r.ReadRequest.FromString(request).entities
        self.asked = [self.cell(entity) for entity in entities]
        for entity in entities:
            value = self.values.get(self.cell(entity), 0)
            entity.register_entry.data.bitstring = (
                bitstring(value) if self.is_orderly else value.to_bytes(8, "big")
            )
            for cell in self.values.keys() if self.passing else ():
                self.values[cell] = (self.values[cell] + self.passing) % (1 << 32)
        found = entities if self.is_orderly else reversed(entities)
        return [p4r.ReadResponse(entities=found).SerializeToString()]

    async def write_raw(self, request: bytes, seconds: float, what: Any = ()) -> None:
        updates = p4r.WriteRequest.FromString(request).updates
        assert len(updates) == len(what)
        self.take(updates)

    def take(self, updates: Any) -> None:
        self.given = {}
        for update in updates:
            value = int.from_bytes(update.entity.register_entry.data.bitstring, "big")
            self.given[self.cell(update.entity)] = value
        if self.fails:
            raise ConnectionError
        self.values |= self.given


class Refusing:
    """A connection that refuses every register."""

    def __init__(self, error: P4RuntimeError) -> None:
        self._error = error

    async def read(self, entities: Any) -> Any:
        raise self._error


class Clock:
    """The switch's, which stands still."""

    def now(self) -> int:
        return 777

    def at(self, monotonic_ns: int) -> int:
        return 555


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return load_pipeline("cm")


@pytest.fixture
def device(pipeline: Pipeline) -> Registers:
    return Registers(pipeline)


@pytest.fixture
def access(pipeline: Pipeline, device: Registers) -> Any:
    def of(*flows: Any) -> RegisterAccess:
        any_device: Any = device
        clock: Any = Clock()
        return RegisterAccess(any_device, pipeline, clock, flows)

    return of


def ticks(state: RegisterAccess, device: Registers) -> RegisterTicks:
    calls: Any = device
    return state.ticks(calls)


def settings(*columns: tuple[int, int, int, int]) -> Settings:
    return Settings(*(np.array(values) for values in zip(*columns, strict=True)))


@pytest.mark.parametrize(
    ("management", "register"),
    [
        (DropTail(), None),
        (DocsisPie(), None),
        (Codel(), None),
        (Lred(), None),
        (DocsisPie(rate_tracking=True), "sf_requests_met"),
        (Pie(), "pie_avg_dq_time"),
        (Codel002(), None),
        (CodelDt(), "pie_avg_dq_time"),
        (AdaptiveRed(), "red_avg"),
    ],
)
async def test_reads_what_the_manager_needs(
    access: Any, device: Registers, management: Any, register: str | None
) -> None:
    await access(flow(4, management)).read()
    assert sorted(device.asked) == sorted(
        (name, 4) for name in ALWAYS | ({register} if register else set())
    )
    assert len(needs(flow(4, management))) == (register is not None)


async def test_reads_what_rate_tracking_behind_a_mac_needs(access: Any, device: Registers) -> None:
    tracked = flow(4, DocsisPie(rate_tracking=True), granted=True)
    device.values |= {("sf_granted_bytes", 4): 1_526, ("sf_acked_req_bytes", 4): 3_052}
    found = await access(tracked, flow(5, DocsisPie(), granted=True)).read()
    assert {name for name, index in device.asked if index == 4} == ALWAYS | {
        "sf_requests_met",
        "sf_granted_bytes",
        "sf_acked_req_bytes",
    }
    assert {name for name, index in device.asked if index == 5} == ALWAYS
    assert found.granted_bytes.tolist() == [1_526, 0]
    assert found.acked_req_bytes.tolist() == [3_052, 0]


async def test_reads_what_pie_of_002_needs(access: Any, device: Registers) -> None:
    state = access(flow(4, Pie002()), flow(5, Pie()))
    registers = ("arrivals", "dequeued", "enqueued", "departure_rate")
    for value, register in enumerate(registers, 1):
        device.values[f"pie_002_{register}", 4] = value
    found = await state.read()
    assert {name for name, index in device.asked if index == 4} == ALWAYS | {
        f"pie_002_{register}" for register in registers
    }
    assert found.arrivals.tolist() == [1, 0]
    assert found.dequeued_packets.tolist() == [2, 0]
    assert found.enqueued_packets.tolist() == [3, 0]
    assert found.departure_rate.tolist() == [4, 0]


@pytest.mark.parametrize("is_orderly", [False, True])
async def test_readings_are_of_their_service_flows(
    access: Any, device: Registers, monkeypatch: pytest.MonkeyPatch, is_orderly: bool
) -> None:
    device.is_orderly = is_orderly
    if is_orderly:
        # Such answers need no objects.
        monkeypatch.delattr(RegisterAccess, "_parsed")
    flows = [flow(9, Pie()), flow(2, DocsisPie()), flow(7, AdaptiveRed()), flow(1, DropTail())]
    for index, each in enumerate(("pie_avg_dq_time", "red_avg", "sf_dequeued_bytes")):
        device.values |= {(each, one.index): 100 * index + one.index for one in flows}
    found = await access(*flows).read()
    assert found.now_us == 777
    in_thread = ticks(access(*flows), device).read()
    assert in_thread.avg_dq_time.tolist() == found.avg_dq_time.tolist()
    assert found.dequeued_bytes.tolist() == [209, 202, 207, 201]
    assert found.avg_dq_time.tolist() == [9, 0, 0, 0]
    assert found.red_avg.tolist() == [0, 0, 107, 0]
    assert found.requests_met.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("enqueued", [90_000, 2**32 - 3_000, 5_000])
async def test_a_frame_that_passes_while_registers_are_read_is_no_backlog_of_4_gb(
    access: Any, device: Registers, enqueued: int
) -> None:
    flows = [flow(3, DocsisPie()), flow(5, DocsisPie())]
    for index in (3, 5):
        device.values["sf_enqueued_bytes", index] = enqueued
        device.values["sf_dequeued_bytes", index] = (enqueued - 1_500) % (1 << 32)
    device.passing = 1_000
    law = DeviceLaw(flows)
    for _ in range(3):
        seen = law.observe(await access(*flows).read())
        # Never less than there is, and no more besides than what passed between two cells.
        assert ((seen.backlog >= 1_500) & (seen.backlog <= 1_500 + 1_000)).all()


def test_what_left_before_it_came_is_no_backlog() -> None:
    enqueued = np.array([100, 0, 2**32 - 1, 2**31 + 5, 2**31 + 4, 40])
    dequeued = np.array([101, 2**32 - 1, 0, 5, 5, 40])
    assert backlog(enqueued, dequeued).tolist() == [0, 1, 0, 0, 2**31 - 1, 0]


async def test_writes_what_changed_and_again_what_is_not_sure(
    access: Any, device: Registers
) -> None:
    state = access(flow(3, Pie()), flow(5, Pie()))
    ticks(state, device).write(settings((1, 2, 3, 4), (5, 6, 7, 8)))
    assert len(device.given) == 9
    ticks(state, device).write(settings((1, 2, 3, 4), (5, 60, 7, 8)))
    assert device.given == {("aqm_qdelay_old", 5): 60, ("controller_heartbeat", 0): 777}
    # Another access to the device knows what this one wrote.
    other = state.of([flow(5, Pie()), flow(6, Pie())])
    ticks(other, device).write(settings((5, 60, 7, 8), (0, 0, 0, 0)))
    assert {index for _, index in device.given} == {0, 6}
    device.fails = True
    with pytest.raises(ConnectionError):
        ticks(other, device).write(settings((5, 60, 7, 8), (0, 0, 1, 0)))
    device.fails = False
    ticks(other, device).write(settings((5, 60, 7, 8), (0, 0, 1, 0)))
    assert len(device.given) == 9


async def test_calm_leaves_nothing_of_the_law_before(access: Any, device: Registers) -> None:
    state = access(flow(3, Pie()), flow(5, Pie()))
    ticks(state, device).write(settings((1, 2, 3, 4), (5, 6, 7, 8)))
    await state.of([flow(5, AdaptiveRed())]).calm()
    assert device.given == {
        ("aqm_drop_prob", 5): 0,
        ("aqm_qdelay_old", 5): 0,
        ("aqm_burst_allowance", 5): 0,
    }
    assert device.values["aqm_control_state", 5] == 8
    # The first access knows: what it wrote before is written again.
    ticks(state, device).write(settings((1, 2, 3, 4), (5, 6, 7, 8)))
    assert {index for _, index in device.given} == {0, 5}
    assert len(device.given) == 4


async def test_provisions_a_service_flow_that_had_an_index_before(
    access: Any, device: Registers
) -> None:
    sub_queues = SubQueues(first=100, queues=4, search=True, multiplier=1, divided=False)
    queued = replace(flow(3, Pie()), sub_queues=sub_queues, ranges=(range(100, 104),))
    for register in device.ids:
        device.values |= {(register, index): 9 for index in (3, 4, 99, 100, 101, 102, 103, 104)}
    await access(queued).provision([BucketState(4_000, 66)])
    cleared = {cell for cell, value in device.given.items() if not value}
    assert {name for name, index in cleared if index == 3} == {
        *("sf_enqueued_bytes", "sf_dequeued_bytes", "sf_lost_bytes"),
        *("pie_avg_dq_time", "red_avg"),
        *("aqm_accu_prob", "aqm_data_state", "aqm_drop_prob", "aqm_qdelay_old"),
        *("aqm_burst_allowance", "aqm_control_state"),
        *("pie_002_dequeued", "pie_002_enqueued"),
    }
    assert {cell for cell in cleared if cell[1] != 3} == {
        (name, index) for name in SUB_QUEUE_REGISTERS for index in range(100, 104)
    }
    assert device.given["msr_tokens", 3] == 4_000
    assert device.given["msr_updated", 3] == 66


async def test_what_was_provisioned_is_not_written_again(access: Any, device: Registers) -> None:
    """The first update of hundreds of service flows is no larger than the others."""
    state = access(flow(3, Pie()), flow(5, Pie()))
    await state.provision([BucketState(4_000, 66)] * 2)
    ticks(state, device).write(settings((0, 0, 0, 0), (0, 6, 0, 0)))
    assert device.given == {("aqm_qdelay_old", 5): 6, ("controller_heartbeat", 0): 777}
    device.fails = True
    with pytest.raises(ConnectionError):
        await state.provision([BucketState(4_000, 66)] * 2)
    device.fails = False
    ticks(state, device).write(settings((0, 0, 0, 0), (0, 0, 0, 0)))
    assert len(device.given) == 9


async def test_clears_sub_queues(access: Any, device: Registers) -> None:
    await access().clear_queues([7, 8])
    assert set(device.given) == {(name, index) for name in SUB_QUEUE_REGISTERS for index in (7, 8)}
    assert not any(device.given.values())


def test_a_copy_of_a_bucket_is_too_low_rather_than_too_high(access: Any, device: Registers) -> None:
    """What left since the traffic manager was read is unknown: at most what the peak rate lets."""
    flows = [flow(index, DocsisPie(), peak_rate=25_000_000) for index in (1, 2, 3)]
    read_now, full, low = BucketState(9_000, 777), BucketState(4 * 8_000_000_000, 677), 5
    updates = access(*flows).bucket_updates([read_now, full, BucketState(low, 677)])
    device.take([update for update, _ in updates])
    assert device.given == {
        ("msr_tokens", 1): 9_000,
        ("msr_updated", 1): 777,
        ("msr_tokens", 2): full.tokens - 100 * 25_000_000,
        ("msr_updated", 2): 677,
        ("msr_tokens", 3): 0,
        ("msr_updated", 3): 677,
    }
    assert [name for _, name in updates][:2] == ["msr_tokens[1]", "msr_updated[1]"]
    # A clock that is behind the switch's earns nothing.
    ahead = access(flows[0]).bucket_updates([BucketState(9_000, 800)])
    device.take([update for update, _ in ahead])
    assert device.given["msr_tokens", 1] == 9_000


class Header:
    """A control header, which answers with its registers."""

    place = "cm1"

    def __init__(self) -> None:
        self.fields = {"drop_prob": 5, "qdelay_old": 6, "burst_allowance": 7, "control_state": 9}
        self.fields |= {"heartbeat": 1_234, "msr_tokens": 0}
        self.asked: list[tuple[Operation, int]] = []

    async def request(
        self, operation: Operation, index: int, values: Any = None, seconds: float = 0
    ) -> Any:
        self.asked.append((operation, index))
        if operation is Operation.UPDATE:
            written = ("drop_prob", "qdelay_old", "burst_allowance", "control_state", "heartbeat")
            self.fields |= {name: (values or {}).get(name, 0) for name in written}
        counters = ("enqueued_bytes", "dequeued_bytes", "msr_updated", "data_state")
        needed = {"avg_dq_time": 11, "requests_met": 12, "red_avg": 13, "arrivals": 14}
        needed |= {"dequeued_packets": 15, "enqueued_packets": 16, "departure_rate": 17}
        needed |= {"granted_bytes": 18, "acked_req_bytes": 19}
        return {**dict.fromkeys(counters, index), **needed, **self.fields, "timestamp": 50 + index}


def by_packets(header: Header, *flows: Any) -> PacketAccess:
    control: Any = header
    clock: Any = Clock()
    return PacketAccess(control, clock, flows)


async def test_readings_by_packets() -> None:
    found = await by_packets(Header(), flow(3, Pie()), flow(8, DocsisPie())).read()
    assert found.now_us == 58
    assert found.enqueued_bytes.tolist() == [3, 8]
    assert found.avg_dq_time.tolist() == [11, 11]
    assert found.requests_met.tolist() == [12, 12]
    assert found.red_avg.tolist() == [13, 13]
    assert found.arrivals.tolist() == [14, 14]
    assert found.dequeued_packets.tolist() == [15, 15]
    assert found.enqueued_packets.tolist() == [16, 16]
    assert found.departure_rate.tolist() == [17, 17]
    assert found.granted_bytes.tolist() == [18, 18]
    assert found.acked_req_bytes.tolist() == [19, 19]


async def test_calm_by_packets_keeps_what_it_must() -> None:
    header = Header()
    await by_packets(header, flow(3, Pie())).calm()
    assert header.asked == [(Operation.READ, 3), (Operation.UPDATE, 3)]
    assert header.fields == {
        **{"drop_prob": 0, "qdelay_old": 0, "burst_allowance": 0, "msr_tokens": 0},
        **{"control_state": 9, "heartbeat": 1_234},
    }


async def test_a_reading_by_packets_that_no_register_holds_is_said() -> None:
    header = Header()
    header.fields["msr_tokens"] = 1 << 63
    with pytest.raises(ConnectionLost, match="cm1 answers with something else .*OverflowError"):
        await by_packets(header, flow(3, Pie())).read()


@pytest.mark.parametrize(
    ("answer", "words"),
    [(b"\xff", "DecodeError"), (b"", "left out 5 of 5 registers")],
)
async def test_what_is_no_reading_is_said(
    access: Any, device: Registers, monkeypatch: pytest.MonkeyPatch, answer: bytes, words: str
) -> None:
    monkeypatch.setattr(device, "answer", lambda request: [answer])
    with pytest.raises(ConnectionLost, match=f"cm1 .*{words}"):
        await access(flow(4, DocsisPie())).read()
    with pytest.raises(ConnectionLost, match=f"cm1 .*{words}"):
        ticks(access(flow(4, DocsisPie())), device).read()


async def test_a_register_of_nine_bytes_is_no_reading(access: Any, device: Registers) -> None:
    device.is_orderly = True
    device.values["msr_tokens", 4] = 1 << 64
    with pytest.raises(ConnectionLost, match="cm1 answers with something else .*OverflowError"):
        await access(flow(4, DocsisPie())).read()


@given(st.lists(st.binary(max_size=60), max_size=3))
def test_whatever_is_answered_is_a_reading_or_a_lost_connection(answers: list[bytes]) -> None:
    pipeline = load_pipeline("cm")
    any_device: Any = Registers(pipeline)
    clock: Any = Clock()
    state = RegisterAccess(any_device, pipeline, clock, [flow(4, DocsisPie())])
    with pytest.raises(ConnectionLost):
        state.readings(answers, 1)


@pytest.mark.parametrize(
    "error",
    [
        P4RuntimeError("the Read failed", UNIMPLEMENTED),
        P4RuntimeError("the batch failed", grpc.StatusCode.UNKNOWN, [UNIMPLEMENTED]),
    ],
    ids=["the call", "a part"],
)
async def test_a_target_without_registers_is_reached_by_packets(error: P4RuntimeError) -> None:
    refusing, other = cast(Any, Refusing(error)), cast(Any, None)
    found = await probe_state_access(refusing, load_pipeline("cm"), other, other, [])
    assert isinstance(found, PacketAccess)


async def test_a_refusal_is_no_lack_of_registers_whatever_its_words() -> None:
    error = P4RuntimeError("not because it is UNIMPLEMENTED", grpc.StatusCode.INTERNAL)
    refusing, other = cast(Any, Refusing(error)), cast(Any, None)
    with pytest.raises(P4RuntimeError, match="not because"):
        await probe_state_access(refusing, load_pipeline("cm"), other, other, [])


async def test_by_packets_there_may_be_no_service_flow() -> None:
    found = await by_packets(Header()).read()
    assert found.now_us == 777
    assert len(found.enqueued_bytes) == 0


async def test_provisions_by_packets() -> None:
    header = Header()
    await by_packets(header, flow(3, Pie())).provision([BucketState(4_000)])
    assert header.asked == [(Operation.PROVISION, 3)]


class Lone(Unmanaged):
    """A law that needs registers which no other law does."""

    own = ("codel_002_count", "pie_measurement_start")


class LoneDropTail(DropTail):
    def law(self, granted: bool) -> type[Law]:
        return Lone


async def test_a_law_names_registers_of_its_own(pipelines: dict[str, Pipeline]) -> None:
    registers = Registers(pipelines["cm"])
    flows = [flow(1, LoneDropTail()), flow(2, Pie())]
    access = RegisterAccess(cast(Any, registers), pipelines["cm"], cast(Any, Clock()), flows)
    registers.values = {("codel_002_count", 1): 5, ("pie_measurement_start", 1): 6}
    registers.values |= {("codel_002_count", 2): 7, ("pie_avg_dq_time", 2): 8}
    found = await access.read()
    # A law that does not ask for it does not get it.
    assert {name: values.tolist() for name, values in found.own.items()} == {
        "codel_002_count": [5, 0],
        "pie_measurement_start": [6, 0],
    }
    assert found.avg_dq_time.tolist() == [0, 8]
    assert ("codel_002_count", 2) not in registers.asked
    await access.provision([BucketState(0)] * 2)
    assert registers.given["codel_002_count", 1] == 0
    assert ("codel_002_count", 2) not in registers.given


def test_a_law_gets_its_own_columns_of_its_registers() -> None:
    seen: list[list[int]] = []

    class Looking(Lone):
        def update(self, interval: Interval) -> Outcome:
            seen.append(interval.readings.own["codel_002_count"].tolist())
            return super().update(interval)

    class LookingDropTail(DropTail):
        def law(self, granted: bool) -> type[Law]:
            return Looking

    law = DeviceLaw([flow(1, Pie()), flow(2, LookingDropTail()), flow(3, Pie())])
    given = readings(1, enqueued_bytes=[0] * 3)._replace(
        own={"codel_002_count": np.array([0, 9, 0])}
    )
    law.update(given, 1)
    # Ticks that were missed see it as it is now.
    law.update(given._replace(now_us=given.now_us + 3 * TICK_US), 4)
    assert seen == [[9]] * 4


def test_packets_carry_no_registers_of_a_law_s_own() -> None:
    with pytest.raises(P4RuntimeError, match="needs codel_002_count, pie_measurement_start, and"):
        PacketAccess(cast(Any, None), cast(Any, None), [flow(1, LoneDropTail())])
