# SPDX-License-Identifier: Apache-2.0
"""Captures of frames at hosts, servers and the switches' ports, made by tcpdump.

tcpdump gives up root before it reads the first frame, and writes into a file that is open already.
The kernel bounds the file (RLIMIT_FSIZE), so that no capture fills a disk however fast frames come;
tcpdump is ended there, and what it has written of a last frame is cut off.
"""

from __future__ import annotations

import pwd
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_testbed.endings import errors_of, how, last_words
from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import nearest_there
from docsis_testbed.ports import switch_interfaces

if TYPE_CHECKING:
    # The command line imports this module for a number; these take long, or need Mininet.
    from docsis_control.topology.models import Topology
    from docsis_testbed.testbed import Testbed

ALL: Final = "all"
"""Stands for every host, server and port."""

DEFAULT_MIB: Final = 64
"""Bound of one file, unless the user gives another: that of the switches' own captures."""

MOST_MIB: Final = 65_536
MOST_POINTS: Final = 64
"""Places that are captured at a time: each has a process of its own."""

_MIB: Final = 1 << 20
_SPARE_BYTES: Final = 256 * _MIB
"""Bytes that captures leave free on their disk, for logs and samples."""

_READY_SECONDS: Final = 10.0
_END_SECONDS: Final = 10.0
_DRAIN_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.02
_USERS: Final = ("tcpdump", "nobody")
"""Users that tcpdump may become; it becomes the first that exists. Debian's package makes one."""

_COUNTS: Final = re.compile(
    r"^(?:\S+: )?(\d+) packets? captured(?:, |\n)(\d+) packets? received by filter(?:, |\n)"
    r"(\d+) packets? dropped by kernel$",
    re.MULTILINE,
)
"""On SIGUSR1 tcpdump tells its counts in one line, behind its name, and at its end in three."""
_FILE_HEADER: Final = 24
_RECORD: Final = struct.Struct("=IIII")
"""Seconds, nanoseconds, bytes that follow, and bytes of the frame, in the machine's byte order."""


@dataclass(frozen=True)
class Point:
    """A place where frames are captured.

    Attributes:
        node: Host, server or switch that has the interface.
        interface: The interface's name there.
        name: Name of the file, without its suffix.
    """

    node: str
    interface: str
    name: str


@dataclass(frozen=True)
class Capture:
    """The capture of one place.

    Attributes:
        name: Name of the place.
        file: The file with its frames.
        frames: How many it has.
        missing: Frames that the kernel did not keep for tcpdump; None where tcpdump did not tell.
        ended: Words for its end before the run's; "" where it did not end before.
    """

    name: str
    file: Path
    frames: int
    missing: int | None
    ended: str

    def within(self, folder: Path) -> Capture:
        """Returns the same with its file as it is called within a folder above it."""
        return replace(self, file=self.file.absolute().relative_to(folder.absolute()))

    @property
    def words(self) -> str:
        """Faults of the capture that its reader has to know; "" where it is whole."""
        parts = [self.ended] if self.ended else []
        if self.missing:
            parts.append(f"{self.missing} frames are missing, for which tcpdump was too slow")
        return "; ".join(parts)


def points(names: Sequence[str], topology: Topology) -> list[Point]:
    """Returns the places that the names stand for, each once, in the order of the names.

    Args:
        names: Names of hosts and servers; of switches, for all of their ports; of a switch's
            interface; or "all". Other names, such as upstream channels, are passed over.
        topology: The topology that has them.

    Raises:
        TestbedError: There are too many places.
    """
    there = _places(topology)
    found: dict[str, Point] = {}
    for name in names:
        for place in there:
            if name in (ALL, place.node, place.name):
                found[place.name] = place
    if len(found) > MOST_POINTS:
        raise TestbedError(
            f"--pcap: {len(found)} places would be captured, each by a process of its own, and "
            f"there may be {MOST_POINTS}; name fewer"
        )
    return list(found.values())


