# SPDX-License-Identifier: Apache-2.0
"""Makes links of a modem, a channel and a CMTS between hosts of a user's own Mininet script."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from docsis_control.config.errors import ConfigError
from docsis_control.config.yaml_file import of_mapping
from docsis_control.ports import HOST_PORTS, RF_PORT
from docsis_control.queue_managers.document import from_argument
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.document import write_topology
from docsis_control.topology.loader import topology_of
from docsis_control.topology.models import Device, Topology
from docsis_testbed import preflight
from docsis_testbed.addresses import device_address
from docsis_testbed.endings import end
from docsis_testbed.errors import TestbedError
from docsis_testbed.links import PlainInterface, PlainLink, make_pair, make_plain
from docsis_testbed.nodes import DocsisSwitch, P4Switch, SwitchBeside, programs_of
from docsis_testbed.runstate import RunState
from docsis_testbed.session import ControllerProgram
from docsis_testbed.supervision import Program, supervised

MOST_LINKS: Final = 16
"""Links at a time: each has two switches and a controller."""

_END_SECONDS: Final = 5.0
_DELAY: Final = "round_trip_time"
_KEYS: Final = ("channel", "upstream_channels", "service_classes", "description")
"""Keys at the top of a topology's file that a link does not set itself."""

_MININET_KEYS: Final = {
    "bw": "the service tier sets its rate; give tier",
    "delay": f"give {_DELAY}, which is of both directions together",
    "max_queue_size": "the queue manager has its buffer; give aqm",
}
"""Arguments of Mininet's TCLink, and their counterparts here."""


@dataclass(frozen=True)
class Wanted:
    """The arguments of a link.

    Attributes:
        ends: The host at the modem and the host at the CMTS, each with the process id of its shell
            ("pid"), and the name and MAC address of its interface ("name", "mac").
        tier: Name of the service tier.
        aqm: Queue manager of the upstream service flow.
        downstream_aqm: Queue manager of the downstream service flow; None leaves the tier's.
        round_trip_time: Propagation delay with its unit; None adds none.
        keys: Further keys of a topology's file; see `_KEYS`.
    """

    ends: Sequence[Mapping[str, Any]]
    tier: str
    aqm: str
    downstream_aqm: str | None = None
    round_trip_time: str | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)


class _Link:
    """A running link, which its controller treats as a testbed.

    Attributes:
        topology: The link's topology.
        target: Name of the switch target.
        logs: Folder for the logs of switches and controller.
    """

    target = "embedded"

    def __init__(self, topology: Topology, run: RunState, logs: Path) -> None:
        self.topology = topology
        self.logs = logs
        self._run = run
        self._ended = ExitStack()
        # The first callback is the last that is called: the switches have ended by then.
        self._ended.callback(run.remove_interfaces, _interfaces(topology))

    def start(
        self, wanted: Wanted, upstream: QueueManagement, downstream: QueueManagement | None
    ) -> None:
        """Makes interfaces, starts switches and controller, and waits until both serve.

        Raises:
            TestbedError: Something did not work; `end` removes what there is.
        """
        modem = self._switch(self.topology.cable_modem, DocsisSwitch)
        if self.topology.upstream_channels:
            cmts = self._switch(self.topology.cmts, SwitchBeside, beside=modem)
        else:
            cmts = self._switch(self.topology.cmts, DocsisSwitch)
            PlainLink(modem, cmts, port1=RF_PORT, port2=RF_PORT)
        for switch, host in zip((modem, cmts), wanted.ends, strict=True):
            self._attach(switch, int(host["pid"]), str(host["name"]), str(host["mac"]))
        for switch in (modem, cmts):
            switch.start()
        for switch in (modem, cmts):
            switch.wait_ready()
        file = self.logs / "topology.yaml"
        write_topology(self.topology, file)
        controller = ControllerProgram(
            self, file, self.logs / "controller", upstream=upstream, downstream=downstream
        )
        self._ended.callback(_end_controller, controller)
        controller.start()
        controller.wait_ready()
        programs: list[tuple[str, Program]] = [
            (f"the controller of {modem.name}", controller),
            *((switch.told, switch) for switch in programs_of((modem, cmts))),
        ]
        self._ended.enter_context(
            supervised(programs, lambda words: print(f"docsis-p4: {words}", file=sys.stderr))
        )

    def end(self) -> None:
        """Ends its programs, and removes its interfaces."""
        self._ended.close()

    def launch_here(
        self, command: Sequence[str], log: Path, *, append: bool = False
    ) -> subprocess.Popen[bytes]:
        """Starts a program in this network namespace; it ends with the run at the latest."""
        return self._run.spawn_logged(command, log, append=append)

    def _switch(self, device: Device, kind: type[P4Switch], **params: Any) -> Any:
        switch = kind(
            device.name,
            run=self._run,
            device_id=device.device_id,
            grpc_address=device_address(device),
            log=self.logs / f"{device.name}.log",
            inNamespace=False,
            **params,
        )
        self._ended.callback(_quietly, switch.terminate)
        self._ended.callback(switch.end_program)
        return switch

    def _attach(self, switch: P4Switch, pid: int, name: str, mac: str) -> None:
        """Joins a switch's first host port to a new interface in a process's namespace."""
        [port, *_] = HOST_PORTS
        here = f"{switch.name}-eth{port}"
        make_pair((here, name), (None, mac), pid, self._run.add_interface)
        make_plain(name, pid)
        PlainInterface(here, node=switch, port=port)


