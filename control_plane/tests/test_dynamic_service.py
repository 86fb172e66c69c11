# SPDX-License-Identifier: Apache-2.0
"""Changes of a running deployment, on switches that refuse, go away or come back."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from channel_homes import residential

from docsis_control.config.models import KeyedError
from docsis_control.dynamic.change import Action, Change, Kind, Managed
from docsis_control.dynamic.client import ChangeError, apply, service
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.dynamic.messages import LARGEST
from docsis_control.dynamic.server import serving_changes
from docsis_control.local_socket import Service, socket_of
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.plan import Role
from docsis_control.queue_managers.document import changed, from_mapping
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.tm.client import TrafficManager

UP, DOWN = Kind.UPSTREAM_SERVICE_FLOW, Kind.DOWNSTREAM_SERVICE_FLOW
RULE = Kind.UPSTREAM_CLASSIFIER
QUEUE = "FrameIngress.service_flow_queue.service_flow"
FLOW_QUEUES = "FrameIngress.flow_queue.flow_queues"
CLASSIFIER = "FrameIngress.classifier.classifier"

ADD = Change(
    Action.ADD,
    UP,
    values={"service_flow_reference": 9, "maximum_sustained_traffic_rate": "5 Mbps"},
)
SELECT = Change(Action.ADD, RULE, values={"service_flow_reference": 9, "rule_priority": 7})
MODEM = "cm1"
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED


def queues(switch: Any) -> dict[int, Any]:
    """The traffic manager's service flows, by queue."""
    return {flow.queue.queue_id: flow for flow in switch.traffic_manager.service_flows}


def entries(switch: Any, table: str) -> list[Any]:
    ids = {t.name: t.id for t in switch.pipeline.schema.tables}
    return [entry for entry in switch.tables.values() if entry.table_id == ids[table]]


def everything(system: Any) -> tuple[object, ...]:
    """Everything that both devices were told, and the deployment."""
    return (
        [dict(switch.tables) for switch in (system.modem, system.cmts)],
        [
            {key: flow.SerializeToString() for key, flow in queues(switch).items()}
            for switch in (system.modem, system.cmts)
        ],
        system.controller.deployment,
    )


def everything_but_queues(system: Any) -> tuple[object, ...]:
    """The same of switches without a traffic manager's service."""
    return (
        [dict(switch.tables) for switch in (system.modem, system.cmts)],
        system.controller.deployment,
    )


async def test_a_flow_and_its_rule_are_added(running: Any) -> None:
    async with running() as system:
        # Another service flow has left these at the index.
        for name in ("sf_enqueued_bytes", "aqm_data_state", "aqm_drop_prob"):
            system.modem.registers[name, 2] = 77
        system.modem.counters["sf_received", 2] = (5, 500)
        after, _ = await system.controller.change(MODEM, [ADD, SELECT])
        plan = after.device(Role.CABLE_MODEM)
        assert [(flow.index, flow.sfid, flow.reference) for flow in plan.service_flows] == [
            (1, 1, 1),
            (2, 4, 9),
        ]
        assert queues(system.modem)[2].max_sustained_rate == 5_000_000
        assert len(entries(system.modem, QUEUE)) == 2
        (rule,) = entries(system.modem, CLASSIFIER)
        assert rule.action.action.params[0].value == b"\2"
        registers = system.modem.registers
        assert registers["sf_enqueued_bytes", 2] == registers["aqm_data_state", 2] == 0
        assert ("sf_received", 2) not in system.modem.counters
        assert registers["msr_tokens", 2] == 3044 * 8_000_000


async def test_the_law_goes_on_with_what_stays(running: Any, until: Any) -> None:
    async with running() as system:
        device = system.controller.devices[MODEM]
        # 200 ms of backlog, and past the burst allowance.
        system.modem.registers["sf_enqueued_bytes", 1] = 500_000
        system.modem.registers["aqm_data_state", 1] = (1 << 2) | 2
        await until(lambda: system.modem.registers["aqm_drop_prob", 1] > 0)
        before = (await device.observe()).queues.state
        await system.controller.change(MODEM, [ADD])
        after = (await device.observe()).queues.state
        assert after.drop_prob[0] >= before.drop_prob[0] > 0
        assert after.status.tolist() == [2, 0]
        updates = system.record.updates
        await until(lambda: system.record.updates >= updates + 3)
        samples = system.record.samples
        assert samples["service_flow"][-2:].tolist() == [1, 2]