def names_of(topology: Topology) -> list[str]:
    """Returns the names of hosts, servers, switches and the switches' interfaces."""
    there = _places(topology)
    return list(dict.fromkeys(name for place in there for name in (place.node, place.name)))


def _places(topology: Topology) -> list[Point]:
    hosts = [Point(host.name, f"{host.name}-eth0", host.name) for host in topology.nodes]
    ports = [
        Point(device, interface, interface) for device, interface in switch_interfaces(topology)
    ]
    return hosts + ports


def channels_of(names: Sequence[str], topology: Topology) -> list[str]:
    """Returns the upstream channels that the names stand for; a switch captures those itself."""
    there = [channel.name for channel in topology.upstream_channels or ()]
    return [channel for channel in there if channel in names or ALL in names]


def check_names(names: Sequence[str], topology: Topology) -> None:
    """Refuses names of things that cannot be captured.

    Raises:
        TestbedError: There is no host, server, switch, interface or upstream channel of a name.
    """
    known = [*names_of(topology), *channels_of([ALL], topology)]
    for name in names:
        if name != ALL and name not in known:
            raise TestbedError(
                f"--pcap {name}: topology {topology.name} has nothing of that name to capture; it "
                f"has {', '.join(known)}, and {ALL} is everything"
            )


def check(count: int, mib: int, folder: Path) -> None:
    """Refuses captures that cannot be made, before anything is started.

    Args:
        count: Places that are captured, times the runs.
        mib: Bound of each file, MiB.
        folder: Folder for the files; it need not exist yet.

    Raises:
        TestbedError: tcpdump is missing, or the disk is too full.
    """
    if not count:
        return
    for tool, package in (("tcpdump", "tcpdump"), ("prlimit", "util-linux")):
        if shutil.which(tool) is None:
            raise TestbedError(f"--pcap: {tool} is not on PATH; install Debian's package {package}")
    free, needed = shutil.disk_usage(nearest_there(folder)).free, count * mib * _MIB + _SPARE_BYTES
    if needed > free:
        raise TestbedError(
            f"--pcap: {count} captures of up to {mib} MiB might fill the disk of {folder}, which "
            f"has {free // _MIB} MiB left; capture fewer places, give --pcap-mib less, or another "
            "folder"
        )


@contextmanager
def captured(
    testbed: Testbed, places: Sequence[Point], folder: Path, mib: int = DEFAULT_MIB
) -> Iterator[list[Capture]]:
    """Captures frames within the block.

    Args:
        testbed: The testbed, which has been started.
        places: Places where frames are captured.
        folder: Gets NAME.pcap for each of them; made where there are any.
        mib: Bound of each file, MiB.

    Yields:
        An empty list, which has what was captured once the block has ended.

    Raises:
        TestbedError: A capture does not begin.
    """
    made: list[Capture] = []
    if not places:
        yield made
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be made ({error.strerror})") from None
    started: list[_Started] = []
    try:
        for place in places:
            started.append(_Started(testbed, place, folder / f"{place.name}.pcap", mib))
        for one in started:
            one.wait_ready()
        yield made
        deadline = time.monotonic() + _DRAIN_SECONDS
        for one in started:
            one.drain(deadline)
    finally:
        for one in started:
            one.process.terminate()
        deadline = time.monotonic() + _END_SECONDS
        made += [one.end(deadline) for one in started]


