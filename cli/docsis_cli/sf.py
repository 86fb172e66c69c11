# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sf`: service flows and classifiers of a running system, added, set, deleted, shown."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docsis_cli.refusals import searchable
from docsis_control.queue_managers.names import Preset
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_control.dynamic.change import Change, Kind, Managed
    from docsis_control.dynamic.messages import Response

app = typer.Typer(
    no_args_is_help=True,
    help="Show and change a running system's service flows.",
)


class What(StrEnum):
    """Service flows and classifiers, as on the command line."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    UPSTREAM_CLASSIFIER = "upstream-classifier"
    DOWNSTREAM_CLASSIFIER = "downstream-classifier"


class Direction(StrEnum):
    """Directions of a service flow."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


Modem = Annotated[str, typer.Argument(help="Name of the modem.")]
KindArgument = Annotated[
    What, typer.Argument(help="Kind: a service flow of a direction, or a classifier.")
]
Reference = Annotated[
    int, typer.Argument(help="Service Flow Reference, or Classifier Reference.", min=1)
]
Values = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help='As in a configuration file: traffic_priority=5, "peak_traffic_rate=25 Mbps", '
        "ip.protocol=udp; an empty value removes a key.",
    ),
]
Pid = Annotated[
    int | None, typer.Option("--pid", help="Process id of the controller, where several run.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of sentences.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--status-folder",
        metavar="FOLDER",
        help="Folder in which to look for controllers.",
        callback=searchable,
    ),
]


@app.command()
def add(
    modem: Modem,
    kind: Annotated[
        What | None,
        typer.Argument(help="Kind: a service flow of a direction, or a classifier."),
    ] = None,
    values: Values = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            help="Instead, add all service flows and classifiers of this YAML file, or none of "
            "them if one is refused.",
        ),
    ] = None,
    json: Json = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Add a service flow or a classifier.

    Its reference is the lowest free one unless it is given.
    """
    from docsis_control.dynamic.change import Action, Change

    if (kind is None) == (file is None):
        raise TestbedError("name either upstream, downstream or a classifier, or a --file")
    if file is not None:
        changes = _from_file(file)
    else:
        assert kind is not None
        changes = [Change(Action.ADD, _kind(kind), values=_values(values))]
    _report(changes, modem, pid, folder, json=json)


@app.command("set")
def set_(
    modem: Modem,
    kind: KindArgument,
    reference: Reference,
    values: Values = None,
    json: Json = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Change parameters of a service flow or a classifier.

    Parameters that are not named stay as they are.
    """
    from docsis_control.dynamic.change import Action, Change

    if not values:
        raise TestbedError('nothing to set; give KEY=VALUE, as in "traffic_priority=5"')
    change = Change(Action.SET, _kind(kind), reference, _values(values))
    _report([change], modem, pid, folder, json=json)


