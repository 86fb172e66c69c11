# SPDX-License-Identifier: Apache-2.0
"""A run under faults in Mininet, in real time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docsis_control.config.models import KeyedError
from docsis_control.plan import Deployment
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_experiments.chaos import faults as plans
from docsis_experiments.chaos.faults import CONTROLLER, Fault, Part, Rhythm, Target
from docsis_experiments.chaos.findings import Invariant, Report
from docsis_experiments.chaos.mininet.injector import possible
from docsis_experiments.chaos.mininet.leftovers import left, namespace_of
from docsis_experiments.chaos.mininet.played import Played
from docsis_experiments.chaos.mininet.system import System, switch_addresses
from docsis_experiments.chaos.mininet.ways import Ways
from docsis_testbed import preflight
from docsis_testbed.errors import TestbedError
from docsis_testbed.progress import Progress
from docsis_testbed.runstate import recorded_run
from docsis_testbed.testbed import running_testbed

_COMMAND: Final = "chaos"


def run(
    topology: Topology,
    count: int,
    seed: int,
    *,
    progress: Progress,
    logs: Path | None = None,
    rhythm: Rhythm | None = None,
) -> Report:
    """Draws a plan of faults and plays it in Mininet.

    Args:
        topology: What to build.
        count: How many faults.
        seed: The seed of all that is drawn; what comes of it depends on the machine, too.
        progress: Told how far the run is.
        logs: Folder that gets what the programs print; nobody keeps it unless given.
        rhythm: How often faults begin, and how long they last.

    Raises:
        TestbedError: Something is missing or did not work; nothing is left behind.
    """
    plan = plans.drawn(possible(topology), count, seed, rhythm)
    return play(topology, plan, seed, progress=progress, logs=logs)


def play(
    topology: Topology,
    plan: list[Fault],
    seed: int,
    *,
    progress: Progress,
    logs: Path | None = None,
) -> Report:
    """Plays a plan of faults, with traffic, dynamic service and manager changes going on.

    Args:
        topology: What to build; without upstream channels.
        plan: The faults, in the order of their starts.
        seed: The seed of all else that is drawn.
        progress: Told how far the run is.
        logs: Folder that gets what the programs print; nobody keeps it unless given.

    Raises:
        TestbedError: Something is missing or did not work; nothing is left behind.
    """
    if topology.upstream_channels:
        raise TestbedError(
            f"topology {topology.name} has upstream channels, which put both switches into one "
            "process; take a topology without"
        )
    preflight.check_target("embedded")
    preflight.check_root()
    deployment = _deployed(topology)
    with _folder(logs) as folder, recorded_run(_COMMAND) as state:
        preflight.check_all(topology, "embedded")
        progress("building", 0.0)
        with (
            running_testbed(
                topology, target="embedded", run=state, logs=folder, static_arp=True
            ) as testbed,
            Ways(folder, switch_addresses(topology)) as ways,
        ):
            system = System(testbed, ways, deployment, folder)
            system.start()
            modem = system.process(Target(Part.SWITCH, topology.cable_modem.name))
            namespaces = {namespace_of(modem.pid), namespace_of(system.process(CONTROLLER).pid)}
            played = Played(system, deployment, plan, seed, progress)
            played.play()
    played.findings.check(played.now_ns, Invariant.LEFTOVERS, left(topology, namespaces))
    return played.report()


def _deployed(topology: Topology) -> Deployment:
    try:
        return deploy(topology, Preset.DOCSIS_PIE, Preset.DOCSIS_PIE)
    except KeyedError as error:
        raise TestbedError(f"topology {topology.name}: {error.key}: {error}") from None


@contextmanager
def _folder(logs: Path | None) -> Iterator[Path]:
    """The folder that programs write to: the caller's, or one that is gone at the end."""
    if logs is None:
        with tempfile.TemporaryDirectory(prefix="docsis-p4-chaos-") as scratch:
            yield Path(scratch)
        return
    try:
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise TestbedError(
            f"{logs}: the folder for logs cannot be made ({error.strerror})"
        ) from None
    yield logs.resolve()