async def test_what_is_set_keeps_its_tokens(running: Any) -> None:
    async with running() as system:
        before = queues(system.modem)[1].initial_tokens
        rate = {"maximum_sustained_traffic_rate": "10 Mbps", "traffic_priority": 4}
        await system.controller.change(MODEM, [Change(Action.SET, UP, 1, rate)])
        flow = queues(system.modem)[1]
        assert (flow.max_sustained_rate, flow.traffic_priority) == (10_000_000, 4)
        # Unset in the request: the traffic manager keeps what it has.
        assert flow.initial_tokens == before
        (bucket,) = entries(system.modem, "FrameEgress.token_bucket.msr_bucket")
        assert int.from_bytes(bucket.action.action.params[0].value, "big") == 10_000_000


async def test_an_index_waits_until_its_queue_is_gone(running: Any) -> None:
    async with running() as system:
        await system.controller.change(MODEM, [ADD])
        # In one change the new flow takes another index.
        other = Change(Action.ADD, UP, values={"service_flow_reference": 10})
        limited = {"maximum_sustained_traffic_rate": "1 Mbps"}
        both = [Change(Action.DELETE, UP, 9), other, Change(Action.SET, UP, 10, limited)]
        after, _ = await system.controller.change(MODEM, both)
        assert [f.index for f in after.device(Role.CABLE_MODEM).service_flows] == [1, 3]
        assert sorted(queues(system.modem)) == [1, 3]
        after, _ = await system.controller.change(MODEM, [ADD])
        flows = after.device(Role.CABLE_MODEM).service_flows
        assert [(flow.index, flow.sfid) for flow in flows] == [(1, 1), (2, 6), (3, 5)]


@pytest.mark.parametrize("is_atomic", [True, False])
@pytest.mark.parametrize("refuses", [QUEUE, CLASSIFIER])
async def test_a_refusal_leaves_everything(running: Any, refuses: str, is_atomic: bool) -> None:
    async with running() as system:
        system.modem.is_atomic = is_atomic
        slower = Change(Action.SET, UP, 1, {"maximum_sustained_traffic_rate": "10 Mbps"})
        before = everything(system)
        system.modem.refuses = refuses
        with pytest.raises(NotApplied, match="the table is full; it has what it had before"):
            await system.controller.change(MODEM, [slower, ADD, SELECT])
        assert everything(system) == before
        # And without the refusal it goes.
        system.modem.refuses = None
        await system.controller.change(MODEM, [slower, ADD, SELECT])
        assert queues(system.modem)[1].max_sustained_rate == 10_000_000


@pytest.mark.parametrize(
    ("error", "is_applied"),
    [
        (P4RuntimeError("the batch failed", grpc.StatusCode.UNKNOWN, [UNIMPLEMENTED]), True),
        (P4RuntimeError("not because it is UNIMPLEMENTED", grpc.StatusCode.INTERNAL), False),
    ],
    ids=["lacks it", "refuses"],
)
async def test_only_a_target_without_atomic_batches_gets_one_update_at_a_time(
    running: Any, monkeypatch: pytest.MonkeyPatch, error: P4RuntimeError, is_applied: bool
) -> None:
    write = P4Device.write

    async def without_atomic(self: P4Device, *args: Any, atomic: bool = False) -> None:
        if atomic:
            raise error
        await write(self, *args)

    async with running() as system:
        before = everything(system)
        monkeypatch.setattr(P4Device, "write", without_atomic)
        if is_applied:
            await system.controller.change(MODEM, [ADD, SELECT])
            assert len(entries(system.modem, CLASSIFIER)) > 0
        else:
            with pytest.raises(NotApplied, match=f"{error}; it has what it had before"):
                await system.controller.change(MODEM, [ADD, SELECT])
            assert everything(system) == before


