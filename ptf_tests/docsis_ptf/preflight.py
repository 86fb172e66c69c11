# SPDX-License-Identifier: Apache-2.0
"""Looks at a target before the tests: what is wrong is said once, with what to do about it."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from docsis_control.p4rt.errors import ConnectionLost, NotPrimaryError, P4RuntimeError
from docsis_control.p4rt.pipeline import PipelineError
from docsis_ptf.client import Client
from docsis_ptf.found import Found
from docsis_ptf.params import CONTROL_HEADER, TestParams
from docsis_ptf.profiles import FORWARDING, Profile, ask, lacks
from docsis_ptf.signals import held

PORTS: Final = 3
PROGRAM_NAMES: Final = ("cm", "cmts")
_ETH_P_ALL: Final = 0x0003
_SIOCGIFFLAGS: Final = 0x8913
_IFREQ: Final = struct.Struct("16sH22x")
"""A name and its flags: struct ifreq of netdevice(7), with the room of its longest member."""
_IFF_UP: Final = 0x1
_IPV6: Final = Path("/proc/sys/net/ipv6/conf")
"""Settings of IPv6 in this process's namespace: a folder for each interface, if there is IPv6."""
_PROBE: Final = b"\x02\0\0\0\1\1\x02\0\0\0\2\2\x88\xb5docsis-ptf: is this wired? port "
"""A frame of an EtherType for local experiments."""


class TargetError(Exception):
    """A target that cannot be tested as it is; the message says what to do."""


def check_wiring(target: str, ports: Mapping[int, str]) -> None:
    """The tester's own side: interfaces that are there, quiet, up, and may be opened.

    Quiet means without IPv6, by which a host sends frames of its own. Nobody can tell these from a
    target's, so they would fail a test now and then.

    TargetError: Something is wrong; the message has the command that mends it.
    """
    if len(ports) != PORTS:
        raise TargetError(
            f"target {target}: the suite needs three ports and was given {len(ports)}; give each"
            " with the interface at its other end, the RF port first, such as"
            " --port 1=veth1 --port 2=veth3 --port 3=veth5"
        )
    # Not /sys/class/net, which may show another namespace.
    known = {name for _, name in socket.if_nameindex()}
    for interface in ports.values():
        if interface not in known:
            raise TargetError(
                f"target {target}: there is no interface {interface} here; there are"
                f" {', '.join(sorted(known))}"
            )
    if len(set(ports.values())) != PORTS:
        raise TargetError(f"target {target}: two ports cannot have the same interface")
    # An interface that comes up with IPv6 sends at once, so IPv6 comes first.
    _check_quiet(target, ports)
    _check_up(target, ports)
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        raise TargetError(
            f"target {target}: raw sockets on {', '.join(ports.values())} need root, or the"
            " capability CAP_NET_RAW"
        ) from None


def _check_quiet(target: str, ports: Mapping[int, str]) -> None:
    if loud := [name for name in ports.values() if _has_ipv6(name)]:
        settings = " ".join(f"net.ipv6.conf.{_in_sysctl(name)}.disable_ipv6=1" for name in loud)
        raise TargetError(
            f"target {target}: {' and '.join(loud)} {'have' if len(loud) > 1 else 'has'} IPv6, and"
            f" the host's own frames would fail tests that expect none; run: sysctl {settings}"
        )


def _check_up(target: str, ports: Mapping[int, str]) -> None:
    if down := [name for name in ports.values() if not _flags(name) & _IFF_UP]:
        commands = " && ".join(f"ip link set {name} up" for name in down)
        raise TargetError(
            f"target {target}: {' and '.join(down)} {'are' if len(down) > 1 else 'is'} down, and"
            f" no frame passes; run: {commands}"
        )


def _has_ipv6(interface: str) -> bool:
    setting = _IPV6 / interface / "disable_ipv6"
    return setting.exists() and setting.read_text().strip() == "0"


def _in_sysctl(interface: str) -> str:
    """An interface as sysctl(8) has it between dots, where a dot would begin the next name."""
    return interface.replace(".", "/")


