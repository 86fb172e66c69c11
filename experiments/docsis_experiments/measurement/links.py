# SPDX-License-Identifier: Apache-2.0
"""What links with loss or jitter did to frames in the measured time of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docsis_control.config.units import format_duration, format_share
from docsis_control.ports import HOST_PORTS
from docsis_control.tm.links import LinkCounters
from docsis_control.topology.models import Device, Host, Link, Topology


@dataclass(frozen=True)
class Way:
    """One direction of a link.

    Attributes:
        frames: Frames that went into the link.
        lost: How many of them it lost.
    """

    frames: int
    lost: int


@dataclass(frozen=True)
class Ways:
    """Both directions of a link.

    Attributes:
        from_host: What went from the host to its switch.
        to_host: What went from the switch to the host.
    """

    from_host: Way
    to_host: Way


@dataclass(frozen=True)
class ImpairedLink:
    """A link with loss or jitter.

    Attributes:
        host: Name of the host or server that it leads to.
        link: What it was asked to do to frames.
        ways: What it did to them.
    """

    host: str
    link: Link
    ways: Ways

    def figures(self) -> dict[str, Any]:
        """Returns one entry of a run's `links`."""
        return {
            **asked_for(self.host, self.link),
            "from_host": _figures(self.ways.from_host),
            "to_host": _figures(self.ways.to_host),
        }


def asked_for(host: str, link: Link) -> dict[str, str]:
    """Returns what a link leads to and was asked to do, as an entry of `links` begins."""
    return {
        "host": host,
        "loss": format_share(link.loss),
        "jitter": format_duration(link.jitter),
    }


def _figures(way: Way) -> dict[str, int]:
    return {"frames": way.frames, "lost": way.lost}


@dataclass(frozen=True)
class _Place:
    device: Device
    port: int
    host: Host
    link: Link


Counts = Mapping[str, Mapping[int, LinkCounters]]
"""Counters of the links of some devices, by the device's name and its port."""


class ImpairedLinks:
    """The links of a topology that have loss or jitter.

    Attributes:
        devices: The switches that they are at, of which counters are needed.
    """

    def __init__(self, topology: Topology) -> None:
        self._places = tuple(_places(topology))
        self.devices: Sequence[Device] = tuple(
            device
            for device in (topology.cable_modem, topology.cmts)
            if any(place.device is device for place in self._places)
        )

    @property
    def asked(self) -> Mapping[str, Link]:
        """What each of them was asked to do, by the host or server that it leads to."""
        return {place.host.name: place.link for place in self._places}

    def between(self, before: Counts, after: Counts) -> tuple[ImpairedLink, ...]:
        """Returns what each link did between two readings of the counters of `devices`."""
        return tuple(
            _difference(
                place,
                before[place.device.name][place.port],
                after[place.device.name][place.port],
            )
            for place in self._places
        )


def _places(topology: Topology) -> Iterator[_Place]:
    sides = (
        (topology.cable_modem, topology.hosts),
        (topology.cmts, topology.servers),
    )
    for device, hosts in sides:
        for port, host in zip(HOST_PORTS, hosts, strict=False):
            link = host.link
            if link is not None and (link.loss or link.jitter):
                yield _Place(device, port, host, link)


def _difference(place: _Place, before: LinkCounters, after: LinkCounters) -> ImpairedLink:
    from_host = Way(
        after.received.frames - before.received.frames,
        after.receive_lost.frames - before.receive_lost.frames,
    )
    lost = after.transmit_lost.frames - before.transmit_lost.frames
    to_host = Way(after.sent.frames - before.sent.frames + lost, lost)
    return ImpairedLink(place.host.name, place.link, Ways(from_host, to_host))
