# SPDX-License-Identifier: Apache-2.0
"""Runs the suite: on the embedded switch, on BMv2, or on somebody's running target.

The first two get a network namespace, veth pairs and a fresh switch of their
own (sandbox.py, switches.py); a running target is given by its address and its
port map, and nothing is set up or changed but its program and its entries.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

from docsis_ptf import sandbox, switches
from docsis_ptf.params import TestParams
from docsis_ptf.sleeper import Sleeper

_TESTS: Final = Path(__file__).resolve().parents[1]
_ROOT: Final = _TESTS.parent
_MODULE_PATHS: Final = (_TESTS, _ROOT / "control_plane")
_INTERRUPTED: Final = 130
_CONNECT_SECONDS: Final = 5.0
_MACHINE_SECONDS: Final = 1.0
"""How long the machine's timers are measured before anything runs: some hundred sleeps."""
FAILED: Final = 2
"""The exit status when the suite could not even run."""


def run(
    target: str = switches.EMBEDDED,
    *,
    tests: Sequence[str] = (),
    ports: Mapping[int, str] | None = None,
    device_id: int = 1,
    seed: int = 1,
    programs: Path | None = None,
    log_dir: Path | None = None,
) -> int:
    """Runs the suite and returns an exit status, 0 when all went well.

    Args:
        target: "embedded", "bmv2", or host:port of a running P4Runtime server.
        tests: PTF test specs: modules, module.Class, groups, ^ to leave out; all by default.
        ports: Of a running target: the interface at the other end of each port,
            the first the RF port, then two others.
        device_id: P4Runtime device id.
        seed: Of the test's random numbers, and of a switch that takes one.
        programs: Folder with {cm,cmts}.json and {cm,cmts}.p4info.txtpb; p4src/build by default.
        log_dir: For PTF's and the switch's log; results/ptf/TARGET by default.
    """
    own = target in (switches.EMBEDDED, switches.BMV2)
    folder = log_dir or _ROOT / "results" / "ptf" / (target if own else "target")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if own:
            switches.binary(target)  # a missing switch is worth a sentence before anything starts
            params = switches.params_for(target)
        else:
            params = _running_target(target, ports or {})
        params = replace(params, device_id=device_id)
        if programs is not None:
            params = replace(params, programs=str(programs.resolve()))
        _keep_lateness(folder)
        if own:
            return _in_sandbox(target, params, tests, seed, folder)
        return _ptf(params, ports or {}, tests, seed, folder)
    except (OSError, ValueError, sandbox.SandboxError, switches.SwitchError) as error:
        print(f"ptf: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED


def _keep_lateness(folder: Path) -> None:
    """The machine's own lateness goes with the results, so that those of two machines compare."""
    with Sleeper() as sleeper:
        # What is measured is time; there is nothing to poll for.
        time.sleep(_MACHINE_SECONDS)
        machine = sleeper.stop()
    (folder / "timers.json").write_text(json.dumps(asdict(machine), indent=2) + "\n")
    print(f"ptf: before the tests, {machine}", flush=True)


def _running_target(target: str, ports: Mapping[int, str]) -> TestParams:
    host, _, port = target.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"target {target!r}: neither embedded, bmv2 nor host:port")
    if len(ports) != 3:
        raise ValueError(
            f"target {target}: the suite needs three ports, each with the interface at its other"
            " end (RF first), such as 1=veth1 2=veth3 3=veth5"
        )
    for interface in ports.values():
        # Not /sys/class/net, which may show another namespace.
        if interface not in (name for _, name in socket.if_nameindex()):
            raise ValueError(f"target {target}: there is no interface {interface} here")
    if os.geteuid() != 0:
        raise ValueError(f"target {target}: raw sockets need root")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        raise ValueError(f"target {target}: nothing answers there: {error}") from None
    for interface in ports.values():
        _warn_of_ipv6(interface)
    rf, near, far = ports
    return TestParams(grpc=target, target=target, rf_port=rf, cpe_ports=(near, far))


def _warn_of_ipv6(interface: str) -> None:
    setting = Path("/proc/sys/net/ipv6/conf", interface, "disable_ipv6")
    if setting.exists() and setting.read_text().strip() == "0":
        print(
            f"ptf: {interface} has IPv6: the host's own frames would fail tests that expect none;"
            f" sysctl net.ipv6.conf.{interface}.disable_ipv6=1",
            file=sys.stderr,
        )