def _flags(interface: str) -> int:
    """An interface's flags (netdevice(7)), in this process's namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, _IFREQ.pack(os.fsencode(interface), 0))
    _, flags = _IFREQ.unpack(answer)
    return int(flags)


def examine(params: TestParams, interfaces: Mapping[int, str]) -> tuple[tuple[Profile, ...], Found]:
    """Asks the target what it can do and sends a frame out of each port.

    Returns:
        Its profiles, and what it had before: the programs that are pushed replace it.

    Raises:
        TargetError: It cannot be tested; it has been left with what it had. It is left so behind
            every other exception, too, which has a note of it.
    """
    client = _connect(params)
    with closing(client):
        with _in_words(params):
            found = Found.take(client, params.device_id)
        try:
            with _in_words(params):
                _check_programs(params, client)
                profiles = ask(client)
                _check_cables(params, interfaces, client, profiles)
        except BaseException as error:
            failure = _restore(params, found, client)
            if isinstance(error, TargetError):
                raise TargetError(f"{error}; and {failure}" if failure else str(error)) from None
            _note(error, params, failure or str(found))
            raise
        return profiles, found


def give_back(params: TestParams, found: Found) -> str:
    """Gives a target back what it had; returns what it has now, in words."""
    return _restore(params, found) or str(found)


def _restore(params: TestParams, found: Found, last: Client | None = None) -> str:
    """Gives a target back what it had; returns why that could not be, or nothing.

    Ctrl-C and its like wait for the end of it. The exception that one of them then raises has a
    note of what the target has.

    Args:
        params: The target's.
        found: What it had.
        last: The client that it still has. A new one gives back, as this one may have lost its
            connection.
    """
    state = "what it had before was not given back"
    try:
        with held():
            if last is not None:
                last.close()
            failure = _written_back(params, found)
            state = failure or str(found)
    except BaseException as error:
        _note(error, params, state)
        raise
    return failure


def _note(error: BaseException, params: TestParams, state: str) -> None:
    """Notes on an exception what the target has."""
    error.add_note(f"target {params.target}: {state}")


def _written_back(params: TestParams, found: Found) -> str:
    if found.config is None:
        return ""
    try:
        client = _connect(params)
        try:
            found.give_back(client, params.device_id)
        finally:
            client.close()
    except (TargetError, ConnectionLost, P4RuntimeError) as error:
        return f"what it had before could not be given back: {error}"
    return ""


@contextmanager
def _in_words(params: TestParams) -> Iterator[None]:
    """What goes wrong while a target is asked is a TargetError."""
    try:
        yield
    except PipelineError as error:
        raise TargetError(str(error)) from None
    except ConnectionLost as error:
        raise TargetError(
            f"target {params.target}: it stopped answering while it was asked what it can do"
            f" ({error}); look at its log, and start it again"
        ) from None
    except P4RuntimeError as error:
        raise TargetError(f"target {params.target}: {error}") from None


def _connect(params: TestParams) -> Client:
    where = f"target {params.target}"
    host, _, port = params.grpc.rpartition(":")
    # gRPC wants brackets around an IPv6 address, and a socket wants none.
    host = host.removeprefix("[").removesuffix("]")
    try:
        socket.create_connection((host, int(port)), timeout=params.timeout).close()
    except OSError as error:
        raise TargetError(
            f"{where}: nothing answers at {params.grpc} ({error}); is the switch running, and is"
            " this the address of its P4Runtime server?"
        ) from None
    try:
        return Client.connect(params)
    except NotPrimaryError as error:
        raise TargetError(
            f"{where}: {error}; the suite's is {params.election_id} (--election-id)"
        ) from None
    except ConnectionLost as error:
        raise TargetError(
            f"{where}: the port is open, and no P4Runtime server answered in time ({error}); is it"
            " the address of P4Runtime, without TLS?"
        ) from None
    except P4RuntimeError as error:
        raise TargetError(
            f"{where}: {error}; the device id is {params.device_id} (--device-id)"
        ) from None


def _check_programs(params: TestParams, client: Client) -> None:
    """The target takes both programs, and has what all tests need of them."""
    for program in PROGRAM_NAMES:
        try:
            client.push(program)
            refusal = lacks(client, FORWARDING)
        except P4RuntimeError as error:
            refusal = str(error)
        if refusal:
            raise TargetError(
                f"target {params.target}: it refuses the suite's programs: {refusal}; compile p4src"
                f" for it and name the folder (--programs, now {params.programs})"
            )


def _check_cables(
    params: TestParams,
    interfaces: Mapping[int, str],
    client: Client,
    profiles: tuple[Profile, ...],
) -> None:
    """A frame that a packet-out sends out of a port comes to the port's interface.

    A target without packet-outs has to be believed.
    """
    client.push("cm")
    with ExitStack() as opened:
        sockets = {}
        for port, interface in interfaces.items():
            sockets[port] = opened.enter_context(
                # Protocol 0: it receives nothing before it is bound.
                socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            )
            sockets[port].bind((interface, _ETH_P_ALL))
        for port in interfaces:
            client.transmit(port, _probe(port))
        seen = _seen(sockets, params.timeout)
    wrong = []
    for port, interface in interfaces.items():
        came = sorted(other for other, at in seen.items() if at == port)
        if came != [port]:
            what = f"the frame of port {came[0]} came" if came else "nothing came"
            wrong.append(f"{what} to {interface}, which is to be port {port}'s")
    if not wrong:
        return
    if not seen and any(p.name == CONTROL_HEADER and p.lacking for p in profiles):
        return
    raise TargetError(
        f"target {params.target}: a frame was sent out of each port by packet-out (CPU port"
        f" {params.cpu_port}): {'; '.join(wrong)}; look at the cables, the port numbers (--port)"
        " and whether the interfaces are up"
    )


def _probe(port: int) -> bytes:
    return (_PROBE + str(port).encode()).ljust(64, b"\0")


def _seen(sockets: Mapping[int, socket.socket], seconds: float) -> dict[int, int]:
    """Maps ports to those at which their frames arrived, until all arrived or time is up."""
    known = {_probe(port): port for port in sockets}
    found: dict[int, int] = {}
    deadline = time.monotonic() + seconds
    while len(found) < len(sockets) and (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select(list(sockets.values()), [], [], left)
        for port, one in sockets.items():
            if one in ready:
                frame = _received(one)
                if (whose := known.get(frame)) is not None:
                    found[whose] = port
    return found


def _received(one: socket.socket) -> bytes:
    """Reads a frame from a socket; nothing if its interface has gone down meanwhile."""
    try:
        return one.recv(2048)
    except OSError as error:
        # The kernel tells it once; then there is nothing more to read.
        if error.errno != errno.ENETDOWN:
            raise
        return b""
