# SPDX-License-Identifier: Apache-2.0
"""The switches that the runner can start itself."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docsis_testbed.endings import end
from docsis_testbed.errors import TestbedError
from docsis_testbed.interrupts import interrupts_ignored
from docsis_testbed.paths import switch_binary

from docsis_ptf.params import TestParams
from docsis_ptf.sandbox import dies_with_parent, switch_side
from docsis_ptf.shapers import BMV2 as BMV2_THRIFT

EMBEDDED: Final = "embedded"
BMV2: Final = "bmv2"
START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 5.0
REALTIME_PRIORITY: Final = 10
THRIFT_PORT: Final = 9090
"""BMv2's own; in the sandbox nobody else has it."""


class SwitchError(Exception):
    """A switch that is missing, or does not start; the message says what to do."""


def params_for(kind: str) -> TestParams:
    """The parameters for a switch that the runner starts."""
    if kind == EMBEDDED:
        return TestParams(target=kind, seeded=True, batch=128, frames=100_000)
    shaper = f"{BMV2_THRIFT}=127.0.0.1:{THRIFT_PORT}"
    return TestParams(target=kind, batch=32, frames=30_000, shaper=shaper)


def binary(kind: str) -> Path:
    """The switch's executable. SwitchError: it is not there."""
    if kind == BMV2:
        found = shutil.which("simple_switch_grpc")
        if found is None:
            raise SwitchError(
                "simple_switch_grpc is not on PATH; install p4lang-bmv2 or test the embedded switch"
            )
        return Path(found)
    try:
        return switch_binary()
    except TestbedError as error:
        raise SwitchError(
            f"{error}; a switch that runs already is tested with --target HOST:PORT"
        ) from None


def _realtime() -> tuple[str, ...]:
    """Takes a real-time priority where permitted: other processes are not under test."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:
        return ()
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return ("--realtime", str(REALTIME_PRIORITY))


def command(kind: str, params: TestParams, seed: int) -> list[str]:
    """The command line: the same for both, but for the seed and BMv2's Thrift."""
    interfaces = [
        argument
        for port in (params.rf_port, *params.cpe_ports)
        for argument in ("-i", f"{port}@{switch_side(port)}")
    ]
    return [
        str(binary(kind)),
        *interfaces,
        *("--device-id", str(params.device_id), "--no-p4"),
        *(
            ("--seed", str(seed), *_realtime())
            if kind == EMBEDDED
            else ("--thrift-port", str(THRIFT_PORT))
        ),
        "--",
        *("--grpc-server-addr", params.grpc),
        *("--cpu-port", str(params.cpu_port)),
        *("--priority-queues", "8"),
    ]


@contextmanager
def running(
    kind: str, params: TestParams, seed: int, log: Path, environment: Mapping[str, str]
) -> Iterator[None]:
    """The switch, from its server's first answer to its end. SwitchError: it does not start."""
    arguments = command(kind, params, seed)
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            preexec_fn=dies_with_parent(signal.SIGKILL),
        )
        try:
            _await_server(process, params.grpc, arguments[0], log)
            yield
            if process.poll() is not None:
                raise SwitchError(f"{arguments[0]} ended during the tests: {_last_lines(log)}")
        finally:
            # A second signal, such as the runner's behind Ctrl-C, does not cut it short.
            with interrupts_ignored():
                end(process, STOP_SECONDS)


def _await_server(process: subprocess.Popen[bytes], address: str, name: str, log: Path) -> None:
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + START_SECONDS
    while True:
        if process.poll() is not None:
            raise SwitchError(f"{name} ended with {process.returncode}: {_last_lines(log)}")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                waited = f"after {START_SECONDS:.0f} s"
                raise SwitchError(
                    f"{name} does not serve {address} {waited}: {_last_lines(log)}"
                ) from None
            time.sleep(0.02)


def _last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return " | ".join(lines[-3:]) if lines else f"it said nothing (log: {log})"