def _in_sandbox(
    kind: str, params: TestParams, tests: Sequence[str], seed: int, folder: Path
) -> int:
    """A child of its own enters the namespace: this process stays where it is."""
    job = {
        "kind": kind,
        "params": asdict(params),
        "tests": list(tests),
        "seed": seed,
        "folder": str(folder),
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "docsis_ptf.runner", "--sandbox", json.dumps(job)],
        env=_environment(),
        preexec_fn=sandbox.dies_with_parent(signal.SIGTERM),
    )
    try:
        return child.wait()
    except KeyboardInterrupt:
        # It has the terminal's Ctrl-C, too, and cleans up; a signal to us alone is passed on.
        child.terminate()
        child.wait()
        return _INTERRUPTED


def _sandboxed(job: dict[str, Any]) -> int:
    """The child: namespace, switch, PTF."""
    params = TestParams(**{**job["params"], "cpe_ports": tuple(job["params"]["cpe_ports"])})
    signal.signal(signal.SIGTERM, _terminated)
    folder = Path(job["folder"])
    try:
        sandbox.enter()
        ports = (params.rf_port, *params.cpe_ports)
        sandbox.create(ports)
        log = folder / "switch.log"
        with switches.running(job["kind"], params, job["seed"], log, os.environ):
            interfaces = {port: sandbox.ptf_side(port) for port in ports}
            return _ptf(params, interfaces, job["tests"], job["seed"], folder)
    except (OSError, sandbox.SandboxError, switches.SwitchError) as error:
        print(f"ptf: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED


def _terminated(number: int, frame: FrameType | None) -> None:
    """SIGTERM cleans up as Ctrl-C does."""
    raise KeyboardInterrupt


def _environment() -> dict[str, str]:
    paths = [str(path) for path in _MODULE_PATHS]
    if inherited := os.environ.get("PYTHONPATH"):
        paths.append(inherited)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _ptf(
    params: TestParams, interfaces: Mapping[int, str], tests: Sequence[str], seed: int, folder: Path
) -> int:
    """PTF with the suite, its output on the terminal."""
    script = Path(sys.executable).with_name("ptf")
    if not script.is_file():
        raise ValueError(f"{script}: PTF is not installed; run `make setup`")
    arguments = [
        *(sys.executable, str(script)),
        *("--test-dir", str(_TESTS / "suite")),
        *(a for port, name in interfaces.items() for a in ("-i", f"{port}@{name}")),
        *("--test-params", params.text()),
        # A folder, because with a single file PTF writes every frame to a pcap as well.
        # PTF empties it first.
        *("--log-dir", str(folder / "tests"), "--debug", "info"),
        *("--socket-recv-size", "16384", "--qlen", "1000"),
        *("--random-seed", str(seed)),
        *selection(tests),
    ]
    process = subprocess.Popen(
        arguments, env=_environment(), preexec_fn=sandbox.dies_with_parent(signal.SIGKILL)
    )
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def selection(tests: Sequence[str]) -> list[str]:
    """What PTF is to run: it would take nothing away from nothing, and run no test at all."""
    only_without = bool(tests) and all(test.startswith("^") for test in tests)
    return ["standard", *tests] if only_without else list(tests)


def _port(text: str) -> tuple[int, str]:
    number, _, interface = text.partition("=")
    if not number.isdigit() or not interface:
        raise argparse.ArgumentTypeError(f"{text!r}: a port is NUMBER=INTERFACE, such as 1=veth1")
    return int(number), interface


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: python -m docsis_ptf.runner."""
    parser = argparse.ArgumentParser(prog="docsis-ptf", description=__doc__)
    parser.add_argument("--target", default=switches.EMBEDDED, metavar="embedded|bmv2|HOST:PORT")
    parser.add_argument("--port", type=_port, action="append", default=[], metavar="NUMBER=IF")
    parser.add_argument("--device-id", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=Path, metavar="FOLDER")
    parser.add_argument("--sandbox", help=argparse.SUPPRESS)
    parser.add_argument("tests", nargs="*", help="modules, module.Class or groups; ^ leaves out")
    options = parser.parse_args(arguments)
    if options.sandbox is not None:
        return _sandboxed(json.loads(options.sandbox))
    return run(
        options.target,
        tests=options.tests,
        ports=dict(options.port),
        device_id=options.device_id,
        seed=options.seed,
        programs=options.programs,
    )


if __name__ == "__main__":
    sys.exit(main())
