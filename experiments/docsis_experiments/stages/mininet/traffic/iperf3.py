# SPDX-License-Identifier: Apache-2.0
"""iperf3: TCP uploads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docsis_testbed.congestion import CONGESTION_CONTROL
from docsis_testbed.errors import TestbedError

FIRST_PORT: Final = 5201
"""iperf3's default port."""


def server_command(port: int) -> list[str]:
    """A server for one test, which ends with it."""
    # Named, because a dual-stack socket would show its connections as IPv6.
    return ["iperf3", "--server", "--version4", "--one-off", "--json", "--port", str(port)]


def client_command(address: str, port: int, seconds: float) -> list[str]:
    """An upload for some seconds, with the congestion control named."""
    return [
        "iperf3",
        *("--client", address),
        *("--port", str(port)),
        *("--time", str(round(seconds))),
        *("--congestion", CONGESTION_CONTROL),
        *("--interval", "1"),
        "--json",
    ]


@dataclass(frozen=True)
class UploadResult:
    """The result that iperf3 reports of a whole upload.

    Attributes:
        received_bytes: Payload that the server got.
        seconds: How long it took by the server's clock.
        congestion_control: What the sender used.
    """

    received_bytes: int
    seconds: float
    congestion_control: str


def load(path: Path) -> UploadResult:
    """Read the JSON of iperf3's client.

    Raises:
        TestbedError: iperf3 failed, or used another congestion control.
    """
    try:
        return parse(json.loads(path.read_text()))
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise TestbedError(f"{path}: not a result of iperf3 ({error!r})") from None
    except ValueError as error:
        raise TestbedError(f"{path}: {error}") from None


def parse(result: dict[str, Any]) -> UploadResult:
    """Turn the JSON of iperf3's client into what is used of it.

    Raises:
        ValueError: iperf3 reports an error, or another congestion control.
        KeyError: a field is missing.
    """
    if "error" in result:
        raise ValueError(f"iperf3 failed: {result['error']}")
    end = result["end"]
    used = end["sender_tcp_congestion"]
    if used != CONGESTION_CONTROL:
        raise ValueError(f"iperf3 used {used}, not {CONGESTION_CONTROL}")
    return UploadResult(
        received_bytes=end["sum_received"]["bytes"],
        seconds=end["sum_received"]["seconds"],
        congestion_control=used,
    )
