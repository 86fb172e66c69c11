# SPDX-License-Identifier: Apache-2.0
"""irtt: the packets of a game or a call, and their one-way delay.

Client and server run on one machine and so share one clock: the difference of
the server's receive time and the client's send time is the one-way delay,
without synchronisation.
"""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.traffic.lengths import udp_payload
from docsis_experiments.traffic.senders import CALL_FRAME_BYTES, CALL_INTERVAL_MS, CALL_PORT
from docsis_testbed.endings import how, last_words
from docsis_testbed.errors import TestbedError

PAYLOAD_BYTES: Final = udp_payload(CALL_FRAME_BYTES)
"""UDP payload of a call's frame."""

_BOUND_SECONDS: Final = 15.0

LINGER_MS: Final = 1000
"""How long the client waits for replies after its last packet."""


def server_command(address: str, interval_ms: int = 0) -> list[str]:
    """irtt's server, bound to an address.

    Args:
        address: IPv4 address.
        interval_ms: Packets that come closer to each other are dropped and would count as lost;
            0 drops none, because a queue brings packets together.
    """
    return ["irtt", "server", "-b", f"{address}:{CALL_PORT}", "-i", f"{interval_ms}ms"]


def client_command(
    address: str,
    seconds: float,
    output: Path,
    interval_ms: int = CALL_INTERVAL_MS,
    local_port: int | None = None,
) -> list[str]:
    """irtt's client.

    Args:
        address: IPv4 address of the server.
        seconds: How long to send.
        output: File for its JSON.
        interval_ms: Time between two packets.
        local_port: UDP port of the client; any unless given.
    """
    return [
        "irtt",
        "client",
        "-4",
        "-Q",
        *("-i", f"{interval_ms}ms"),
        *("-d", f"{round(seconds * 1000)}ms"),
        *("-l", str(PAYLOAD_BYTES)),
        f"--wait={LINGER_MS}ms",
        # The default gives up after some seconds of loss; a full queue may last.
        "--timeouts=1s,2s,4s",
        *("-o", str(output)),
        *((f"--local=:{local_port}",) if local_port is not None else ()),
        address,
    ]


def wait_until_bound(process: subprocess.Popen[bytes], log: Path) -> None:
    """Until a server has its port: a client that is told otherwise gives up.

    Args:
        process: The server.
        log: What it prints.

    Raises:
        TestbedError: it ended, or took too long.
    """
    deadline = time.monotonic() + _BOUND_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise TestbedError(
                f"irtt's server {how(process.returncode)} at its start: {last_words(log)}"
            )
        try:
            # The sockets of the namespace that the process is in.
            table = Path(f"/proc/{process.pid}/net/udp").read_text().splitlines()[1:]
        except OSError:
            continue
        if any(line.split()[1].endswith(f":{CALL_PORT:04X}") for line in table):
            return
        time.sleep(0.02)
    raise TestbedError(f"irtt's server had no port within {_BOUND_SECONDS:.0f} s; see {log}")


@dataclass(frozen=True)
class Probes:
    """The packets of one client, in the order of sending.

    Attributes:
        sent_ns: When the client sent each, wall clock in nanoseconds.
        delay_ms: One-way delay to the server; NaN where it is not known.
        arrived: Whether the server received it. A packet whose reply was lost
            counts as arrived although its delay is not known.
        last_reply: Index of the last packet that was replied to; -1 where none was. Of what
            was sent after it nobody knows which way it was lost, and it counts as lost on
            the way to the server.
    """

    sent_ns: npt.NDArray[np.int64]
    delay_ms: npt.NDArray[np.float64]
    arrived: npt.NDArray[np.bool_]
    last_reply: int

    def between(self, start_ns: int, end_ns: int) -> Probes:
        """Those sent from `start_ns` (included) to `end_ns` (excluded)."""
        chosen = (self.sent_ns >= start_ns) & (self.sent_ns < end_ns)
        return Probes(
            self.sent_ns[chosen],
            self.delay_ms[chosen],
            self.arrived[chosen],
            int(np.count_nonzero(chosen[: self.last_reply + 1])) - 1,
        )

    @property
    def delays(self) -> npt.NDArray[np.float64]:
        """The known delays, milliseconds."""
        return self.delay_ms[~np.isnan(self.delay_ms)]

    @property
    def undetermined(self) -> int:
        """Packets after the last reply: those that count as lost, but need not have been."""
        return self.arrived.size - 1 - self.last_reply


def load(path: Path) -> Probes:
    """Read the JSON of irtt's client.

    Raises:
        TestbedError: it is missing, cannot be read, or is not irtt's.
    """
    try:
        return parse(json.loads(path.read_text()))
    except FileNotFoundError:
        raise TestbedError(
            f"{path}: irtt left no result; its log beside it says why, "
            "and `make clean` and another try may help"
        ) from None
    except (OSError, ValueError, OverflowError, AttributeError, KeyError, TypeError) as error:
        raise TestbedError(
            f"{path}: not a result of irtt ({error!r}); its log beside it may say why, and "
            "another try may help"
        ) from None


def parse(result: dict[str, Any]) -> Probes:
    """Turn irtt's JSON, format 1, into arrays.

    Raises:
        KeyError: the format is another one.
        ValueError, OverflowError, AttributeError, TypeError: something in it is not what it is
            in that format.
    """
    if result["version"]["json_format"] != 1:
        raise KeyError(f"json_format {result['version']['json_format']}, expected 1")
    trips = result["round_trips"]
    sent = np.empty(len(trips), dtype=np.int64)
    delay = np.full(len(trips), np.nan)
    arrived = np.zeros(len(trips), dtype=np.bool_)
    last_reply, unknown = -1, []
    for index, trip in enumerate(trips):
        stamps = trip["timestamps"]
        sent[index] = stamps["client"]["send"]["wall"]
        arrived[index] = trip["lost"] in ("false", "true_down")
        if trip["lost"] == "false":
            last_reply = index
        elif trip["lost"] == "true":
            unknown.append(index)
        received = stamps.get("server", {}).get("receive", {}).get("wall")
        if received:
            delay[index] = (received - sent[index]) / 1e6
    # A reply has a map of the 64 packets before it, and the number of all that the server has
    # received. Which way a packet was lost that no map has is not known, but how many were.
    gap = [index for index in unknown if index < last_reply]
    came = result["stats"]["server_packets_received"] - int(arrived.sum())
    if gap and came > 0:
        # Which of them is not known, either; what is evenly spread is in every window.
        spread = np.linspace(0, len(gap) - 1, min(came, len(gap)))
        arrived[[gap[round(place)] for place in spread]] = True
    return Probes(sent, delay, arrived, last_reply)
