# SPDX-License-Identifier: Apache-2.0
"""Registers read past P4Runtime's messages: the same values, and the same refusals."""

from __future__ import annotations

import random

import grpc
import numpy as np
import pytest
from finsy.proto import p4r

from docsis_control.p4rt.device import LocalDevice
from docsis_control.p4rt.entities import register_entity, register_id
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.plan import Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.running import push
from docsis_control.state.registers import RegisterAccess
from docsis_control.topology.loader import load_topology
from docsis_experiments.stages.virtual.building import build
from docsis_experiments.stages.virtual.control import WorldClock
from docsis_experiments.stages.virtual.entrance import ELECTION_ID, Refused, WorldEntrance
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_testbed.paths import TOPOLOGIES

TOPOLOGY = load_topology(TOPOLOGIES / "residential.yaml")
PIPELINE = load_pipeline(Role.CABLE_MODEM.value)
WIDTHS = {
    each.preamble.name: each.type_spec.bitstring.bit.bitwidth for each in PIPELINE.p4info.registers
}
SIZES = {each.preamble.name: each.size for each in PIPELINE.p4info.registers}
READ = "/p4.v1.P4Runtime/Read"


class Messages:
    """The same entrance for who knows nothing but messages."""

    def __init__(self, entrance: WorldEntrance) -> None:
        self.call = entrance.call


class Modem:
    """A cable modem with its program and service flows, in a world where nothing happens."""

    def __init__(self) -> None:
        world = build(TOPOLOGY, 1, EXACT)
        plan = deploy(TOPOLOGY, Preset.PIE).device(Role.CABLE_MODEM)
        self.entrance = WorldEntrance(world, plan.name, plan.device_id)
        self.device = LocalDevice(self.entrance, plan.name, plan.device_id, ELECTION_ID)
        self.access = RegisterAccess(self.device, PIPELINE, WorldClock(world), plan.service_flows)
        self.plan = plan

    async def provision(self) -> None:
        await self.device.set_pipeline(PIPELINE, 1)
        await push(self.device, PIPELINE, self.plan, self.access)

    def request(self, *entities: p4r.Entity) -> bytes:
        request = p4r.ReadRequest(device_id=self.device.device_id, entities=entities)
        return bytes(request.SerializeToString())


@pytest.fixture
async def modem() -> Modem:
    made = Modem()
    await made.provision()
    return made


async def test_values_are_those_that_read_answers(modem: Modem) -> None:
    draws = random.Random(3)
    cells = [
        (name, index, draws.getrandbits(draws.randint(1, min(width, 63))))
        for name, width in WIDTHS.items()
        for index in draws.sample(range(SIZES[name]), min(SIZES[name], 5))
    ]
    # More than one run of them.
    assert len(cells) > 20
    await modem.device.write(
        p4r.Update(type=p4r.Update.MODIFY, entity=register_entity(PIPELINE, *cell))
        for cell in cells
    )
    asked = [cell for _ in range(40) for cell in draws.sample(cells, len(cells))]
    assert len(asked) > 2048
    request = modem.request(*(register_entity(PIPELINE, *cell[:2]) for cell in asked))
    column = modem.entrance.cells(request)
    assert np.frombuffer(column, np.int64).tolist() == [value for *_, value in asked]
    [*answers] = modem.entrance.call(READ, request)
    read = [entity for raw in answers for entity in p4r.ReadResponse.FromString(raw).entities]
    assert [
        (
            each.register_entry.register_id,
            each.register_entry.index.index,
            int.from_bytes(each.register_entry.data.bitstring, "big"),
        )
        for each in read
    ] == [(register_id(PIPELINE, name), index, value) for name, index, value in asked]


async def test_a_tick_reads_the_same_both_ways(modem: Modem) -> None:
    [index, *_] = [flow.index for flow in modem.plan.service_flows]
    names = ("sf_enqueued_bytes", "msr_tokens", "msr_updated", "aqm_data_state", "pie_avg_dq_time")
    await modem.device.write(
        p4r.Update(
            type=p4r.Update.MODIFY,
            entity=register_entity(PIPELINE, name, index, 1_000 * (number + 1)),
        )
        for number, name in enumerate(names)
    )
    one = modem.access.ticks(modem.entrance).read()
    other = modem.access.ticks(Messages(modem.entrance)).read()
    assert one.avg_dq_time[0] == 5_000
    for field in one._fields:
        assert np.array_equal(getattr(one, field), getattr(other, field)), field


async def test_what_is_refused_is_refused_as_read_refuses_it(modem: Modem) -> None:
    name = next(iter(WIDTHS))
    good = register_entity(PIPELINE, name, 0)
    no_register = p4r.Entity(register_entry=p4r.RegisterEntry(register_id=99))
    no_register.register_entry.index.index = 1
    past = register_entity(PIPELINE, name, SIZES[name])
    request = modem.request(good, good, past, good, no_register)
    refusals = []
    for read in (modem.entrance.cells, lambda raw: modem.entrance.call(READ, raw)):
        with pytest.raises(Refused) as raised:
            read(request)
        refusals.append(
            (raised.value.code(), raised.value.details(), raised.value.trailing_metadata())
        )
    assert refusals[0] == refusals[1]
    assert refusals[0][0] is grpc.StatusCode.UNKNOWN
    assert refusals[0][1].startswith("2 of 5 requests failed")


async def test_what_is_no_single_cell_is_for_read(modem: Modem) -> None:
    name = next(iter(WIDTHS))
    whole = p4r.Entity(register_entry=p4r.RegisterEntry(register_id=register_id(PIPELINE, name)))
    table = p4r.Entity(table_entry=p4r.TableEntry())
    for entity in (whole, table):
        with pytest.raises(Refused, match="use Read") as raised:
            modem.entrance.cells(modem.request(register_entity(PIPELINE, name, 0), entity))
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert modem.entrance.cells(modem.request()) == b""
