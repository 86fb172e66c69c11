# SPDX-License-Identifier: Apache-2.0
"""The actions of a page with its token: switch queue managers and rates, start and stop traffic.

Each goes to whoever does it: the controller, or the run that has the hosts. Nothing is done here.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from docsis_control.dynamic.change import Action, Change, Kind, Managed
from docsis_control.dynamic.client import ChangeError, apply
from docsis_control.local_socket import ControllerError
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_testbed.host_traffic import Order, TrafficError, TrafficKind, ask_traffic

MOST_BYTES: Final = 4_096
"""The longest request that is read."""

_MOST_BPS: Final = 10**12


class ActionError(Exception):
    """Nothing was done; the message says why, in a sentence."""


class _Act(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Manage(_Act):
    """Gives a service flow another queue manager."""

    do: Literal["manage"]
    modem: str = Field(max_length=64)
    direction: Literal["upstream", "downstream"]
    reference: int = Field(ge=1, le=0xFFFF)
    preset: Preset


class Rate(_Act):
    """Gives a service flow other rates, bit/s."""

    do: Literal["rate"]
    modem: str = Field(max_length=64)
    direction: Literal["upstream", "downstream"]
    reference: int = Field(ge=1, le=0xFFFF)
    msr_bps: int = Field(ge=1, le=_MOST_BPS)
    peak_bps: int | None = Field(default=None, ge=1, le=_MOST_BPS)


class Start(_Act):
    """Starts traffic of a modem's host."""

    do: Literal["start"]
    modem: str = Field(max_length=64)
    kind: TrafficKind


class Stop(_Act):
    """Ends traffic."""

    do: Literal["stop"]
    id: int = Field(ge=0)


class Catch(_Act):
    """Traces packets for some seconds and keeps those that a switch drops."""

    do: Literal["catch"]
    device: str = Field(max_length=64)


Act = Manage | Rate | Start | Stop | Catch
_ACT: Final = TypeAdapter[Act](Annotated[Act, Field(discriminator="do")])


@dataclass(frozen=True)
class Done:
    """An action that was done.

    Attributes:
        text: The action in words.
        modem: Modem whose curves get a mark; "" for none.
        direction, reference: Direction and reference of the service flow, where it is about one.
        at_ms: When packets had it, Unix time in milliseconds.
        traffic: The traffic that there is now, where it is about that.
    """

    text: str
    at_ms: int
    modem: str = ""
    direction: str = ""
    reference: int = 0
    traffic: list[dict[str, Any]] | None = None


def parse(body: bytes) -> Act:
    """A request's body.

    Raises:
        ActionError: It is none.
    """
    try:
        return _ACT.validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        raise ActionError(f"{place}: {first['msg']}") from None


class Actor:
    """Has things done. It waits for answers: call it in a thread."""

    def __init__(self, pid: int | None, folder: Path | None) -> None:
        """Args: which controller, where there are several, and where they are looked for."""
        self._pid = pid
        self._folder = folder

    def act(self, act: Manage | Rate | Start | Stop) -> Done:
        """Does it.

        Raises:
            ActionError: Nothing was done.
        """
        match act:
            case Manage():
                return self._manage(act)
            case Rate():
                return self._rate(act)
            case Start():
                return self._traffic(Order(do="start", modem=act.modem, kind=act.kind))
            case Stop():
                return self._traffic(Order(do="stop", id=act.id))

    def traffic(self) -> list[dict[str, Any]] | None:
        """The traffic that there is; None where nobody could start any."""
        try:
            return ask_traffic(Order(do="list"), self._folder)
        except (TrafficError, ControllerError):
            return None

    def _manage(self, act: Manage) -> Done:
        managed = Managed(act.direction, act.reference, PRESETS[act.preset])
        at_ms = self._apply(act.modem, [], [managed])
        return Done(act.preset.label, at_ms, act.modem, act.direction, act.reference)

    def _rate(self, act: Rate) -> Done:
        kind = (
            Kind.UPSTREAM_SERVICE_FLOW
            if act.direction == "upstream"
            else Kind.DOWNSTREAM_SERVICE_FLOW
        )
        values: dict[str, Any] = {"maximum_sustained_traffic_rate": f"{act.msr_bps} bps"}
        text = f"{act.msr_bps / 1e6:g} Mbit/s"
        if act.peak_bps is not None:
            values["peak_traffic_rate"] = f"{act.peak_bps} bps"
            text += f", peak {act.peak_bps / 1e6:g}"
        change = Change(Action.SET, kind, act.reference, values)
        at_ms = self._apply(act.modem, [change], [])
        return Done(text, at_ms, act.modem, act.direction, act.reference)

    def _apply(self, modem: str, changes: list[Change], managed: list[Managed]) -> int:
        asked = time.time_ns() // 1_000_000
        try:
            response = apply(modem, changes, self._pid, self._folder, managed)
        except ChangeError as error:
            raise ActionError(str(error)) from None
        return asked + round(response.milliseconds)

    def _traffic(self, order: Order) -> Done:
        try:
            running = ask_traffic(order, self._folder)
        except (TrafficError, ControllerError) as error:
            raise ActionError(str(error)) from None
        text = f"{order.kind} starts" if order.do == "start" else f"traffic {order.id} ends"
        return Done(text, time.time_ns() // 1_000_000, order.modem, traffic=running)
