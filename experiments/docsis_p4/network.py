# SPDX-License-Identifier: Apache-2.0
"""Builds a network in a program: modems, hosts, servers and traffic.

`Network` gathers the keys of topology and scenario files, and the readers of those files check
them, so units and messages are the same.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Self

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.config.yaml_file import Document, of_mapping, plain, validate
from docsis_control.config.yaml_file import read as read_document
from docsis_control.queue_managers.document import SUFFIXES, from_argument, from_mapping
from docsis_control.queue_managers.management import QueueManagement, as_written
from docsis_control.topology.loader import topology_of
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded, with_topology
from docsis_experiments.experiment.models import Scenario
from docsis_p4.results import Results, read
from docsis_p4.stages import Stage, Virtual
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS, TOPOLOGIES
from docsis_testbed.terminal import terminal

Managers = str | Path | Sequence[str | Path] | Mapping[str, str | Path | Mapping[str, Any]]
"""Presets and files, or what to call each queue manager, with a preset, a file or its keys."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_SHORT: Final = ("hosts", "configuration", "service_flows", "classifiers")
"""Keys of a file's short form, which describe its one modem."""

_GIVEN_ELSEWHERE: Final[Mapping[str, str]] = {
    "name": "give it to Network",
    "topology": "the network is the topology; Network.load has one of a file",
    "tier": "give it to Network, Network.load or add_modem",
    "traffic": "use add_traffic",
    "runs": "give aqm",
    "measured": "give seconds",
}
"""Keys of a scenario's file that a network has already, or that `run` has under another name."""

_HOSTS_A_MODEM: Final = 254
_MOST_NUMBERED: Final = 253
"""Modems, and servers, whose hosts get addresses by themselves."""


