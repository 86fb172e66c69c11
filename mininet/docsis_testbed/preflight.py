# SPDX-License-Identifier: Apache-2.0
"""Checks before anything is made: each failure is one sentence that says what to do."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from docsis_control.bmv2 import client as bmv2
from docsis_control.bmv2.approximation import too_fast
from docsis_control.config.models import KeyedError
from docsis_control.mac.planning import refuse_channels
from docsis_control.modem_config.provisioned import Direction
from docsis_control.queue_managers.flow_queues import NO_FLOW_QUEUES
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import name_of, resolve
from docsis_control.topology.channels import NO_SHARED_QUEUE
from docsis_control.topology.models import Topology
from docsis_testbed import p4build
from docsis_testbed.addresses import device_address, socket_of, thrift_address
from docsis_testbed.congestion import CONGESTION_CONTROL, check_available
from docsis_testbed.errors import TestbedError
from docsis_testbed.namespaces import CLONE_NEWNET, made_apart
from docsis_testbed.netlink import add_veth, reason
from docsis_testbed.nodes import SWITCHES
from docsis_testbed.paths import switch_binary
from docsis_testbed.testbed import root_interfaces

TOOLS = {
    "mnexec": "mininet",
    "unshare": "util-linux",
    "iperf3": "iperf3",
    "irtt": "irtt",
}
"""Programs that are run, and the Debian package of each."""

BMV2_TOOLS = ("simple_switch_grpc", bmv2.PROGRAM)
"""The switch, and the client of its Thrift server."""

_PROBE = ("d4probe1", "d4probe2")
"""Names of the interfaces made in a namespace of their own to try the kernel."""

USE_EMBEDDED: Final = (
    "use the embedded switch (--target embedded, which is the default; with make TARGET=embedded)"
)
"""Advice for users of another target, whichever way they chose it."""


def check_root() -> None:
    """Refuse to go on as another user than root."""
    if os.geteuid() != 0:
        raise TestbedError(
            f"not root: network namespaces and interfaces need it; {_as_root()}, or use virtual "
            "time (--virtual) where the command has it"
        )


def _as_root() -> str:
    """How to run this program as root: sudo does not look for it where the shell found it."""
    program = Path(sys.argv[0])
    if program.name != "docsis-p4":
        return "run this again as root"
    return f"run sudo {shlex.quote(str(program))} ..."


def check_tools(tools: Sequence[str] = tuple(TOOLS)) -> None:
    """Refuse to go on when a program is missing."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = " ".join(sorted({TOOLS[tool] for tool in missing}))
        raise TestbedError(
            f"missing on PATH: {', '.join(missing)}; run `make setup`, "
            f"or install Debian's {packages}"
        )


def check_kernel() -> None:
    """Try namespaces, their /proc and veth, which all vanish again; look for CUBIC."""
    if not Path("/proc/self/ns/net").exists():
        raise TestbedError(
            "this kernel has no network namespaces (CONFIG_NET_NS); use one that has them"
        )
    trial = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if trial.returncode != 0:
        raise _no_namespace("PID", trial.stderr.strip() or f"exit status {trial.returncode}")
    try:
        refused = made_apart(CLONE_NEWNET, _refusal_of_veth)
    except OSError as error:
        raise _no_namespace("network", reason(error)) from None
    if refused is not None:
        raise TestbedError(
            f"this kernel makes no veth pair ({refused}); load the module veth, "
            "or use a kernel with CONFIG_VETH"
        )
    check_available([CONGESTION_CONTROL])


def _no_namespace(kind: str, why: str) -> TestbedError:
    return TestbedError(
        f"this kernel makes no {kind} namespace ({why}); run as root on a "
        "kernel with CONFIG_NET_NS and CONFIG_PID_NS, outside of a restricted container"
    )


def _refusal_of_veth() -> str | None:
    """Why the kernel makes no veth pair; None where it does."""
    try:
        add_veth(_PROBE)
    except OSError as error:
        return reason(error)
    return None


