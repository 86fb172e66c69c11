# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 bench --soak`: traffic and control for a long time, and flat memory."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from docsis_experiments.bench import forwarding
from docsis_experiments.bench.forwarding import Bench, resident_bytes
from docsis_experiments.bench.progress import step
from docsis_experiments.stages.mininet import timers
from docsis_testbed import p4build, preflight
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import switch_binary
from docsis_testbed.runstate import recorded_run

_WARM_UP_PART: Final = 0.1
"""Part of the time in which buffers grow and pools fill."""

_TOLERANCE_BYTES: Final = 1_000_000
"""Growth below this is the allocator's."""


def run(seconds: float, console: Console) -> dict[str, Any]:
    """Send traffic through one switch, under its controller, and watch its memory.

    TCP and UDP in turns, the UDP as fast as the source can; the controller runs
    DOCSIS-PIE, so it reads and writes registers sixty times a second.

    Args:
        seconds: How long.
        console: Where progress and the table go.

    Returns:
        Resident bytes at the start (after a tenth of the time), in the middle and at
        the end, the most, frames that arrived, and the machine's own lateness.

    Raises:
        TestbedError: memory grew, or something did not work; nothing is left behind.
    """
    preflight.check_root()
    preflight.check_tools()
    preflight.check_kernel()
    switch_binary()
    p4build.require_current()
    with recorded_run("bench") as state, tempfile.TemporaryDirectory() as scratch:
        preflight.check_interfaces_free(forwarding.interfaces())
        preflight.check_port_free(forwarding.address(), "P4Runtime server of the bench")
        bench = Bench("docsis-switch", state, Path(scratch))
        ended = threading.Event()
        try:
            with step("the machine's own timers", console):
                late = timers.measured()
            bench.build()
            controller = threading.Thread(target=bench.control_until, args=(ended,))
            controller.start()
            with step(f"{seconds:.0f} s of traffic", console) as progress:
                samples = _watch(bench, seconds, progress)
            if not controller.is_alive():
                raise TestbedError("the controller ended in the middle; no control was measured")
            frames = bench.received()
        finally:
            ended.set()
            bench.close()
        controller.join(timeout=10)
    console.print(timers.words(late), soft_wrap=True, highlight=False)
    return {**_judge(samples, frames, seconds, console), "timers": late}


def _watch(
    bench: Bench, seconds: float, progress: Callable[[str], None]
) -> list[tuple[float, int]]:
    """(time, resident bytes), after every piece of traffic."""
    start = time.monotonic()
    samples: list[tuple[float, int]] = []
    while (now := time.monotonic() - start) < seconds:
        length = max(1.0, min(20.0, seconds / 20))
        if len(samples) % 2:
            bench.tcp(length)
        else:
            bench.udp(200, length)
        samples.append((now, resident_bytes(bench.switch_pid)))
        progress(f"{now:.0f} s gone, {samples[-1][1] / 1e6:.2f} MB resident")
    return samples


def _judge(
    samples: list[tuple[float, int]], frames: int, seconds: float, console: Console
) -> dict[str, Any]:
    memory = [size for at, size in samples if at >= seconds * _WARM_UP_PART]
    if not memory:
        raise TestbedError("the soak was too short to tell anything; give more seconds")
    start, middle, end = memory[0], memory[len(memory) // 2], memory[-1]
    table = Table(title=f"{seconds:.0f} s of traffic and control: resident memory, MB")
    for heading in ("start", "middle", "end", "most", "frames, millions"):
        table.add_column(heading, justify="right")
    table.add_row(
        *(f"{size / 1e6:.2f}" for size in (start, middle, end, max(memory))),
        f"{frames / 1e6:.1f}",
    )
    console.print(table)
    if end > start + _TOLERANCE_BYTES:
        raise TestbedError(
            f"the switch's memory grew from {start / 1e6:.2f} to {end / 1e6:.2f} MB "
            f"in {seconds:.0f} s of traffic"
        )
    return {"start": start, "middle": middle, "end": end, "most": max(memory), "frames": frames}