class Network:
    """Modems with hosts behind them, a CMTS, servers behind it, and traffic between them.

    Args:
        name: Lower-case letters, digits and hyphens, a letter first.
        tier: Service tier of the modems that have none of their own: the name of a file, without
            .yaml, in tiers/ of the current folder, or else of the project.
        keys: Further keys at the top of a topology's file, such as `channel`.

    Raises:
        TestbedError: The name has other characters.
    """

    def __init__(self, name: str, *, tier: str | None = None, **keys: Any) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise TestbedError(
                f'"{name}" is no name for a network; use lower-case letters, digits and hyphens, a '
                "letter first"
            )
        self.name = name
        self._data: dict[str, Any] = {
            "name": name,
            "cable_modem": {"name": "cm", "device_id": 1},
            "cmts": {"name": "cmts", "device_id": 2},
            "modems": [],
            "servers": [],
            **({} if tier is None else {"tier": tier}),
            **keys,
        }
        self._place = Path(f"network {name}")
        self._traffic: list[dict[str, Any]] = []

    @classmethod
    def load(cls, topology: str | Path, *, tier: str | None = None) -> Self:
        """Returns the network of a topology's file, to which traffic and nodes can be added.

        Args:
            topology: The file, or the name of one that `docsis-p4 list topologies` shows.
            tier: Service tier instead of the file's.

        Raises:
            TestbedError: The file cannot be used; file, line and key are in the message.
        """
        file = Path(topology)
        shipped = TOPOLOGIES / f"{topology}.yaml"
        if len(file.parts) == 1 and not file.exists() and shipped.is_file():
            file = shipped
        with _in_words():
            document = read_document(file)
            topology_of(document, tier)
        data = plain(document.root)
        assert isinstance(data, dict)
        network = cls(str(data["name"]), tier=tier)
        network._place = file
        network._data = data if tier is None else {**data, "tier": tier}
        if "hosts" in data:
            # The short form's one modem, so that others can be added.
            modem = {"name": data["cable_modem"]["name"]}
            modem |= {key: data.pop(key) for key in _SHORT if key in data}
            network._data |= {"modems": [modem]}
            for key in _SHORT:
                network._data.pop(key, None)
        return network

    def add_modem(self, name: str, *, tier: str | None = None, **keys: Any) -> str:
        """Adds a cable modem.

        Args:
            name: Name, which no other modem may have.
            tier: The modem's service tier; the default is the network's.
            keys: Further keys of a modem in a topology's file, such as `configuration`, or `hosts`
                instead of `add_host`.

        Returns:
            The name, for `add_host`.

        Raises:
            TestbedError: There is a modem of that name.
        """
        if name in self._modems:
            raise TestbedError(
                f'{self._place}: there is a modem "{name}" already; give another name'
            )
        service = {} if tier is None else {"tier": tier}
        # Hosts may be given here, or only counted, as in a file.
        hosts: dict[str, Any] = {} if keys.keys() & {"hosts", "count"} else {"hosts": []}
        self._data["modems"].append({"name": name, **service, **hosts, **copy.deepcopy(keys)})
        return name

    def add_host(
        self,
        name: str,
        *,
        modem: str | None = None,
        ip: str | None = None,
        mac: str | None = None,
    ) -> str:
        """Adds a host behind a modem; if there is no modem yet, one is added as well.

        Args:
            name: Name, which no other node may have: 1 to 10 lower-case letters, digits or hyphens,
                a letter first.
            modem: Name of the modem; it may be left out if there is only one.
            ip: IPv4 address with its prefix; the default is the next of 10.0.MODEM.0/16.
            mac: MAC address; the default is the modem's next.

        Returns:
            The name.

        Raises:
            TestbedError: A node has that name already, or there is no such modem.
        """
        self._check_new(name)
        if not self._modems and modem is None:
            self.add_modem("cm1")
        number, hosts = self._behind(modem)
        place = len(hosts) + 1
        if (ip is None or mac is None) and (number > _MOST_NUMBERED or place > _HOSTS_A_MODEM):
            raise TestbedError(
                f"{self._place}: {_MOST_NUMBERED} modems with {_HOSTS_A_MODEM} hosts each get "
                f"addresses by themselves; give {name} an ip and a mac"
            )
        hosts.append(
            {
                "name": name,
                "ip": ip or f"10.0.{number}.{place}/16",
                "mac": mac or f"02:00:01:00:{number:02x}:{place:02x}",
            }
        )
        return name

    def add_server(
        self,
        name: str,
        *,
        round_trip_time: str | None = None,
        ip: str | None = None,
        mac: str | None = None,
    ) -> str:
        """Adds a host on the network side of the CMTS.

        Args:
            name: Name, which no other node may have: 1 to 10 lower-case letters, digits or hyphens,
                a letter first.
            round_trip_time: Propagation delay, as in "20 ms"; the default is none.
            ip: IPv4 address with its prefix; the default is the next of 10.0.0.0/16.
            mac: MAC address; the default is the next one.

        Returns:
            The name.

        Raises:
            TestbedError: A node has that name already.
        """
        self._check_new(name)
        servers = self._data["servers"]
        place = len(servers) + 1
        if (ip is None or mac is None) and place > _MOST_NUMBERED:
            raise TestbedError(
                f"{self._place}: {_MOST_NUMBERED} servers get addresses by themselves; give {name} "
                "an ip and a mac"
            )
        delay = {} if round_trip_time is None else {"round_trip_time": round_trip_time}
        servers.append(
            {
                "name": name,
                "ip": ip or f"10.0.0.{place}/16",
                "mac": mac or f"02:00:02:00:00:{place:02x}",
                **delay,
            }
        )
        return name

    def add_traffic(self, name: str, kind: str, **keys: Any) -> None:
        """Adds a group of traffic; see docs/scenarios.md for kinds and their keys.

        Args:
            name: Name, which no other group may have.
            kind: Kind of traffic, such as "transfer", "voip", "cbr" or "web".
            keys: Keys of that kind, such as `hosts`, `servers`, `count` or `rate`.

        Raises:
            TestbedError: A group has that name already.
        """
        if any(group["name"] == name for group in self._traffic):
            raise TestbedError(
                f'{self._place}: there is traffic "{name}" already; give another name'
            )
        self._traffic.append({"name": name, "kind": kind, **keys})

    def topology(self) -> Topology:
        """Returns the topology as it would be built, tiers in place.

        Raises:
            TestbedError: It cannot be built; the key is in the message.
        """
        with _in_words():
            return topology_of(self._document(self._data))

    def run(
        self,
        aqm: Managers = "docsis-pie",
        *,
        seconds: float = 10.0,
        ramp_up: str = "auto",
        idle: str | None = None,
        direction: Literal["upstream", "downstream"] = "upstream",
        on: Stage | None = None,
        results: Path | str = RESULTS,
        show: bool = False,
        **keys: Any,
    ) -> Results:
        """Runs the network under its traffic, with one queue manager after the other.

        Args:
            aqm: Presets that `docsis-p4 list queue-managers` shows, and files that end in .yaml; or
                what to call each queue manager, with a preset, a file or a mapping of its keys.
            seconds: Length of the measured time, from 1 up.
            ramp_up: Traffic before the measured time, as in "8 s"; "auto" is as long as the
                bucket's burst and CUBIC need.
            idle: Time before the ramp-up in which only calls and requests run, as in "5 s"; the
                default is none.
            direction: Which way the traffic goes.
            on: `Virtual(...)` or `Mininet(...)`; the default is `Virtual()`.
            results: Folder in which a new folder for these results is made.
            show: Print progress and tables, as docsis-p4 does.
            keys: Further keys at the top of a scenario's file, such as `tcp` or `channel`; those
                that the network or other arguments have are refused.

        Raises:
            TestbedError: Something is not possible, missing or did not work; nothing is left
                running.
            NoVerdict: Time was not right, so that nothing can be said; the results are written.
        """
        stage = Virtual() if on is None else on
        if not hasattr(stage, "play"):
            raise TestbedError(
                f"on: {on!r} is nowhere to run; give Virtual() or Mininet(), with what they take"
            )
        for key in keys:
            if key in _GIVEN_ELSEWHERE:
                raise TestbedError(f"{key}: has no place here; {_GIVEN_ELSEWHERE[key]}")
        with _in_words():
            loaded = self._loaded(
                _runs(aqm),
                measured=f"{_milliseconds(seconds)} ms",
                ramp_up=ramp_up,
                direction=direction,
                **({} if idle is None else {"idle": idle}),
                **keys,
            )
        folder = stage.play(loaded, terminal(quiet=not show), Path(results))
        return read(folder)

    def _loaded(self, runs: Sequence[Mapping[str, Any]], **keys: Any) -> Loaded:
        topology = topology_of(self._document(self._data))
        document = self._document(
            {
                "name": self.name,
                "title": f"{self.name}: {', '.join(run['label'] for run in runs)}",
                "topology": "topology.yaml",
                "runs": list(runs),
                "traffic": self._traffic,
                **keys,
            }
        )
        scenario = validate(document, Scenario, plain(document.root))
        return with_topology(document, scenario, topology)

    def _document(self, data: Mapping[str, Any]) -> Document:
        return of_mapping(copy.deepcopy(dict(data)), self._place)

    @property
    def _modems(self) -> dict[str, dict[str, Any]]:
        return {modem["name"]: modem for modem in self._data["modems"]}

    def _behind(self, name: str | None) -> tuple[int, list[dict[str, Any]]]:
        """A modem's number, from 1, and its hosts."""
        modems = self._modems
        if name is None and len(modems) > 1:
            raise TestbedError(
                f"{self._place}: say which modem the host is behind; there are {', '.join(modems)}"
            )
        chosen = next(iter(modems)) if name is None else name
        if chosen not in modems:
            raise TestbedError(
                f'{self._place}: there is no modem "{chosen}"; there are '
                f"{', '.join(modems) or 'none'}"
            )
        modem = modems[chosen]
        if not isinstance(modem.get("hosts", 0), list) or "count" in modem:
            raise TestbedError(
                f'{self._place}: the hosts of the modem "{chosen}" are only counted; add a modem '
                "of your own for others"
            )
        return list(modems).index(chosen) + 1, modem["hosts"]

    def _check_new(self, name: str) -> None:
        """Refuses a name that a node has already."""
        there: dict[str, str] = {
            self._data["cable_modem"]["name"]: "switch of the modems",
            self._data["cmts"]["name"]: "CMTS",
            **{server["name"]: "server" for server in self._data["servers"]},
        }
        for modem in self._data["modems"]:
            hosts = modem.get("hosts")
            for host in hosts if isinstance(hosts, list) else ():
                # Anything else that a program gives here is refused when the topology is built.
                if isinstance(host, Mapping):
                    there[str(host.get("name"))] = "host"
        if name in there:
            raise TestbedError(
                f'{self._place}: there is a {there[name]} "{name}" already; give another name'
            )