def check_port_free(
    address: str, what: str, otherwise: str = "give the device another grpc_port in the topology"
) -> None:
    """Refuse to go on when something listens at host:port already.

    Args:
        address: host:port.
        what: Name of the program that is to listen there, for the message.
        otherwise: Advice for the case that the other program cannot be ended.
    """
    host, port = address.rsplit(":", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            raise TestbedError(
                f"{what}: something listens on {address} already; end it (`ss -ltnp` names it), "
                f"or {otherwise}"
            ) from None


def check_interfaces_free(names: Sequence[str]) -> None:
    """Refuse to go on when an interface that we would make exists."""
    present = {name for _, name in socket.if_nameindex()}
    taken = [name for name in names if name in present]
    if taken:
        raise TestbedError(
            f"interface {taken[0]} exists already and is not recorded as ours; "
            f"delete it (`ip link delete dev {taken[0]}`) or rename the node in the topology"
        )


def check_target(target: str) -> None:
    """Refuse to go on without the switch's program."""
    if target not in SWITCHES:
        raise TestbedError(
            f'there is no target "{target}"; there are {", ".join(sorted(SWITCHES))}'
        )
    if target == "embedded":
        switch_binary()
    else:
        missing = [tool for tool in BMV2_TOOLS if shutil.which(tool) is None]
        if missing:
            raise TestbedError(
                f"target bmv2: {' and '.join(missing)} {'are' if missing[1:] else 'is'} not on "
                "PATH; install BMv2 (the package p4lang-bmv2 of p4lang's repositories, which "
                f"BMv2's README names), or {USE_EMBEDDED}"
            )


def check_queue_managers(target: str, *choices: Preset | QueueManagement | None) -> None:
    """Refuse to go on with queue managers that the target cannot have."""
    for choice in choices:
        if choice is None or target == "embedded":
            continue
        management = resolve(choice)
        if management.flow_queues is not None:
            raise TestbedError(
                f"queue manager {name_of(management)}: the target {target} has no flow queues: "
                f"{NO_FLOW_QUEUES}; choose another queue manager, or {USE_EMBEDDED}"
            )
        law = management.law(granted=False)
        if law is not None and law.own:
            raise TestbedError(
                f"queue manager {name_of(management)}: the target {target} has no registers in "
                f"P4Runtime, and its law needs {', '.join(law.own)}; choose another queue "
                f"manager, or {USE_EMBEDDED}"
            )


def check_rates(target: str, topology: Topology, direction: Direction) -> None:
    """Refuse to go on with service flows, loaded that way, that are faster than the target."""
    if target == "bmv2" and (words := too_fast(topology, direction)):
        raise TestbedError(f"target bmv2: {words}; choose another tier, or {USE_EMBEDDED}")


def check_channels(target: str, topology: Topology) -> None:
    """Refuse to go on with a request/grant MAC, or a shared queue, that the target has not."""
    if target == "embedded":
        return
    for node in topology.nodes:
        if node.link is not None and node.link.impairs:
            raise TestbedError(
                f"topology {topology.name}: {node.name}.link has loss or jitter, and the ports of "
                f"the target {target} have neither; leave it out, or {USE_EMBEDDED}"
            )
    if topology.shares_downstream:
        raise TestbedError(f"topology {topology.name}: the target {target} {NO_SHARED_QUEUE}")
    try:
        refuse_channels(topology, "BMv2")
    except KeyedError as error:
        raise TestbedError(str(error)) from None


def check_all(topology: Topology, target: str) -> None:
    """Everything that `demo` and `run` need. Leftovers of ours must be swept before."""
    check_channels(target, topology)
    check_root()
    check_tools()
    check_kernel()
    check_target(target)
    p4build.require_current()
    check_interfaces_free(root_interfaces(topology))
    for device in (topology.cable_modem, topology.cmts):
        address = device_address(device, target)
        # A socket in the run's folder is the run's; what a killed one left is replaced.
        if socket_of(address) is None:
            check_port_free(address, f"P4Runtime server of {device.name}")
        if target == "bmv2":
            check_port_free(
                thrift_address(device),
                f"Thrift server of {device.name}",
                "give the device another device_id in the topology",
            )
