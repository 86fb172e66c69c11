# SPDX-License-Identifier: Apache-2.0
"""The main job in virtual time: uploads and a game's packets through the modem."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from docsis_control.plan import Role
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_experiments.demo.plan import TAIL_SECONDS, Measurement, Plan
from docsis_experiments.stages.mininet.goodput import GoodputSeries
from docsis_experiments.stages.mininet.traffic import iperf3, irtt
from docsis_experiments.stages.virtual.machine import Machine
from docsis_experiments.stages.virtual.play import SAMPLE_NS, TIMELESS, Play, column, playing
from docsis_testbed.progress import Progress
from docsis_testbed.window import Window

APART_SECONDS: Final = 0.02
"""Between the starts of two uploads: what Mininet needs to start a program."""

_SETTLED_SECONDS: Final = 1.0
"""After the traffic's end: what was sent in it can arrive."""


def measure(
    topology: Topology,
    aqm: Preset,
    *,
    plan: Plan,
    seed: int,
    machine: Machine,
    folder: Path,
    progress: Progress,
) -> Measurement:
    """Run one queue manager in a world of its own.

    Args:
        topology: What to build.
        aqm: The upstream queue manager.
        plan: Times and traffic.
        seed: Of all that is random.
        machine: How late hosts, switches and controller are.
        folder: Gets the controller's record; exists.
        progress: Told how far the run is.

    Raises:
        TestbedError: The world cannot be built, or cannot go on.
    """
    with playing(
        topology, aqm, seed=seed, machine=machine, folder=folder, progress=progress
    ) as play:
        return _measure(play, topology, plan, aqm, folder)


def _measure(play: Play, topology: Topology, plan: Plan, aqm: Preset, folder: Path) -> Measurement:
    world, modem = play.world, topology.cable_modem
    probes = world.probes(
        plan.prober,
        plan.probed,
        irtt.PORT,
        count=round(plan.seconds * 1e3 / irtt.INTERVAL_MS),
        interval_ns=irtt.INTERVAL_MS * 1_000_000,
        frame_length=irtt.FRAME_BYTES,
    )
    begin, measured = plan.idle_seconds, plan.idle_seconds + plan.ramp_up_seconds
    end = measured + plan.measured_seconds
    uploads = {
        upload: world.tcp_transfer(
            upload.source,
            upload.destination,
            upload.port,
            start_ns=play.at(begin + number * APART_SECONDS),
            stop_ns=play.at(plan.seconds),
            congestion="cubic",
        )
        for number, upload in enumerate(plan.uploads)
    }
    world.sample(uploads.values(), SAMPLE_NS)
    idle = Window(play.origin_ns, play.run_until("idle baseline", begin))
    start_ns = play.run_until("ramp-up", measured)
    before = play.counters(modem, Role.CABLE_MODEM)
    loaded = Window(start_ns, play.run_until("measuring", end))
    after = play.counters(modem, Role.CABLE_MODEM)
    play.run_until("ending", end + TAIL_SECONDS + _SETTLED_SECONDS)
    return Measurement(
        aqm=aqm,
        idle=idle,
        loaded=loaded,
        probes=_probes(*world.probe_records(probes)),
        goodput=_goodput(play, list(uploads.values())),
        uploads={
            upload.name: iperf3.UploadResult(
                received_bytes=world.received(number),
                seconds=plan.seconds - begin,
                retransmits=world.transfer_info(number)["retransmissions"],
                congestion_control="cubic",
            )
            for upload, number in uploads.items()
        },
        counters={name: after[name] - before[name] for name in after},
        timing=TIMELESS,
        folder=folder,
        # The controller's samples have the world's time.
        monotonic_offset_ns=0,
        digest=world.digest(),
    )


def _probes(sent: bytes, reached: bytes, _returned: bytes) -> irtt.Probes:
    """Every probe's fate is known, whether its reply came or not."""
    sent_ns, reached_ns = column(sent), column(reached)
    arrived = reached_ns >= 0
    delay_ms = np.where(arrived, (reached_ns - sent_ns) / 1e6, np.nan)
    return irtt.Probes(sent_ns, delay_ms, arrived, sent_ns.size - 1)


def _goodput(play: Play, uploads: list[int]) -> GoodputSeries:
    samples = [play.world.samples(upload) for upload in uploads]
    received = np.stack([column(each["received"]) for each in samples])
    return GoodputSeries(column(samples[0]["time_ns"]), received.sum(axis=0))
