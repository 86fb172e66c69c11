# SPDX-License-Identifier: Apache-2.0
"""Traffic of hosts on demand: what is asked of a run, and its answers, over a Unix socket.

The process that has the hosts listens (`docsis-p4 run`); pages and programs of the same user ask.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from docsis_control.local_socket import Service, ask, default_folder
from docsis_control.local_socket import running as running_here

if TYPE_CHECKING:
    from pathlib import Path

LARGEST: Final = 1_024
"""Bytes of a request."""

MOST_RUNNING: Final = 16
"""Uploads, downloads, calls and games at a time."""


class TrafficKind(StrEnum):
    """The kinds of traffic that a host can make."""

    UPLOAD = "upload"
    DOWNLOAD = "download"
    CALL = "call"
    GAME = "game"


class TrafficError(Exception):
    """Nothing was started or ended; the message says why."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Order:
    """An order to a run about traffic.

    Attributes:
        do: Start traffic, end it, or tell what there is.
        modem: Modem whose host starts something.
        kind: Kind of traffic that it starts.
        id: Id of what is ended.
    """

    do: Literal["start", "stop", "list"]
    modem: str = ""
    kind: TrafficKind = TrafficKind.UPLOAD
    id: int = 0


_ORDER: Final = TypeAdapter(Order)


def order_from(data: bytes) -> Order:
    """Reads an order from a request.

    Raises:
        TrafficError: It is none.
    """
    try:
        return _ORDER.validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TrafficError(f"the request is not one: {place}: {first['msg']}") from None


def answer(running: list[dict[str, Any]], error: str = "") -> bytes:
    """The answer: what traffic there is now, and why nothing was done."""
    return json.dumps({"error": error, "running": running}).encode()


def ask_traffic(order: Order, folder: Path | None = None) -> list[dict[str, Any]]:
    """Asks the run that has the hosts.

    Args:
        order: The order.
        folder: Folder in which its socket is looked for; the user's folder unless given.

    Returns:
        The traffic that there is after it: id, kind, modem, host and server of each.

    Raises:
        TrafficError: It was not done.
        ControllerError: The run does not answer, or several run.
    """
    if not running_here(folder or default_folder(), Service.TRAFFIC):
        raise TrafficError(
            "nobody here has hosts that could send; start the system with `docsis-p4 run`"
        )
    data, path = ask(_ORDER.dump_json(order), Service.TRAFFIC, None, folder)
    try:
        content = json.loads(data)
        refusal, running = str(content["error"]), list(content["running"])
    except (ValueError, KeyError, TypeError):
        raise TrafficError(f"{path}: the run ended before it had answered") from None
    if refusal:
        raise TrafficError(refusal)
    return running