async def test_the_other_device_s_refusal_leaves_everything(running: Any) -> None:
    async with running() as system:
        before = everything(system)
        system.cmts.refuses = QUEUE
        down = Change(Action.ADD, DOWN, values={"maximum_sustained_traffic_rate": "9 Mbps"})
        with pytest.raises(NotApplied, match="cmts1"):
            await system.controller.change(MODEM, [ADD, SELECT, down])
        assert everything(system) == before


DOWNSTREAM = Change(Action.ADD, DOWN, values={"maximum_sustained_traffic_rate": "9 Mbps"})


@pytest.mark.parametrize("goes_away", [False, True])
async def test_a_roll_back_that_fails_is_told_and_made_good(
    running: Any, until: Any, tmp_path: Path, goes_away: bool
) -> None:
    """The CMTS refuses, and the modems' switch refuses to go back, or does not answer any more."""
    async with running() as system, serving_changes(system.controller, tmp_path):
        before, modem = everything(system), system.modem
        system.cmts.refuses = QUEUE

        def refuse() -> None:
            modem.refuses = QUEUE
            if goes_away:
                system.controller.devices[MODEM]._session.connection.abandon("it went away")

        system.cmts.when_refused = refuse
        with pytest.raises(ChangeError) as told:
            await asyncio.to_thread(apply, MODEM, (ADD, DOWNSTREAM), None, tmp_path)
        words = str(told.value)
        assert words.startswith("cmts1: Write on device 2")
        assert "the table is full; it has what it had before. cm1 has the change, because" in words
        # The controller may have noticed before it came to undo the change, by it, or be closing
        # the connection just then.
        gone = ("it went away", "does not answer", "was closed")
        reasons = gone if goes_away else ("the table is full",)
        assert any(reason in words.partition("cm1")[2] for reason in reasons)
        # Until it takes the entries again it cannot have them.
        modem.refuses = None
        await until(lambda: modem.pushes == 2 and system.record.reconnects == 1)
        assert everything(system) == before
        updates = system.record.updates
        await until(lambda: system.record.updates > updates + 3)
        assert system.record.samples["service_flow"][-1] == 1
        # And the change goes once nobody refuses it.
        system.cmts.refuses = None
        await asyncio.to_thread(apply, MODEM, (ADD, DOWNSTREAM), None, tmp_path)
        assert sorted(queues(modem)) == [1, 2]