class _Started:
    """A tcpdump under way."""

    def __init__(self, testbed: Testbed, place: Point, file: Path, mib: int) -> None:
        self._place = place
        self._file = file
        self._mib = mib
        self.process = testbed.launch(place.node, command(place.interface, mib), file)

    def wait_ready(self) -> None:
        """Polls until tcpdump listens.

        Raises:
            TestbedError: It ended, or took too long.
        """
        deadline = time.monotonic() + _READY_SECONDS
        while "listening on" not in self._said():
            if self.process.poll() is not None:
                raise TestbedError(
                    f"--pcap {self._place.name}: tcpdump {how(self.process.returncode)}: "
                    f"{last_words(self._file)}"
                )
            if time.monotonic() > deadline:
                raise TestbedError(
                    f"--pcap {self._place.name}: tcpdump did not listen on {self._place.interface} "
                    f"within {_READY_SECONDS:.0f} s; see {errors_of(self._file)}"
                )
            time.sleep(_POLL_SECONDS)

    def drain(self, deadline: float) -> None:
        """Waits until tcpdump has written what the kernel has kept for it by now.

        Args:
            deadline: End of the waiting, by time.monotonic(); all captures share it.

        The kernel hands frames over in blocks, up to a second after the first of one, and SIGTERM
        makes tcpdump forget those that it has not read. So it is asked how far it is.
        """
        kept: int | None = None
        while self.process.poll() is None and time.monotonic() < deadline:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(_POLL_SECONDS)
            if (counts := progress(self._said())) is not None:
                kept = counts.kept if kept is None else kept
                if counts.written >= kept:
                    return

    def end(self, deadline: float) -> Capture:
        """Waits until tcpdump, which was told to end, has ended, and returns what there is.

        Args:
            deadline: End of the waiting, by time.monotonic(); then tcpdump is killed.
        """
        try:
            status = self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        ended = ""
        if status == -signal.SIGXFSZ:
            ended = f"ended at its bound of {self._mib} MiB (--pcap-mib), before the run did"
        elif status not in (0, -signal.SIGTERM):
            ended = f"is not whole: tcpdump {how(status)}, {last_words(self._file)}"
        frames, counts = whole_frames(self._file), progress(self._said())
        lost = None if counts is None else counts.lost
        if not ended:
            errors_of(self._file).unlink(missing_ok=True)
        return Capture(self._place.name, self._file, frames, lost, ended)

    def _said(self) -> str:
        with suppress(FileNotFoundError):
            return errors_of(self._file).read_text(errors="replace")
        return ""


def command(interface: str, mib: int) -> list[str]:
    """Returns the command that captures an interface to standard output.

    Args:
        interface: Interface on which it listens, in the namespace in which it is started.
        mib: Bound of what it may write into a file, MiB.
    """
    return [
        *("prlimit", f"--fsize={mib * _MIB}", "--core=0", "--"),
        *("tcpdump", "-i", interface, "-n", "-w", "-", "-B", "4096"),
        *("--time-stamp-precision=nano", "-Z", _user()),
    ]


def _user() -> str:
    there = {entry.pw_name for entry in pwd.getpwall()}
    return next((user for user in _USERS if user in there), _USERS[-1])


@dataclass(frozen=True)
class Counts:
    """Progress of a tcpdump.

    Attributes:
        written: Frames that it has written.
        kept: Frames that the kernel has kept for it so far, the written ones included.
        lost: Frames for which the kernel had no room.
    """

    written: int
    kept: int
    lost: int


def progress(said: str) -> Counts | None:
    """Reads the last counts that tcpdump told, on SIGUSR1 or at its end; None where it told none.

    Args:
        said: Its standard error so far.
    """
    found = _COUNTS.findall(said)
    if not found:
        return None
    written, received, lost = map(int, found[-1])
    # On Linux "received by filter" has those that were dropped, too.
    return Counts(written, received - lost, lost)


def whole_frames(file: Path) -> int:
    """Counts a capture's frames, and cuts off a last one that is not whole.

    Args:
        file: A capture that was written on this machine.
    """
    frames, size = 0, file.stat().st_size
    with file.open("r+b") as capture:
        end = _FILE_HEADER
        while end + _RECORD.size <= size:
            capture.seek(end)
            length = _RECORD.unpack(capture.read(_RECORD.size))[2]
            if end + _RECORD.size + length > size:
                break
            end += _RECORD.size + length
            frames += 1
        if _FILE_HEADER <= end < size:
            capture.truncate(end)
    return frames
