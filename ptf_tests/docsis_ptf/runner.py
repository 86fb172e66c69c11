# SPDX-License-Identifier: Apache-2.0
"""Runs the suite: on the embedded switch, on BMv2, or on somebody's running target.

The first two get a network namespace, veth pairs and a fresh switch of their own (sandbox.py,
switches.py). A running target is given by its address and its port map; nothing is set up there,
and its program and its entries are given back to it behind the tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from docsis_testbed.endings import end
from docsis_testbed.interrupts import (
    Terminated,
    interrupts_deferred,
    interrupts_ignored,
    raising_when_terminated,
)
from docsis_testbed.paths import RESULTS

from docsis_control.project_files import package_folder
from docsis_ptf import (
    catalogue,
    log_folder,
    matrix,
    outcome,
    plan,
    preflight,
    sandbox,
    shapers,
    switches,
)
from docsis_ptf.options import Options, options, parser
from docsis_ptf.params import TestParams
from docsis_ptf.preflight import TargetError
from docsis_ptf.profiles import Profile
from docsis_ptf.selection import select
from docsis_ptf.sleeper import Sleeper
from docsis_ptf.verdicts import Outcome, Verdict, complete, read

_MODULE_PATHS: Final = tuple(
    package_folder(name, place).parent
    for name, place in (
        ("docsis_ptf", "ptf_tests"),
        ("docsis_control", "control_plane"),
        ("docsis_testbed", "mininet"),
    )
)
_INTERRUPTED: Final = 130
_ENDINGS: Final = {
    _INTERRUPTED: "the run was interrupted",
    128 + signal.SIGTERM: "SIGTERM ended the run",
    128 + signal.SIGHUP: "SIGHUP ended the run",
}
"""What a run is told to end by, for its exit status."""
_SANDBOX_SECONDS: Final = switches.STOP_SECONDS + 3
"""Time for a sandbox to end its switch; the kernel ends with it what is left in it."""
_MACHINE_SECONDS: Final = 1.0
"""How long the machine's timers are measured before anything runs: some hundred sleeps."""
_VERDICTS: Final = "verdicts.jsonl"
_PROFILES: Final = "profiles.json"
FAILED: Final = 2
"""The exit status when the suite could not even run."""


def run(told: Options) -> int:
    """Runs the suite and returns an exit status, 0 when all went well.

    Ctrl-C, SIGTERM and SIGHUP end what it has started and wait for that. The target gets back what
    it had, and the verdicts so far are written. The exit status is 128 and the signal's number.
    """
    with raising_when_terminated():
        return _run(told)


def _run(told: Options) -> int:
    folder = told.results or RESULTS / "ptf" / (told.target if told.own else "target")
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    requirements = plan.load()
    try:
        chosen = [test.key for test in select(told.tests, catalogue.load(), requirements)]
        params = replace(told.params(), verdicts=str(folder.resolve() / _VERDICTS))
        shapers.check(params.shaper)
        if told.own:
            switches.binary(told.target)  # a missing switch is worth a sentence beforehand
        else:
            preflight.check_wiring(told.target, told.ports)
        log_folder.of(folder)  # what is in the way of it is said beforehand, too
        folder.mkdir(parents=True, exist_ok=True)
        for name in (_VERDICTS, _PROFILES, outcome.JUNIT, outcome.MATRIX):
            (folder / name).unlink(missing_ok=True)
        machine = _keep_lateness(folder)
        if told.own:
            status = _in_sandbox(told.target, params, chosen, told.seed, folder)
        else:
            try:
                status = _examined(params, told.ports, chosen, told.seed, folder, own=False)
            except (KeyboardInterrupt, Terminated) as ended:
                _say_notes(ended)
                # The verdicts so far are worth having.
                status = _status(ended)
    except (OSError, ValueError, TargetError, sandbox.SandboxError, switches.SwitchError) as error:
        print(f"ptf: {error}", file=sys.stderr)
        _say_notes(error)
        return FAILED
    except (KeyboardInterrupt, Terminated) as ended:
        _say_notes(ended)
        return _without_verdicts(_status(ended))
    verdicts = read(folder / _VERDICTS)
    if not verdicts:
        return _without_verdicts(status or FAILED)
    stopped = _stopped(verdicts, chosen, status)
    head = matrix.Head(
        target=told.target,
        taken=begun,
        selection=" ".join(told.tests) or "all",
        programs=outcome.digests(Path(params.programs)),
        machine=machine,
        stopped=stopped,
    )
    ran = [verdict for verdict in verdicts if verdict.outcome is not Outcome.NOT_RUN]
    verdicts = complete(ran, chosen, stopped)
    print(outcome.write(folder, head, _profiles(folder), requirements, verdicts), flush=True)
    if stopped:
        print(f"ptf: {stopped}", file=sys.stderr)
    return status or (FAILED if stopped else 0)