async def test_a_plan_that_is_taken_back_while_it_is_pushed_is_not_kept(
    running: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as system:
        device, modem = system.controller.devices[MODEM], system.modem
        before = device.plan
        await system.controller.change(MODEM, [ADD, SELECT])
        pushing, go_on, write = asyncio.Event(), asyncio.Event(), Connection.write

        async def slowly(connection: Connection, updates: Any, what: Any = (), **rest: Any) -> None:
            await write(connection, updates, what, **rest)
            if any(QUEUE in name for name in what):
                pushing.set()
                await go_on.wait()

        monkeypatch.setattr(Connection, "write", slowly)
        await modem.stop()
        modem.forget()
        await modem.start()
        async with asyncio.timeout(60):
            await pushing.wait()
        with pytest.raises(NotApplied, match="does not answer"):
            await device.restore(before)
        go_on.set()
        await until(lambda: system.record.reconnects == 1)
        assert sorted(queues(modem)) == [1]
        assert entries(modem, CLASSIFIER) == []


@pytest.mark.parametrize("of_queues", [False, True])
async def test_a_device_that_cannot_undo_gets_everything_anew(
    running: Any, until: Any, of_queues: bool
) -> None:
    """A refusal in the middle, and another one on the way back."""
    async with running() as system:
        before, modem = everything(system), system.modem
        modem.is_atomic = of_queues
        modem.refuses = CLASSIFIER

        def refuse() -> None:
            modem.refuses, modem.refuses_queues = (None, True) if of_queues else (QUEUE, False)

        modem.when_refused = refuse
        words = "no more queues" if of_queues else "the table is full"
        with pytest.raises(NotApplied, match=f"cm1: .*could not be undone.*{words}.*anew"):
            await system.controller.change(MODEM, [ADD, SELECT])
        modem.refuses, modem.refuses_queues = None, False
        await until(lambda: modem.pushes == 2 and system.record.reconnects == 1)
        assert everything(system) == before


async def test_a_device_that_went_away_is_not_changed(running: Any, until: Any) -> None:
    async with running() as system:
        before = system.controller.deployment
        await system.modem.stop()
        await until(lambda: system.controller.devices[MODEM]._session is None)
        with pytest.raises(NotApplied, match="cm1 does not answer"):
            await system.controller.change(MODEM, [ADD])
        assert system.controller.deployment is before


async def test_a_device_that_comes_back_gets_the_changes(running: Any, until: Any) -> None:
    async with running() as system:
        await system.controller.change(MODEM, [ADD, SELECT])
        await system.modem.stop()
        system.modem.forget()
        await system.modem.start()
        await until(lambda: system.record.reconnects == 1)
        assert sorted(queues(system.modem)) == [1, 2]
        assert len(entries(system.modem, CLASSIFIER)) == 1


async def test_a_loop_starts_when_there_is_something_to_manage(running: Any, until: Any) -> None:
    async with running() as system:
        cmts = system.controller.records["cmts1"]
        managed = {"maximum_sustained_traffic_rate": "9 Mbps"}
        assert cmts.updates == 0
        await system.controller.change(MODEM, [Change(Action.ADD, DOWN, values=managed)])
        await until(lambda: cmts.updates > 2)


@pytest.mark.parametrize("has_registers", [True, False])
async def test_a_modem_may_be_without_active_service_flows(
    running: Any, until: Any, has_registers: bool
) -> None:
    """Provisioned but not active: a parameter set type that a file may have, too."""
    async with running(has_registers=has_registers) as system:
        inactive = Change(Action.SET, UP, 1, {"qos_parameter_set_type": 1})
        await system.controller.change(MODEM, [inactive])
        updates = system.record.updates
        await until(lambda: system.record.updates >= updates + 3)
        active = Change(Action.SET, UP, 1, {"qos_parameter_set_type": 7})
        await system.controller.change(MODEM, [active])
        assert sorted(queues(system.modem)) == [1]
        assert not system.task.done()


async def test_changes_over_the_socket(running: Any, tmp_path: Path) -> None:
    async with running() as system, serving_changes(system.controller, tmp_path):

        async def do(*changes: Change) -> Any:
            return await asyncio.to_thread(apply, MODEM, changes, None, tmp_path)

        response = await do(ADD, SELECT)
        assert [(f.service_flow_reference, f.index) for f in response.service_flows] == [
            (1, 1),
            (9, 2),
            (2, 1),
        ]
        assert response.configuration["upstream_classifiers"][0]["rule_priority"] == 7
        looked = await asyncio.to_thread(service, MODEM, None, tmp_path)
        assert looked.configuration == response.configuration
        with pytest.raises(
            ChangeError, match=r"upstream_service_flows\.2\.service_flow_reference: 9 is already"
        ):
            await do(ADD)
        with pytest.raises(ChangeError, match='no modem "x"; there are cm1'):
            await asyncio.to_thread(apply, "x", (ADD,), None, tmp_path)


@pytest.mark.parametrize(
    "request_", [b"", b"{", b"[]", b'{"version":2,"modem":"cm1","changes":[]}', b"\xff" * 10]
)
async def test_other_requests_are_refused(running: Any, tmp_path: Path, request_: bytes) -> None:
    async with running() as system, serving_changes(system.controller, tmp_path) as path:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(request_)
        writer.write_eof()
        assert b"the request is not one" in await reader.read()
        writer.close()


async def test_a_request_without_end_is_cut_off(running: Any, tmp_path: Path) -> None:
    async with running() as system, serving_changes(system.controller, tmp_path) as path:
        _, writer = await asyncio.open_unix_connection(str(path))

        async def send() -> None:
            while True:
                writer.write(b" " * (LARGEST // 10))
                await writer.drain()

        with pytest.raises((ConnectionError, BrokenPipeError)):
            async with asyncio.timeout(60):
                await send()


async def test_a_slip_is_no_change(running: Any) -> None:
    async with running() as system:
        before = everything(system)
        slip = Change(Action.SET, UP, 1, {"peak_traffic_rate": "1 Mbps"})
        with pytest.raises(KeyedError, match="is below the Maximum Sustained"):
            await system.controller.change(MODEM, [slip])
        assert everything(system) == before


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"request_transmission_policy": 1}, "best-effort flow then has no way to ask"),
        (
            {
                "scheduling_type": "ugs",
                "unsolicited_grant_size": "214 B",
                "nominal_grant_interval": "1 ms",
                "tolerated_grant_jitter": "100 us",
                "grants_per_interval": 1,
            },
            "less than a MAP of 2025 us",
        ),
    ],
)
async def test_a_flow_that_its_channel_cannot_have_is_no_change(
    running: Any, tmp_path: Path, values: dict[str, Any], words: str
) -> None:
    async with running(of=residential(tmp_path, "docsis-3.1")) as system:
        before = everything(system)
        added = Change(Action.ADD, UP, values={**ADD.values, **values})
        with pytest.raises(KeyedError, match=words):
            await system.controller.change(MODEM, [added])
        assert everything(system) == before


