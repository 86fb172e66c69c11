# SPDX-License-Identifier: Apache-2.0
"""Dynamic service at random: service flows, classifiers and queue managers, and what is expected.

The expectation is kept apart from the controller: an acknowledged change is made to it, one that
was refused is not, and a controller that begins anew has what the topology says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from docsis_control.dynamic.change import Action, Change, Kind, Managed, changed
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provisioned import Direction
from docsis_control.plan import Deployment
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS

_FIRST_REFERENCE: Final = 100
_MOST: Final = 3
"""Service flows that are added to a modem in each direction."""
_PORTS: Final = (5201, 5202, 5203, 5204)
_MANAGERS: Final = (
    Preset.DROP_TAIL,
    Preset.DOCSIS_PIE,
    Preset.PIE,
    Preset.CODEL,
    Preset.SFQ_CODEL,
    Preset.DRR,
)
_FLOWS: Final[Mapping[Direction, Kind]] = {
    "upstream": Kind.UPSTREAM_SERVICE_FLOW,
    "downstream": Kind.DOWNSTREAM_SERVICE_FLOW,
}
_CLASSIFIERS: Final[Mapping[Direction, Kind]] = {
    "upstream": Kind.UPSTREAM_CLASSIFIER,
    "downstream": Kind.DOWNSTREAM_CLASSIFIER,
}


@dataclass(frozen=True)
class Wish:
    """A change that somebody asks for.

    Attributes:
        modem: Its name.
        changes: All or nothing.
        managed: Queue managers, after the changes.
    """

    modem: str
    changes: tuple[Change, ...] = ()
    managed: tuple[Managed, ...] = ()

    def __str__(self) -> str:
        return f"{self.modem}: {'; '.join(map(str, (*self.changes, *self.managed)))}"


@dataclass
class Expected:
    """What modems are configured with.

    Attributes:
        configurations: By name.
        managers: Presets that were chosen, by modem, direction and reference.
    """

    _topology: Mapping[str, ModemConfiguration]
    configurations: dict[str, ModemConfiguration] = field(default_factory=dict)
    managers: dict[tuple[str, str, int], str] = field(default_factory=dict)

    @classmethod
    def of(cls, deployment: Deployment) -> Expected:
        """What a deployment has before anybody has changed anything."""
        expected = cls({modem.name: modem.configuration for modem in deployment.modems})
        expected.begin_anew()
        return expected

    def begin_anew(self) -> None:
        """There is another controller, which knows the topology alone."""
        self.configurations = dict(self._topology)
        self.managers.clear()

    def made(self, wish: Wish) -> None:
        """A wish was acknowledged."""
        before = self.configurations[wish.modem]
        self.configurations[wish.modem] = changed(before, wish.changes)
        for one in wish.managed:
            self.managers[wish.modem, one.direction, one.reference] = one.management.algorithm
        for change in wish.changes:
            if change.action is Action.DELETE and change.reference is not None:
                for direction, kind in _FLOWS.items():
                    if change.kind is kind:
                        self.managers.pop((wish.modem, direction, change.reference), None)

    def differences(self, deployment: Deployment) -> list[str]:
        """What a controller has deployed otherwise, in words."""
        said = []
        for modem in deployment.modems:
            if modem.configuration != self.configurations[modem.name]:
                said.append(f"{modem.name} is configured otherwise than was acknowledged")
        flows: dict[tuple[str, str, int], str] = {
            (flow.modem_name, flow.direction, flow.reference): flow.management.algorithm
            for device in deployment.devices
            for flow in device.service_flows
        }
        for key, algorithm in self.managers.items():
            if (found := flows.get(key)) != algorithm:
                said.append(f"{' '.join(map(str, key))} is managed by {found}, not {algorithm}")
        return said


class Wishes:
    """Draws changes that are possible."""

    def __init__(self, seed: int) -> None:
        """Args: of all draws."""
        self._chance = random.Random(f"changes {seed}")

    def next(self, deployment: Deployment) -> Wish:
        """A change of what is deployed now."""
        modem = self._one_of(deployment.modems)
        direction: Direction = self._one_of(("upstream", "downstream"))
        there = [
            flow.service_flow_reference
            for flow in getattr(modem.configuration, _FLOWS[direction].value)
        ]
        added = [reference for reference in there if _is_added(reference)]
        kinds = ["manage"]
        if len(added) < _MOST:
            kinds.append("add")
        if added:
            kinds += ["set", "delete"]
        match self._one_of(kinds):
            case "add":
                return self._add(modem.name, direction, there)
            case "set":
                return Wish(modem.name, (self._set(direction, self._one_of(added)),))
            case "delete":
                gone = self._one_of(added)
                return Wish(modem.name, (Change(Action.DELETE, _FLOWS[direction], gone),))
            case _:
                manager = PRESETS[self._one_of(_MANAGERS)]
                chosen = Managed(direction, self._one_of(there), manager)
                return Wish(modem.name, managed=(chosen,))

    def pause(self, mean: float) -> float:
        """Seconds until the next change."""
        return mean * (0.25 + 1.5 * self._chance.getrandbits(32) / 2**32)

    def _add(self, modem: str, direction: Direction, there: list[int]) -> Wish:
        first = _FIRST_REFERENCE + (0 if direction == "upstream" else 10)
        reference = next(n for n in range(first, first + 10) if n not in there)
        flow = {"service_flow_reference": reference, **self._parameters()}
        port = self._one_of(_PORTS)
        ends = "destination" if direction == "upstream" else "source"
        rule: dict[str, Any] = {
            "classifier_reference": reference,
            "service_flow_reference": reference,
            "rule_priority": 64 + reference % 10,
            "ip": {
                "protocol": self._one_of(("udp", "tcp")),
                f"{ends}_port_start": port,
                f"{ends}_port_end": port,
            },
        }
        return Wish(
            modem,
            (
                Change(Action.ADD, _FLOWS[direction], values=flow),
                Change(Action.ADD, _CLASSIFIERS[direction], values=rule),
            ),
        )

    def _set(self, direction: Direction, reference: int) -> Change:
        return Change(Action.SET, _FLOWS[direction], reference, self._parameters())

    def _parameters(self) -> dict[str, Any]:
        rate = 1 + self._below(6)
        return {
            "maximum_sustained_traffic_rate": f"{rate} Mbps",
            "peak_traffic_rate": f"{rate + 1 + self._below(4)} Mbps",
            "maximum_traffic_burst": f"{4 + self._below(60)} KB",
            "traffic_priority": self._below(8),
        }

    def _one_of(self, choices: Any) -> Any:
        return choices[self._below(len(choices))]

    def _below(self, limit: int) -> int:
        return self._chance.getrandbits(32) * limit >> 32


def _is_added(reference: int) -> bool:
    return _FIRST_REFERENCE <= reference < _FIRST_REFERENCE + 20