def _milliseconds(seconds: float) -> str:
    try:
        return f"{round(float(seconds) * 1000)}"
    except (TypeError, ValueError, OverflowError):
        raise TestbedError(f"seconds: {seconds!r} is no length of time; give seconds") from None


def _runs(aqm: Managers) -> list[dict[str, Any]]:
    """A run of each queue manager, as a scenario's file has it.

    Raises:
        TestbedError: One of them is none, or two have the same name.
    """
    if isinstance(aqm, str | Path):
        aqm = [aqm]
    named = list(aqm.items()) if isinstance(aqm, Mapping) else [(_label(one), one) for one in aqm]
    if not named:
        raise TestbedError("aqm: is empty; name one queue manager at least")
    labels = [label for label, _ in named]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise TestbedError(f'aqm: "{twice}" is there twice; leave one of them out')
    try:
        return [{"label": label, "manager": as_written(_manager(one))} for label, one in named]
    except KeyedError as error:
        raise TestbedError(f"aqm: {error.key}: {error}") from None
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    except ValueError as error:
        raise TestbedError(f"aqm: {error}") from None


def _label(one: str | Path) -> str:
    return Path(one).stem if str(one).endswith(SUFFIXES) else str(one)


def _manager(one: str | Path | Mapping[str, Any]) -> QueueManagement:
    return from_mapping(one) if isinstance(one, Mapping) else from_argument(str(one))


@contextmanager
def _in_words() -> Iterator[None]:
    """Raises errors of files as an error of this package, with the same sentence."""
    try:
        yield
    except ConfigError as error:
        raise TestbedError(str(error)) from None
