# SPDX-License-Identifier: Apache-2.0
"""The file from which `docsis-switch bench` and `sample` know the queue managers.

It has, for each preset, what a service flow under it gets in the pipeline, so that the switch needs
no list of its own:

    python -m docsis_control.queue_managers.benchmarks p4src/queue_managers.json

writes it anew; `make tables` does so, and a test fails where the file is another one.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from docsis_control.config.models import MAX_FRAME
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.management import MeasuredAs
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.registry import DESCRIBED
from docsis_control.tables import TableEntry

BUFFER_SIZE: Final = 1 << 30
"""Bytes of a service flow's buffer in the benchmark, which no queue fills."""

RATE: Final = 10_000_000_000
"""bit/s of a service flow in the benchmark: above what the pipeline carries."""

BURST: Final = 1_000_000
"""Bytes of a service flow's burst in the benchmark."""


def document() -> dict[str, Any]:
    """The content of the file. Presets for which the pipeline gets the same are in it once.

    The first one is drop tail, which the benchmark compares the others with.

    Raises:
        ValueError: A manager has an entry that is not of one service flow.
    """
    found: list[dict[str, Any]] = []
    for preset in sorted(DESCRIBED, key=lambda preset: preset is not Preset.DROP_TAIL):
        given = _provisioned(DESCRIBED[preset].management.measured_as(BUFFER_SIZE))
        if given not in ({**other, "name": ""} for other in found):
            found.append({**given, "name": preset.value})
    return {"managers": found}


def text() -> str:
    """The file's text."""
    return json.dumps(document(), indent=1) + "\n"


def _provisioned(measured: MeasuredAs) -> dict[str, Any]:
    management = measured.management
    target = management.pipeline_target()
    queues = management.flow_queues
    return {
        "name": "",
        "number": management.queue_manager.value,
        "latency_target_us": None if target is None else target // 1000,
        "flow_queues": None
        if queues is None
        else {
            "queues": queues.queues,
            "searched": queues.search,
            "round_robin": queues.round_robin,
        },
        "entries": list(_entries(measured)),
        "registers": dict(measured.registers),
    }


def _entries(measured: MeasuredAs) -> Iterator[dict[str, Any]]:
    flow = _service_flow(measured)
    for entry in measured.management.entries(flow):
        if entry != TableEntry(
            entry.table, {"service_flow": flow.index}, entry.action, entry.params
        ):
            raise ValueError(
                f"{entry} of {measured.management.algorithm} is not keyed by the service flow "
                "alone, so that a benchmark cannot give it to each service flow"
            )
        yield {"table": entry.table, "action": entry.action, "params": dict(entry.params)}


def _service_flow(measured: MeasuredAs) -> ServiceFlow:
    return ServiceFlow(
        index=1,
        port=1,
        direction="upstream",
        modem=1,
        modem_name="modem",
        reference=1,
        sfid=1,
        class_name="",
        primary=True,
        traffic_priority=0,
        max_sustained_rate=RATE,
        peak_rate=RATE * 5 // 4,
        max_burst=BURST,
        min_reserved_rate=0,
        assumed_packet_size=0,
        channel_rate=0,
        initial_tokens=BURST,
        buffer_size=BUFFER_SIZE,
        max_frame=MAX_FRAME,
        management=measured.management,
        latency_target_us=10_000,
        tos_and=0xFF,
        tos_or=0,
    )


def main(files: Sequence[str]) -> None:
    """Writes these files anew."""
    for name in files:
        file = Path(name)
        made = text()
        if not file.is_file() or file.read_text("utf-8") != made:
            file.write_text(made, "utf-8")
            print(f"{file}: queue managers written")


if __name__ == "__main__":
    main(sys.argv[1:])