def _say_notes(error: BaseException) -> None:
    """Says what an exception has noted: what a running target has been given back."""
    for note in getattr(error, "__notes__", ()):
        print(f"ptf: {note}", file=sys.stderr)


def _without_verdicts(status: int) -> int:
    """Says that the run was told to end. Whatever else ended it has been said; returns `status`."""
    if status in _ENDINGS:
        print(f"ptf: {_ENDINGS[status]} before the first test was over", file=sys.stderr)
    return status


def _stopped(verdicts: Sequence[Verdict], chosen: Sequence[str], status: int) -> str:
    """Why the run ended before all tests had run; empty if it did not."""
    ran = [verdict.test for verdict in verdicts if verdict.outcome is not Outcome.NOT_RUN]
    if not (missing := len(set(chosen) - set(ran))):
        return ""
    gone = [verdict for verdict in verdicts if verdict.outcome is Outcome.NOT_RUN]
    if status in _ENDINGS:
        why = _ENDINGS[status]
    elif gone:
        why = (
            f"the target does not answer any more ({gone[0].words}); look at its log, and start it"
        )
    else:
        why = f"PTF ended with exit status {status}"
    behind = f" behind {ran[-1]}" if ran else ""
    return f"{missing} of {len(chosen)} tests were not run{behind}: {why}"


def _profiles(folder: Path) -> tuple[Profile, ...]:
    path = folder / _PROFILES
    if not path.exists():
        return ()
    return tuple(Profile(**values) for values in json.loads(path.read_text()))


def _keep_lateness(folder: Path) -> str:
    """The machine's own lateness goes with the results, so that those of two machines compare."""
    with Sleeper() as sleeper:
        # Time is measured; there is nothing to poll for.
        time.sleep(_MACHINE_SECONDS)
        machine = sleeper.stop()
    (folder / "timers.json").write_text(json.dumps(asdict(machine), indent=2) + "\n")
    print(f"ptf: before the tests, {machine}", flush=True)
    return str(machine)


def _in_sandbox(
    kind: str, params: TestParams, tests: Sequence[str], seed: int, folder: Path
) -> int:
    """A child of its own enters the namespace: this process stays where it is.

    It has ended when this returns, also behind Ctrl-C, SIGTERM or SIGHUP.
    """
    job = {
        "kind": kind,
        "params": asdict(params),
        "tests": list(tests),
        "seed": seed,
        "folder": str(folder),
    }
    child = None
    try:
        # A signal waits until the child is known: one that is not known is not ended.
        with interrupts_deferred():
            child = subprocess.Popen(
                _sandbox_command(job),
                env=_environment(),
                preexec_fn=sandbox.dies_with_parent(signal.SIGTERM),
            )
        return child.wait()
    except (KeyboardInterrupt, Terminated) as ended:
        # It has the terminal's Ctrl-C, too, and cleans up; a signal to us alone is passed on.
        with interrupts_ignored():
            if child is not None:
                end(child, _SANDBOX_SECONDS)
        return _status(ended)


def _sandbox_command(job: Mapping[str, object]) -> list[str]:
    return [sys.executable, "-m", "docsis_ptf.runner", "--sandbox", json.dumps(job)]


