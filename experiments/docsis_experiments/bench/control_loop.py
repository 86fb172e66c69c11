# SPDX-License-Identifier: Apache-2.0
"""The control loops of 64 modems in Mininet: how long an update takes, and how soon a change is."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from docsis_control.dynamic.change import Action, Change, Kind
from docsis_control.dynamic.client import apply
from docsis_control.plan import Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.status.health import Health, fetch_health
from docsis_control.topology import load_topology
from docsis_control.topology.document import write_topology
from docsis_testbed.paths import TOPOLOGIES
from docsis_testbed.runstate import RunState
from docsis_testbed.session import ControllerProgram
from docsis_testbed.testbed import running_testbed

SECONDS: Final = 75.0
"""Time without changes. The controller tells quantiles of its last minute."""

ADDITIONS: Final = 40
_MODEM: Final = "home33"
_REFERENCE: Final = 9
_MANAGER: Final = Preset.DOCSIS_PIE


def measure(run: RunState, progress: Callable[[str], None]) -> dict[str, Any]:
    """The loops of the neighbourhood's two devices, first without changes and then beside them.

    Args:
        run: Records what is made.
        progress: Told what is being measured.

    Returns:
        "seconds"; "loops", of each device by its name "service_flows", "updates" and "missed"
        without changes, and "cycle_ms" and "lateness_ms" with "p50" and "p99"; and "in_force_ms",
        the milliseconds until each of `ADDITIONS` new service flows was in force, ascending.

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    topology = load_topology(TOPOLOGIES / "neighbourhood.yaml")
    deployment = deploy(topology, _MANAGER)
    flows = {
        device.name: len(deployment.device(role).service_flows)
        for role, device in ((Role.CABLE_MODEM, topology.cable_modem), (Role.CMTS, topology.cmts))
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        topology_file = folder / "topology.yaml"
        write_topology(topology, topology_file)
        with running_testbed(
            topology, target="embedded", run=run, logs=folder, static_arp=True
        ) as testbed:
            controller = ControllerProgram(
                testbed, topology_file, folder / "controller", upstream=_MANAGER
            ).started()
            progress("updates")
            before = fetch_health(controller.pid)
            # Time itself is measured; there is nothing to poll for.
            time.sleep(SECONDS)
            after = fetch_health(controller.pid)
            progress("new service flows")
            in_force = _additions(controller.pid)
    return {
        "seconds": SECONDS,
        "loops": loops(flows, before, after),
        "in_force_ms": in_force,
    }


def loops(flows: dict[str, int], before: Health, after: Health) -> dict[str, Any]:
    """Computes the figures of each device's control loop between two looks; see `measure`.

    Args:
        flows: Number of service flows of each device.
        before: The controller's health at the first look.
        after: The same at the second one.
    """
    first = {loop.device: loop for loop in before.loops}
    return {
        loop.device: {
            "service_flows": flows[loop.device],
            "updates": loop.cycles - first[loop.device].cycles,
            "missed": loop.missed - first[loop.device].missed,
            "cycle_ms": {"p50": loop.cycle_ms.p50, "p99": loop.cycle_ms.p99},
            "lateness_ms": {"p50": loop.lateness_ms.p50, "p99": loop.lateness_ms.p99},
        }
        for loop in after.loops
        if loop.looped
    }


def _additions(controller: int) -> list[float]:
    add = Change(
        Action.ADD,
        Kind.UPSTREAM_SERVICE_FLOW,
        values={
            "service_flow_reference": _REFERENCE,
            "maximum_sustained_traffic_rate": "2 Mbps",
        },
    )
    delete = Change(Action.DELETE, Kind.UPSTREAM_SERVICE_FLOW, _REFERENCE)
    milliseconds = []
    for _ in range(ADDITIONS):
        milliseconds.append(apply(_MODEM, [add], controller).milliseconds)
        apply(_MODEM, [delete], controller)
    return [float(one) for one in np.sort(milliseconds)]
