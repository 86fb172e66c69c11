# SPDX-License-Identifier: Apache-2.0
"""Changes a running system: what `docsis-p4 sf` does, for programs.

from docsis_control.dynamic.client import apply, service
from docsis_control.dynamic.change import Action, Change, Kind

flow = {"service_flow_reference": 9, "maximum_sustained_traffic_rate": "5 Mbps"}
apply("cm1", [Change(Action.ADD, Kind.UPSTREAM_SERVICE_FLOW, values=flow)])
service("cm1").configuration
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from docsis_control.dynamic.change import Change, Managed
from docsis_control.dynamic.messages import (
    REQUEST,
    RESPONSE,
    ChangeMessage,
    ManagedMessage,
    Request,
    Response,
)
from docsis_control.local_socket import ControllerError, Service, UnansweredError, ask


class ChangeError(Exception):
    """Nothing was changed; the message says why."""


class ChangeUnknownError(ChangeError):
    """Nobody knows whether anything was changed: the controller did not answer; see `service`."""


def apply(
    modem: str,
    changes: Sequence[Change],
    pid: int | None = None,
    folder: Path | None = None,
    managed: Sequence[Managed] = (),
) -> Response:
    """Makes changes to a modem's service on the system that runs: all of them or none.

    Args:
        modem: Name of the modem.
        changes: The changes, in the order in which they are made.
        pid: Which controller, where there are several.
        folder: Folder in which controllers are looked for.
        managed: Service flows that get another queue management, after the changes.

    Raises:
        ChangeError: Nothing was changed.
        ChangeUnknownError: Nobody knows: the controller ended, or took too long.
    """
    messages = [
        ChangeMessage(change.action, change.kind, change.reference, dict(change.values))
        for change in changes
    ]
    choices = [ManagedMessage.of(one) for one in managed]
    request = REQUEST.dump_json(Request(1, modem, messages, choices))
    try:
        answer, path = ask(request, Service.CHANGES, pid, folder)
    except UnansweredError as error:
        raise ChangeUnknownError(str(error)) from None
    except ControllerError as error:
        raise ChangeError(str(error)) from None
    try:
        response = RESPONSE.validate_json(answer)
    except ValidationError:
        raise ChangeUnknownError(f"{path}: the controller ended before it had answered") from None
    if response.error:
        raise ChangeError(f"{response.key}: {response.error}" if response.key else response.error)
    return response


def service(modem: str, pid: int | None = None, folder: Path | None = None) -> Response:
    """Asks a controller for the service that a modem runs.

    Raises:
        ChangeError: No controller answers, or there is no such modem.
    """
    return apply(modem, (), pid, folder)