class DocsisLinks:
    """All links of a script.

    Args:
        run: The run that records their processes and interfaces.
        folder: Gets a folder of logs for each link.
    """

    def __init__(self, run: RunState, folder: Path) -> None:
        self._run = run
        self._folder = folder
        self._links: dict[int, _Link] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number in list(self._links):
            self.remove(number)

    def add(self, number: int, wanted: Wanted) -> None:
        """Makes a link, and waits until it is provisioned.

        Args:
            number: The link's number, from 1, which no other link has or had.
            wanted: Its arguments.

        Raises:
            TestbedError: The link cannot be made; nothing of it is left.
        """
        if len(self._links) >= MOST_LINKS:
            raise TestbedError(f"there are {MOST_LINKS} DOCSIS links already, and may be no more")
        topology = _topology(number, wanted)
        upstream = _manager(wanted.aqm, "aqm")
        own = wanted.downstream_aqm
        downstream = None if own is None else _manager(own, "downstream_aqm")
        preflight.check_interfaces_free(_interfaces(topology))
        logs = self._folder / str(number)
        logs.mkdir()
        link = _Link(topology, self._run, logs)
        try:
            link.start(wanted, upstream, downstream)
        except BaseException:
            link.end()
            raise
        self._links[number] = link

    def remove(self, number: int) -> None:
        """Ends a link; a number whose link has ended already is ignored."""
        link = self._links.pop(number, None)
        if link is not None:
            link.end()


def _topology(number: int, wanted: Wanted) -> Topology:
    """Returns the topology of a link: one modem, a host behind it and one behind the CMTS.

    Raises:
        TestbedError: An argument is wrong.
    """
    near, far = wanted.ends
    place = Path(f"DocsisLink {near['name']} - {far['name']}")
    _check_keys(place, wanted.keys)
    delay = {} if wanted.round_trip_time is None else {"round_trip_time": wanted.round_trip_time}
    data = {
        "name": f"link{number}",
        "tier": wanted.tier,
        **wanted.keys,
        "cable_modem": {"name": f"d4m{number}", "device_id": 2 * number - 1},
        "cmts": {"name": f"d4c{number}", "device_id": 2 * number},
        # Hosts have whatever addresses the script gives them: bridges know only their stations.
        "modems": [{"name": f"cm{number}", "hosts": [_host("near", near, "10.0.0.1/30")]}],
        "servers": [{**_host("far", far, "10.0.0.2/30"), **delay}],
    }
    try:
        return topology_of(of_mapping(data, place))
    except ConfigError as error:
        # The script's words for what is a server's in a topology.
        raise TestbedError(str(error).replace(f"servers.0.{_DELAY}", _DELAY)) from None


def _interfaces(topology: Topology) -> list[str]:
    """Names of the interfaces that a link has in the script's network namespace."""
    return [
        f"{device.name}-eth{port}"
        for device in (topology.cable_modem, topology.cmts)
        for port in (RF_PORT, HOST_PORTS[0])
    ]


def _check_keys(place: Path, keys: Mapping[str, Any]) -> None:
    """Refuses keys that are no topology's, and those that a link sets itself.

    Raises:
        TestbedError: There is such a key.
    """
    for key in keys:
        if key not in _KEYS:
            hint = _MININET_KEYS.get(key, f"there are tier, aqm, {_DELAY} and {', '.join(_KEYS)}")
            raise TestbedError(f"{place}: {key}: is no argument of a DocsisLink; {hint}")


def _host(name: str, end: Mapping[str, Any], ip: str) -> dict[str, Any]:
    return {"name": name, "ip": ip, "mac": end["mac"]}


def _manager(text: object, key: str) -> QueueManagement:
    if not isinstance(text, str):
        raise TestbedError(f"{key}: {text!r} is no text; give a preset's name, or a file's")
    try:
        return from_argument(text)
    except ValueError as error:
        raise TestbedError(f"{key}: {error}") from None


def _end_controller(controller: ControllerProgram) -> None:
    process, controller.process = controller.process, None
    if process is not None:
        end(process, _END_SECONDS)


def _quietly(act: Callable[[], object]) -> None:
    # A shell that has ended with its node's program.
    with suppress(OSError):
        act()
