# SPDX-License-Identifier: Apache-2.0
"""The controller against small P4Runtime servers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc
import pytest

from docsis_control import device_controller
from docsis_control.controller import Controller
from docsis_control.options import Options
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.errors import ConnectionLost, NotPrimaryError, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.entries import lasting
from docsis_control.queue_managers.names import Preset
from docsis_control.recording import save
from docsis_control.state.control_header import SwitchClock
from docsis_control.topology import Topology


async def test_provisions_everything(running: Any, pipelines: dict[str, Pipeline]) -> None:
    async with running() as system:
        modem, cmts = system.modem, system.cmts
        assert modem.groups == {1: (2, 3), 2: (1, 3), 3: (1, 2)}
        # One queue, one bucket, one primary service flow, three interfaces; stations: two
        # servers and two hosts for the modem, two hosts for the cable.
        assert len(modem.tables) == 12 + len(list(lasting()))
        primary_table = pipelines["cm"].schema.tables["FrameIngress.classifier.primary"].id
        (primary,) = (e for e in modem.tables.values() if e.table_id == primary_table)
        assert [field.exact.value for field in primary.match] == [b"\x01"]
        assert [p.value for p in primary.action.action.params] == [b"\x01"]

        configured = modem.traffic_manager.service_flows[0]
        assert configured.max_sustained_rate == 20_000_000
        assert configured.peak_rate == 25_000_000
        assert configured.max_burst == configured.initial_tokens == 500_000
        assert configured.queue_limit > 625_000
        delays = {port.port: port.receive_delay_ns for port in cmts.traffic_manager.ports}
        assert delays == {1: 0, 2: 20_000_000, 3: 100_000_000}
        # The pipeline's bucket follows the traffic manager's to the token.
        assert modem.registers["msr_tokens", 1] == 500_000 * 8_000_000 - 5
        assert 0 < modem.registers["msr_updated", 1] <= modem.now_us


async def test_beats_and_keeps_time(running: Any, until: Any) -> None:
    async with running() as system:
        await until(lambda: system.record.updates >= 20)
        registers = system.modem.registers
        beat = registers["controller_heartbeat", 0]
        # It is a time of the switch's clock, give or take how long the answer that told it took,
        # and another one with each update.
        assert beat > 0
        await until(lambda: system.modem.now_us >= beat)
        await until(lambda: registers["controller_heartbeat", 0] >= beat + 16_000)
        ticks = system.record.ticks
        # Every deadline is on the grid of the first.
        assert not ((ticks["monotonic_ns"] - ticks["monotonic_ns"][0]) % 16_000_000).any()
        # The CMTS has nothing to manage: no loop.
        assert system.controller.records["cmts1"].updates == 0


async def test_computes_the_law(running: Any, until: Any) -> None:
    async with running() as system:
        modem = system.modem
        modem.registers["msr_tokens", 1] = 0
        modem.registers["msr_updated", 1] = 2**47
        modem.registers["sf_enqueued_bytes", 1] = 99_996
        # The counters wrap: 100,000 bytes are queued.
        modem.registers["sf_dequeued_bytes", 1] = 2**32 - 4
        # The data path went to ACTIVE: a burst starts, 142 ms of it.
        modem.registers["aqm_data_state", 1] = (5 << 2) | 2
        await until(lambda: modem.registers.get(("aqm_control_state", 1), 0) == (5 << 2) | 2)
        assert modem.registers["aqm_qdelay_old", 1] == 40_000
        await until(lambda: bool(system.record.samples["drop_prob"].any()))
        assert modem.registers["aqm_burst_allowance", 1] == 0
        # 0.25 * (40 ms - 10 ms) / 2048, in Q4.28, for the first interval, and / 512 and so on for
        # those that the machine may have let pass without an update.
        samples = system.record.samples
        # Samples have what each update wrote; the registers have gone on when a late loop looks.
        burst = samples["burst_allowance"]
        assert 0 < burst.max() <= 126_000 or system.record.missed >= 8
        assert not samples["drop_prob"][burst > 0].any()
        first = samples["drop_prob"][samples["drop_prob"] > 0][0]
        expected = [0.25 * 0.03 / 2048]
        while expected[-1] < first * (1 - 1e-6):
            scale = 512 if expected[-1] < 1e-5 else 128 if expected[-1] < 1e-4 else 32
            expected.append(expected[-1] + 0.25 * 0.03 / scale)
        assert len(expected) <= 1 + system.record.missed
        assert first == pytest.approx(expected[-1], rel=1e-6)


async def test_drop_tail_never_has_a_probability(running: Any, until: Any) -> None:
    async with running(Preset.DROP_TAIL_250MS) as system:
        system.modem.registers["sf_enqueued_bytes", 1] = 600_000
        await until(lambda: system.record.updates >= 30)
        assert not system.record.samples["drop_prob"].any()
        # The bucket's 500,000 bytes leave at the peak rate, the rest at the sustained rate.
        assert system.record.samples["qdelay"][-1] == pytest.approx(0.16 + 0.04, rel=1e-6)


async def test_uses_packets_where_there_are_no_registers(running: Any, until: Any) -> None:
    async with running(has_registers=False, has_traffic_manager=False) as system:
        modem = system.modem
        assert system.record.access == "packets"
        assert not system.record.traffic_manager
        assert modem.registers["msr_tokens", 1] == 500_000 * 8_000_000
        modem.registers["sf_enqueued_bytes", 1] = 25_000
        await until(lambda: modem.registers.get(("aqm_qdelay_old", 1), 0) > 0)
        assert modem.registers["aqm_qdelay_old", 1] == 8_000
        assert modem.registers["controller_heartbeat", 0] > 0


@pytest.mark.parametrize("has_registers", [True, False])
async def test_runs_the_law_of_the_queue_manager(
    running: Any, until: Any, has_registers: bool
) -> None:
    async with running(Preset.PIE, has_registers=has_registers) as system:
        registers = system.modem.registers
        # A register only the law of PIE asks for: 2^14 bytes in 8,192 us are 16 Mbit/s.
        registers["pie_avg_dq_time", 1] = 8_192 * 256
        registers["sf_enqueued_bytes", 1] = 100_000
        await until(lambda: bool(system.record.samples["drop_prob"].any()))
        assert registers["aqm_qdelay_old", 1] == 50_000
        sample = system.record.samples[-1]
        assert sample["rate_estimate"] == 16e6
        assert sample["qdelay"] == pytest.approx(0.05)
        # A burst of 150 ms, of which ten intervals leave nothing.
        await until(lambda: registers["aqm_burst_allowance", 1] == 0)
        assert registers["aqm_drop_prob", 1] > 0


async def test_survives_a_restart(running: Any, until: Any) -> None:
    async with running() as system:
        modem = system.modem
        modem.registers["aqm_data_state", 1] = (3 << 2) | 2
        await until(lambda: modem.registers.get(("aqm_control_state", 1), 0) >> 2 == 3)
        for restart in (1, 2):
            await modem.stop()
            modem.forget()
            await modem.start()
            await until(lambda: system.record.reconnects == restart)  # noqa: B023
            before = system.record.updates
            await until(lambda: system.record.updates > before + 5)  # noqa: B023
            assert modem.pushes == restart + 1
            assert len(modem.tables) == 12 + len(list(lasting()))
            # The law started afresh, too.
            assert modem.registers["aqm_control_state", 1] == 0
        assert not system.task.done()


async def test_does_not_push_again_what_is_still_there(running: Any, until: Any) -> None:
    async with running() as system:
        modem = system.modem
        modem.registers["aqm_data_state", 1] = (3 << 2) | 2
        await until(lambda: modem.registers.get(("aqm_control_state", 1), 0) >> 2 == 3)
        await modem.stop()
        await modem.start()
        await until(lambda: system.record.reconnects == 1)
        before = system.record.updates
        await until(lambda: system.record.updates > before + 5)
        assert modem.pushes == 1
        assert modem.registers["aqm_control_state", 1] >> 2 == 3


async def test_counts_what_it_misses(running: Any, until: Any) -> None:
    async with running() as system:
        await until(lambda: system.record.updates >= 5)
        system.modem.write_delay = 0.04
        await until(lambda: system.record.updates >= 10)
        record = system.record
        assert record.missed >= 2 * 3
        ticks = record.ticks
        # Updates and missed intervals are all that there were.
        span = ticks["monotonic_ns"][-1] - ticks["monotonic_ns"][0]
        assert span // 16_000_000 == len(ticks) - 1 + ticks["missed"][:-1].sum()


async def test_a_clock_that_cannot_be_learned_ends_the_session(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(clock: SwitchClock) -> None:
        raise P4RuntimeError("packet-out failed: INTERNAL", grpc.StatusCode.INTERNAL)

    monkeypatch.setattr(device_controller, "CLOCK_INTERVAL", 0.05)
    async with running() as system:
        monkeypatch.setattr(SwitchClock, "learn", refused)
        with pytest.raises(P4RuntimeError, match="packet-out failed"):
            async with asyncio.timeout(60):
                await asyncio.shield(system.task)


async def test_a_reply_that_gets_lost_is_asked_for_again(
    running: Any, until: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    learned: list[bool] = []
    learn = SwitchClock.learn

    async def lost_twice(clock: SwitchClock) -> None:
        learned.append(len(learned) >= 2)
        if not learned[-1]:
            raise ConnectionLost("no answer to a READ packet-out")
        await learn(clock)

    monkeypatch.setattr(device_controller, "CLOCK_INTERVAL", 0.05)
    async with running() as system:
        monkeypatch.setattr(SwitchClock, "learn", lost_twice)
        await until(lambda: learned.count(True) >= 2)
        assert system.record.reconnects == 0
        assert not system.task.done()
    assert caplog.text.count("no answer to a READ packet-out; trying again") == 1


async def test_says_when_another_controller_takes_over(running: Any) -> None:
    async with running() as system, Connection(system.modem.address, 1, election_id=7):
        with pytest.raises(NotPrimaryError, match="another"):
            async with asyncio.timeout(60):
                await system.task


async def test_says_when_nothing_answers(topology: Topology) -> None:
    controller = Controller(
        deploy(topology, Preset.DOCSIS_PIE),
        Options(connect_timeout=0.2, addresses={"cm1": "127.0.0.1:1", "cmts1": "127.0.0.1:1"}),
    )
    with pytest.raises(ConnectionLost, match=r"no switch answers at 127\.0\.0\.1:1.*--address"):
        async with asyncio.timeout(60):
            await controller.run()


async def test_says_when_the_device_is_another(
    topology: Topology, pipelines: dict[str, Pipeline], make_switch: Any
) -> None:
    switch = await make_switch(pipelines["cm"], 9)
    controller = Controller(
        deploy(topology, Preset.DOCSIS_PIE),
        Options(addresses={"cm1": switch.address, "cmts1": switch.address}),
    )
    with pytest.raises(P4RuntimeError, match="NOT_FOUND: no such device"):
        async with asyncio.timeout(60):
            await controller.run()


async def test_saves_its_record(running: Any, until: Any, tmp_path: Path) -> None:
    async with running() as system:
        await until(lambda: system.record.updates >= 10)
    save(system.controller.records, tmp_path / "record")
    stats = json.loads((tmp_path / "record" / "stats.json").read_text())
    assert stats["updates"] == system.record.updates
    assert set(stats["lateness_ms"]) == {"p50", "p99", "max"}
    assert stats["devices"]["cm1"]["state_access"] == "registers"
    assert stats["devices"]["cmts1"]["updates"] == 0
    lines = (tmp_path / "record" / "samples-cm1.csv").read_text().splitlines()
    assert lines[0].split(",")[2:4] == ["service_flow", "backlog_bytes"]
    assert len(lines) == stats["updates"] + 1
    first = dict(zip(*(line.split(",") for line in lines[:2]), strict=True))
    # Nobody measures the rate of DOCSIS-PIE's departures.
    assert first["rate_estimate_bps"] == ""
    # Without a MAC the law sees what the pipeline's bucket has.
    assert abs(int(first["msr_bucket_bytes"]) - float(first["msr_tokens_bytes"])) <= 1
    assert not (tmp_path / "record" / "samples-cmts1.csv").exists()