def _sandboxed(job: dict[str, Any]) -> int:
    """The child: namespace, switch, PTF."""
    try:
        with raising_when_terminated():
            return _in_namespace(job)
    except (OSError, ValueError, TargetError, sandbox.SandboxError, switches.SwitchError) as error:
        print(f"ptf: {error}", file=sys.stderr)
        return FAILED
    except (KeyboardInterrupt, Terminated) as ended:
        return _status(ended)


def _in_namespace(job: dict[str, Any]) -> int:
    params = TestParams(**{**job["params"], "cpe_ports": tuple(job["params"]["cpe_ports"])})
    folder = Path(job["folder"])
    sandbox.enter()
    ports = (params.rf_port, *params.cpe_ports)
    sandbox.create(ports)
    with switches.running(job["kind"], params, job["seed"], folder / "switch.log", os.environ):
        interfaces = {port: sandbox.ptf_side(port) for port in ports}
        return _examined(params, interfaces, job["tests"], job["seed"], folder, own=True)


def _status(ended: KeyboardInterrupt | Terminated) -> int:
    """The exit status of a run that was told to end."""
    return 128 + ended.signal if isinstance(ended, Terminated) else _INTERRUPTED


def _environment() -> dict[str, str]:
    paths = [str(path) for path in _MODULE_PATHS]
    if inherited := os.environ.get("PYTHONPATH"):
        paths.append(inherited)
    # A process that is started here becomes another program: nothing of gRPC goes on in it.
    return {"GRPC_ENABLE_FORK_SUPPORT": "0", **os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _examined(
    params: TestParams,
    interfaces: Mapping[int, str],
    tests: Sequence[str],
    seed: int,
    folder: Path,
    *,
    own: bool,
) -> int:
    """Looks at the target, tests it, and gives it back what it had."""
    profiles, found = preflight.examine(params, interfaces)
    try:
        kept = json.dumps([asdict(one) for one in profiles], indent=2)
        (folder / _PROFILES).write_text(kept + "\n")
        for one in profiles:
            print(f"ptf: {one.name}: {one.lacking or 'yes'}", flush=True)
        known = replace(params, profiles=tuple((one.name, one.lacking) for one in profiles))
        return _ptf(known, interfaces, tests, seed, folder)
    finally:
        if not own:
            print(f"ptf: target {params.target}: {preflight.give_back(params, found)}", flush=True)


def _ptf(
    params: TestParams, interfaces: Mapping[int, str], tests: Sequence[str], seed: int, folder: Path
) -> int:
    """PTF with the suite, its output on the terminal."""
    script = Path(sys.executable).with_name("ptf")
    if not script.is_file():
        raise ValueError(f"{script}: PTF is not installed; docs/targets.md says how")
    arguments = [
        *(sys.executable, str(script)),
        *("--test-dir", str(catalogue.SUITE)),
        *(a for port, name in interfaces.items() for a in ("-i", f"{port}@{name}")),
        *("--test-params", params.text()),
        # A folder, because with a single file PTF writes every frame to a pcap as well.
        *("--log-dir", str(log_folder.of(folder)), "--debug", "info"),
        *("--socket-recv-size", "16384", "--qlen", "1000"),
        # A user who may not open raw sockets was told so before.
        *("--random-seed", str(seed), "--allow-user"),
        *tests,
    ]
    process = None
    try:
        with interrupts_deferred():
            process = subprocess.Popen(
                arguments, env=_environment(), preexec_fn=sandbox.dies_with_parent(signal.SIGKILL)
            )
        return process.wait()
    finally:
        if process is not None and process.poll() is None:
            with interrupts_ignored():
                process.kill()
                process.wait()


def _list(told: Options) -> int:
    """Prints the tests that are selected, one a line."""
    for test in select(told.tests, catalogue.load(), plan.load()):
        needs = f" ({', '.join(test.needs)})" if test.needs else ""
        print(f"{test.key}{needs}: {test.about}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: python -m docsis_ptf.runner."""
    given = parser().parse_args(arguments)
    if given.sandbox is not None:
        return _sandboxed(json.loads(given.sandbox))
    try:
        told = options(given)
        return _list(told) if given.list else run(told)
    except ValueError as error:
        print(f"ptf: {error}", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