@app.command()
def delete(
    modem: Modem,
    kind: KindArgument,
    reference: Reference,
    json: Json = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Delete a service flow with its classifiers, or a classifier."""
    from docsis_control.dynamic.change import Action, Change

    _report([Change(Action.DELETE, _kind(kind), reference)], modem, pid, folder, json=json)


@app.command()
def show(
    modem: Modem,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Print a modem's present configuration, as a configuration file."""
    from json import dumps

    from docsis_control.modem_config import ModemConfiguration, to_yaml

    response = _apply([], modem, pid, folder)
    if json:
        content = {
            "configuration": response.configuration,
            "service_flows": [vars(flow) for flow in response.service_flows],
        }
        typer.echo(dumps(content, indent=2))
        return
    typer.echo(to_yaml(ModemConfiguration.model_validate(response.configuration)), nl=False)
    for flow in response.service_flows:
        typer.echo(
            f"# {flow.direction} {flow.service_flow_reference}: SFID {flow.sfid}, "
            f"index {flow.index}"
        )


@app.command()
def manage(
    modem: Modem,
    direction: Annotated[Direction, typer.Argument(help="Direction of the service flow.")],
    reference: Annotated[int, typer.Argument(help="Service Flow Reference.", min=1)],
    preset: Annotated[
        Preset,
        typer.Argument(
            metavar="PRESET",
            help="The queue manager that decides early drops from now on; docsis-p4 list shows"
            " them.",
        ),
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Parameters that differ from the preset's: target=5ms, flow_queues.queues=64, "
            'buffer="100 ms"; an empty value removes a key.',
        ),
    ] = None,
    json: Json = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Give a service flow another queue manager.

    No packet is lost, and its counters go on.
    """
    from docsis_control.config.models import KeyedError
    from docsis_control.dynamic.change import Managed
    from docsis_control.queue_managers.document import changed
    from docsis_control.queue_managers.presets import PRESETS

    try:
        management = changed(PRESETS[preset], _values(values))
    except KeyedError as error:
        raise TestbedError(f"{preset.value}: {error.key}: {error}") from None
    managed = [Managed(direction.value, reference, management)]
    _report([], modem, pid, folder, managed, json=json)


def _kind(kind: What) -> Kind:
    from docsis_control.dynamic.change import Kind

    return Kind[kind.name if "CLASSIFIER" in kind.name else f"{kind.name}_SERVICE_FLOW"]


def _values(given: list[str] | None) -> dict[str, Any]:
    """Returns the values of KEY=VALUE by their keys; dots in a key lead into it."""
    from docsis_control.config.errors import ConfigError
    from docsis_control.config.yaml_file import parse, plain

    values: dict[str, Any] = {}
    for word in given or ():
        key, equals, text = word.partition("=")
        if not equals or not all(key.split(".")):
            raise TestbedError(f'"{word}" is not KEY=VALUE, as in "traffic_priority=5"')
        try:
            # Indented, it is the value of a key, and nothing in it ends that.
            value = plain(parse("value:\n" + indent(text, "  "), Path(key)).root["value"])
        except ConfigError:
            raise TestbedError(f'"{word}": what stands behind = is no YAML value') from None
        inner = values
        *path, last = key.split(".")
        for part in path:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise TestbedError(f'"{word}": {part} has a value already')
        inner[last] = value
    return values


def _from_file(file: Path) -> list[Change]:
    from docsis_control.config.errors import ConfigError
    from docsis_control.config.yaml_file import plain, read
    from docsis_control.dynamic.change import Action, Change, Kind

    try:
        document = read(file)
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    data = plain(document.root)
    assert isinstance(data, dict)
    known = [kind.value for kind in Kind]
    changes = []
    for key, entries in data.items():
        if key not in known:
            raise TestbedError(
                str(document.problem((key,), f"cannot be added; known here: {', '.join(known)}"))
            )
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise TestbedError(str(document.problem((key,), "must be a list of mappings")))
        changes += [Change(Action.ADD, Kind(key), values=entry) for entry in entries]
    if not changes:
        raise TestbedError(f"{file}: has nothing to add")
    return changes


def _apply(
    changes: list[Change],
    modem: str,
    pid: int | None,
    folder: Path | None,
    managed: Sequence[Managed] = (),
) -> Response:
    from docsis_control.dynamic.client import ChangeError, apply

    try:
        return apply(modem, changes, pid, folder, managed)
    except ChangeError as error:
        raise TestbedError(f"{modem}: {error}") from None


def _report(
    changes: list[Change],
    modem: str,
    pid: int | None,
    folder: Path | None,
    managed: Sequence[Managed] = (),
    *,
    json: bool,
) -> None:
    from json import dumps

    response = _apply(changes, modem, pid, folder, managed)
    numbered = _numbered(changes, response)
    if json:
        content = {
            "changes": [
                {
                    "action": change.action.value,
                    "kind": change.kind.words,
                    "reference": change.reference,
                    "sfid": _sfid(change, response),
                }
                for change in numbered
            ],
            "managed": [str(one) for one in managed],
            "milliseconds": response.milliseconds,
            "service_flows": [vars(flow) for flow in response.service_flows],
        }
        typer.echo(dumps(content))
        return
    for change in numbered:
        sfid = _sfid(change, response)
        typer.echo(f"{modem}: {change}{'' if sfid is None else f' (SFID {sfid})'}")
    for one in managed:
        typer.echo(f"{modem}: {one}")
    numbers = ", ".join(
        f"{flow.service_flow_reference} {flow.direction} (SFID {flow.sfid})"
        for flow in response.service_flows
    )
    typer.echo(f"in force after {response.milliseconds:.1f} ms; service flows: {numbers}")


def _numbered(changes: Sequence[Change], response: Response) -> list[Change]:
    """The changes with the references that were given to what was added, as the next command needs.

    What is added comes last in the configuration, in the order of the request.
    """
    from dataclasses import replace

    from docsis_control.dynamic.change import Action

    kinds = {change.kind.value for change in changes}
    entries = {kind: list(response.configuration.get(kind, ())) for kind in kinds}
    numbered = []
    for change in reversed(changes):
        reference = change.reference
        if change.action is Action.ADD:
            reference = entries[change.kind.value].pop()[change.kind.reference]
        numbered.append(replace(change, reference=reference))
    return numbered[::-1]


def _sfid(change: Change, response: Response) -> int | None:
    """The SFID of what a change is about; None of classifiers, and of flows that are not active."""
    from docsis_control.dynamic.change import Kind

    directions = {
        Kind.UPSTREAM_SERVICE_FLOW: "upstream",
        Kind.DOWNSTREAM_SERVICE_FLOW: "downstream",
    }
    for flow in response.service_flows:
        same = flow.service_flow_reference == change.reference
        if same and flow.direction == directions.get(change.kind):
            return flow.sfid
    return None
