# SPDX-License-Identifier: Apache-2.0
"""The messages between client and controller: one JSON document each way."""

from dataclasses import field
from typing import Any, Final, Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from docsis_control.dynamic.change import Action, Change, Kind, Managed
from docsis_control.queue_managers.document import from_mapping
from docsis_control.queue_managers.management import as_written
from docsis_control.queue_managers.names import QueueManager

LARGEST: Final = 1 << 20
"""Bytes of a request."""

_STRICT: Final = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_STRICT)
class ChangeMessage:
    """A `Change`."""

    action: Action
    kind: Kind
    reference: int | None
    values: dict[str, Any]

    def change(self) -> Change:
        """The change that the message asks for."""
        return Change(self.action, self.kind, self.reference, self.values)


@dataclass(frozen=True, config=_STRICT)
class ManagedMessage:
    """A `Managed`; the management as in a YAML file."""

    direction: Literal["upstream", "downstream"]
    reference: int
    management: dict[str, Any]

    @classmethod
    def of(cls, managed: Managed) -> "ManagedMessage":
        """Makes the message that tells a managed service flow."""
        return cls(managed.direction, managed.reference, as_written(managed.management))

    def managed(self) -> Managed:
        """The managed service flow that the message names.

        Raises:
            KeyedError: The management is none.
        """
        return Managed(self.direction, self.reference, from_mapping(self.management))


@dataclass(frozen=True, config=_STRICT)
class Request:
    """Changes to one modem, all of them or none; without any, what there is."""

    version: Literal[1]
    modem: str
    changes: list[ChangeMessage]
    managed: list[ManagedMessage] = field(default_factory=list)


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class FlowNumbers:
    """The numbers of a service flow."""

    direction: Literal["upstream", "downstream"]
    service_flow_reference: int
    sfid: int
    index: int
    queue_manager: QueueManager
    management: dict[str, Any]


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Response:
    """The answer: what the modem runs now.

    Attributes:
        error: Why nothing was changed, and nothing else is told; "" if it was.
        key: The key of the configuration that is at fault, or "".
        configuration: The configuration, as in the YAML of a configuration file.
        service_flows: The numbers of those that are active.
        milliseconds: Time from the request's arrival until packets had the change.
    """

    error: str
    key: str
    configuration: dict[str, Any]
    service_flows: list[FlowNumbers]
    milliseconds: float


REQUEST: Final = TypeAdapter(Request)
RESPONSE: Final = TypeAdapter(Response)
