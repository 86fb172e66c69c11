# SPDX-License-Identifier: Apache-2.0
"""A modem that boots from a student's configuration, and what it does with packets."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_control.plan import Role
from docsis_control.ports import FIRST_HOST_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import playing
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import LABS
from docsis_labs.exercises.classify.packets import PACKETS
from docsis_testbed.errors import TestbedError

TOPOLOGY: Final = LABS / "2-classify" / "topology.yaml"
FILE: Final = "modem.yaml"

_RECEIVED: Final = ("sf_received",)
_APART_S: Final = 0.01
"""Between two packets, seconds: then the one before has left."""


@functools.lru_cache(maxsize=2)
def classified(text: str) -> Mapping[str, int]:
    """Maps each of PACKETS to the reference of its service flow; 0 for none.

    The packets arrive one by one at the modem's first host port, and the pipeline's counters tell.

    Args:
        text: Text of the student's configuration.

    Raises:
        SubmissionError: The modem does not boot with it.
    """
    with tempfile.TemporaryDirectory(prefix="docsis-lab-") as made:
        folder = Path(made)
        (folder / TOPOLOGY.name).write_text(TOPOLOGY.read_text())
        (folder / FILE).write_text(text)
        try:
            home = load_topology(folder / TOPOLOGY.name)
            return _classified(home, folder)
        except (ConfigError, TestbedError) as error:
            words = str(error).replace(f"{folder}/", "")
            raise SubmissionError("does-not-boot", f"The modem does not boot: {words}.") from None


def _classified(home: Topology, folder: Path) -> dict[str, int]:
    plan = deploy(home, Preset.DROP_TAIL_250MS).device(Role.CABLE_MODEM)
    references = {flow.index: flow.reference for flow in plan.service_flows}
    missing = {1, 2, 3, 4} - set(references.values())
    if missing:
        raise SubmissionError(
            "no-such-flow",
            f"There is no upstream service flow {min(missing)}: the exercise's four are needed as "
            "they are.",
        )
    found: dict[str, int] = {}
    with playing(
        home,
        Preset.DROP_TAIL_250MS,
        seed=2,
        machine=EXACT,
        folder=folder,
        progress=lambda phase, seconds: None,
    ) as run:
        device, indexes = home.cable_modem, list(references)

        def received() -> dict[int, int]:
            counts = run.counts(device, Role.CABLE_MODEM, indexes, _RECEIVED)
            return {index: counts[index][_RECEIVED[0]].packets for index in indexes}

        before = received()
        for number, (name, packet) in enumerate(PACKETS.items(), 1):
            run.world.inject(device.name, FIRST_HOST_PORT, [(run.world.now_ns, packet.frame)])
            run.run_until("classifying", number * _APART_S)
            after = received()
            chosen = [index for index in indexes if after[index] > before[index]]
            found[name] = references[chosen[0]] if len(chosen) == 1 else 0
            before = after
    return found