def test_without_a_controller(tmp_path: Path) -> None:
    with pytest.raises(ChangeError, match="no controller runs"):
        service(MODEM, folder=tmp_path)
    # A socket that a killed one left.
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(socket_of(tmp_path, 1, Service.CHANGES)))
    left.close()
    with pytest.raises(ChangeError, match="no controller runs"):
        service(MODEM, folder=tmp_path)


async def test_a_queue_manager_is_switched(running: Any, until: Any) -> None:
    async with running() as system:
        # PIE has a probability by now.
        system.modem.registers["sf_enqueued_bytes", 1] = 500_000
        system.modem.registers["aqm_data_state", 1] = (1 << 2) | 2
        await until(lambda: system.modem.registers["aqm_drop_prob", 1] > 0)
        system.modem.counters["sf_received", 1] = (5, 500)
        codel = Managed("upstream", 1, PRESETS[Preset.CODEL])
        after, _ = await system.controller.change(MODEM, [], [codel])
        (queue,) = entries(system.modem, QUEUE)
        assert int.from_bytes(queue.action.action.params[5].value, "big") == QueueManager.CODEL
        (parameters,) = entries(system.modem, "FrameEgress.codel.parameters")
        assert [int.from_bytes(p.value, "big") for p in parameters.action.action.params] == [
            20_000,
            150_000,
        ]
        # What manages it starts afresh by itself.
        assert int.from_bytes(queue.action.action.params[6].value, "big") == 1
        # The law goes back to nothing, and what was counted stays.
        await until(lambda: system.modem.registers["aqm_drop_prob", 1] == 0)
        assert system.modem.counters["sf_received", 1] == (5, 500)
        # It outlives other changes, and goes back.
        after, _ = await system.controller.change(MODEM, [ADD])
        managers = [f.queue_manager for f in after.device(Role.CABLE_MODEM).service_flows]
        assert managers == [QueueManager.CODEL, QueueManager.DOCSIS_PIE]
        pie = Managed("upstream", 1, PRESETS[Preset.DOCSIS_PIE])
        await system.controller.change(MODEM, [], [pie])
        assert entries(system.modem, "FrameEgress.codel.parameters") == []


