# SPDX-License-Identifier: Apache-2.0
"""The profiles of a target, found out by asking it; tests that need more are skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import grpc

from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.state.control_header import Operation
from docsis_ptf.client import Client
from docsis_ptf.params import CONTROL_HEADER
from docsis_ptf.shaper import FLOW_QUEUES, PACKET_RATE, SHAPING

FORWARDING: Final = "forwarding"
REGISTERS: Final = "registers"
MAC: Final = "mac"
_MAC_GET: Final = "/docsis.mac.v1.UpstreamChannels/Get"

ABOUT: Final[Mapping[str, str]] = {
    FORWARDING: "takes the programs, their entries, counters and multicast groups",
    CONTROL_HEADER: "answers requests in packet-outs by packet-ins",
    REGISTERS: "reads and writes registers over P4Runtime",
    PACKET_RATE: "sends so many frames a second of a queue",
    SHAPING: "shapes service flows in bytes, by dual token buckets, and shares a port among them",
    FLOW_QUEUES: "serves the sub-queues of a service flow in turns",
    MAC: "has upstream channels with a request/grant MAC; this suite has no tests of it",
}
"""The abilities of a target with each profile, in the order in which they are asked for."""


@dataclass(frozen=True)
class Profile:
    """One thing that a target can do, or why it cannot.

    Attributes:
        name: A key of ABOUT.
        lacking: Why the target cannot, in its words; empty if it can.
    """

    name: str
    lacking: str

    @property
    def about(self) -> str:
        """The profile's description."""
        return ABOUT[self.name]


def ask(client: Client) -> tuple[Profile, ...]:
    """Every profile. It pushes a program. ConnectionLost: the target does not answer at all."""
    return tuple(Profile(name, lacks(client, name) or "") for name in ABOUT)


def lacks(client: Client, need: str) -> str | None:
    """Why the target cannot do this, or None. It pushes a program where the answer needs one."""
    return _ASKING[need](client)


def _forwarding(client: Client) -> str | None:
    try:
        client.push("cm")
        client.counters([("sf_received", 0)])
    except P4RuntimeError as error:
        return str(error)
    return None


def _control_header(client: Client) -> str | None:
    client.push("cm")
    try:
        client.request(Operation.READ, 0)
    except (ConnectionLost, P4RuntimeError) as error:
        if client.answers():
            return str(error)
        raise
    return None


def _registers(client: Client) -> str | None:
    client.push("cm")
    return _unimplemented(
        lambda: client.register("sf_enqueued_bytes", 0), "its P4Runtime server has no registers"
    )


def _mac(client: Client) -> str | None:
    try:
        client.call("Get of upstream channels", _MAC_GET, b"")
    except P4RuntimeError as error:
        if error.unimplemented:
            return f"it has no service docsis.mac.v1 ({error})"
        if error.code is grpc.StatusCode.FAILED_PRECONDITION:
            return f"it has no RF link ({error})"
        raise
    return None


def _unimplemented(probe: Callable[[], object], what: str) -> str | None:
    try:
        probe()
    except P4RuntimeError as error:
        if not error.unimplemented:
            raise
        return f"{what} ({error})"
    return None


def _of_shaper(need: str) -> Callable[[Client], str | None]:
    return lambda client: client.shaper.lacks(need)


_ASKING: Final[Mapping[str, Callable[[Client], str | None]]] = {
    FORWARDING: _forwarding,
    CONTROL_HEADER: _control_header,
    REGISTERS: _registers,
    PACKET_RATE: _of_shaper(PACKET_RATE),
    SHAPING: _of_shaper(SHAPING),
    FLOW_QUEUES: _of_shaper(FLOW_QUEUES),
    MAC: _mac,
}