async def test_sub_queues_are_there_before_packets_are_sent_to_them(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them before the table's entry, fewer after it; none of one that had them before."""
    async with running() as system:
        steps: list[object] = []
        configure, write = TrafficManager.change, Connection.write

        async def told(self: Any, settings: Any, removed: Any = ()) -> None:
            steps.extend(
                setting.flow.sub_queues.queues
                if setting.sub_queues is None and setting.flow.sub_queues
                else setting.sub_queues or 0
                for setting in settings
            )
            await configure(self, settings, removed)

        async def wrote(self: Any, updates: Any, names: Any, **rest: Any) -> None:
            if any(FLOW_QUEUES in name for name in names):
                steps.append("entry")
            await write(self, updates, names, **rest)

        monkeypatch.setattr(TrafficManager, "change", told)
        monkeypatch.setattr(Connection, "write", wrote)
        sent = [(Preset.SFQ_PIE, [32, "entry"]), (Preset.SFQ_CODEL, [32])]
        sent += [(Preset.SFQ, [256, "entry"]), (Preset.DRR, [256, "entry", 16])]
        sent += [(Preset.PIE, [16, "entry", 0]), (Preset.DRR, [16, "entry"])]
        for preset, expected in sent:
            steps.clear()
            await system.controller.change(MODEM, [], [Managed("upstream", 1, PRESETS[preset])])
            assert steps == expected, preset
            wanted = PRESETS[preset].flow_queues
            assert queues(system.modem)[1].sub_queues == (wanted.queues if wanted else 0)


async def test_flow_queues_take_turns_as_they_are_told(running: Any) -> None:
    async with running() as system:
        by_packets = changed(PRESETS[Preset.SFQ], {"flow_queues": {"round_robin": "packets"}})
        told = [
            (PRESETS[Preset.SFQ], 0),
            (by_packets, 1),
            (PRESETS[Preset.PIE], 0),
            (by_packets, 1),
            (PRESETS[Preset.SFQ], 0),
        ]
        for management, code in told:
            await system.controller.change(MODEM, [], [Managed("upstream", 1, management)])
            assert queues(system.modem)[1].round_robin == code


async def test_sub_queues_that_a_flow_had_before_are_not_cleared(running: Any) -> None:
    async with running() as system:
        registers = system.modem.registers
        registers["queue_enqueued_bytes", 3] = 77
        await system.controller.change(
            MODEM, [], [Managed("upstream", 1, PRESETS[Preset.SFQ_CODEL])]
        )
        assert registers["queue_enqueued_bytes", 3] == 0
        registers["queue_enqueued_bytes", 3] = 99
        for preset in (Preset.CODEL, Preset.SFQ_PIE):
            await system.controller.change(MODEM, [], [Managed("upstream", 1, PRESETS[preset])])
            # Frames may be queued there.
            assert registers["queue_enqueued_bytes", 3] == 99


async def test_a_target_without_the_service_has_no_flow_queues(running: Any) -> None:
    async with running(has_traffic_manager=False) as system:
        before = everything_but_queues(system)
        sfq = Managed("upstream", 1, PRESETS[Preset.SFQ])
        with pytest.raises(NotApplied, match="cm1, upstream service flow 1: this target has no"):
            await system.controller.change(MODEM, [], [sfq])
        assert everything_but_queues(system) == before
        # The other managers are the same pipeline.
        await system.controller.change(MODEM, [], [Managed("upstream", 1, PRESETS[Preset.LRED])])
        assert len(entries(system.modem, "FrameEgress.lred.parameters")) == 1


async def test_nor_is_it_provisioned_with_them(running: Any) -> None:
    with pytest.raises(P4RuntimeError, match="served by strict priority, not in turns"):
        async with running(Preset.SFQ_PIE, has_traffic_manager=False):
            pass


async def test_a_client_is_told_what_a_manager_is(running: Any, tmp_path: Path) -> None:
    async with running() as system, serving_changes(system.controller, tmp_path):
        chosen = changed(PRESETS[Preset.SFQ_PIE], {"target": "5 ms", "buffer": "90 KB"})
        answer = await asyncio.to_thread(
            apply, MODEM, [], None, tmp_path, [Managed("upstream", 1, chosen)]
        )
        (flow,) = (f for f in answer.service_flows if f.direction == "upstream")
        assert from_mapping(flow.management) == chosen
        assert flow.queue_manager is QueueManager.PIE
        (queue,) = entries(system.modem, QUEUE)
        values = [int.from_bytes(p.value, "big") for p in queue.action.action.params]
        assert (values[3], values[5:9]) == (90_000, [QueueManager.PIE, 1, 1, 5_000])


async def test_only_flows_that_are_there_have_managers(running: Any) -> None:
    async with running() as system:
        before = everything(system)
        nobody = Managed("upstream", 8, PRESETS[Preset.CODEL])
        with pytest.raises(KeyedError, match="no active upstream service flow 8"):
            await system.controller.change(MODEM, [], [nobody])
        assert everything(system) == before


async def test_a_device_lost_in_a_change_gets_what_it_had(
    running: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to the batch does not come, and nobody knows whether packets have it."""
    async with running() as system:
        before = everything(system)
        write = Connection.write

        async def without_answer(
            connection: Connection, updates: Any, what: Any = (), *, atomic: bool = False
        ) -> None:
            await write(connection, updates, what, atomic=atomic)
            if atomic:
                raise ConnectionLost("Write: DEADLINE_EXCEEDED")

        with monkeypatch.context() as patch:
            patch.setattr(Connection, "write", without_answer)
            with pytest.raises(NotApplied, match="it gets what it had before"):
                await system.controller.change(MODEM, [ADD, SELECT])
        assert len(entries(system.modem, CLASSIFIER)) == 1
        await until(lambda: system.record.reconnects == 1)
        assert everything(system) == before
        await system.controller.change(MODEM, [ADD, SELECT])


async def test_a_connection_that_is_closed_in_a_change_is_made_good(
    running: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undoing cannot even be asked for: what the queues have used to stay, for good."""
    async with running() as system:
        before = everything(system)

        async def closed(
            connection: Connection, updates: Any, what: Any = (), *, atomic: bool = False
        ) -> None:
            await connection.close()
            raise ConnectionLost("Write: the server closed the connection")

        with monkeypatch.context() as patch:
            patch.setattr(Connection, "write", closed)
            with pytest.raises(NotApplied, match="it gets what it had before"):
                await system.controller.change(MODEM, [ADD, SELECT])
        await until(lambda: system.modem.pushes == 2 and system.record.reconnects == 1)
        assert everything(system) == before


async def test_a_device_lost_behind_a_change_has_no_queue_too_many(
    running: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as system:
        await system.controller.change(MODEM, [ADD])
        change = TrafficManager.change

        async def lost(manager: TrafficManager, settings: Any, removed: Any = ()) -> None:
            if removed:
                raise ConnectionLost("Configure: no answer within 1 s")
            await change(manager, settings, removed)

        with monkeypatch.context() as patch:
            patch.setattr(TrafficManager, "change", lost)
            after, _ = await system.controller.change(MODEM, [Change(Action.DELETE, UP, 9)])
        assert len(after.device(Role.CABLE_MODEM).service_flows) == 1
        await until(lambda: system.modem.pushes == 2 and system.record.reconnects == 1)
        assert sorted(queues(system.modem)) == [1]
        assert system.controller.deployment is after


async def test_a_queue_that_stays_is_no_failure(
    running: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as system:
        await system.controller.change(MODEM, [ADD])
        change = TrafficManager.change

        async def keeping(manager: TrafficManager, settings: Any, removed: Any = ()) -> None:
            if removed:
                raise P4RuntimeError("no", grpc.StatusCode.INTERNAL)
            await change(manager, settings, removed)

        with monkeypatch.context() as patch:
            patch.setattr(TrafficManager, "change", keeping)
            after, _ = await system.controller.change(MODEM, [Change(Action.DELETE, UP, 9)])
        assert "queues that nothing uses are left" in caplog.text
        assert len(after.device(Role.CABLE_MODEM).service_flows) == 1
        assert len(entries(system.modem, QUEUE)) == 1
        # What takes the index takes the queue.
        await system.controller.change(MODEM, [ADD])
        assert sorted(queues(system.modem)) == [1, 2]
