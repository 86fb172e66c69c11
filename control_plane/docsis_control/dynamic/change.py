# SPDX-License-Identifier: Apache-2.0
"""Changes to what a modem is configured with, in the words of its configuration file. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from pydantic import ValidationError

from docsis_control.config.models import KeyedError
from docsis_control.config.yaml_file import explain, plain
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.file import to_plain
from docsis_control.modem_config.provisioned import Direction
from docsis_control.modem_config.rules import check_lengths
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.presets import name_of


class Action(StrEnum):
    """The action of a change: DSA, DSC and DSD."""

    ADD = "add"
    SET = "set"
    DELETE = "delete"


class Kind(StrEnum):
    """The kind of object that a change is about; keys of the configuration file."""

    UPSTREAM_SERVICE_FLOW = "upstream_service_flows"
    DOWNSTREAM_SERVICE_FLOW = "downstream_service_flows"
    UPSTREAM_CLASSIFIER = "upstream_classifiers"
    DOWNSTREAM_CLASSIFIER = "downstream_classifiers"

    @property
    def reference(self) -> str:
        """The key of what it is known by."""
        return "service_flow_reference" if self in _FLOWS else "classifier_reference"

    @property
    def words(self) -> str:
        """Name for messages."""
        return self.value.removesuffix("s").replace("_", " ")


_FLOWS: Final = (Kind.UPSTREAM_SERVICE_FLOW, Kind.DOWNSTREAM_SERVICE_FLOW)
_CLASSIFIERS_OF: Final = {
    Kind.UPSTREAM_SERVICE_FLOW: Kind.UPSTREAM_CLASSIFIER,
    Kind.DOWNSTREAM_SERVICE_FLOW: Kind.DOWNSTREAM_CLASSIFIER,
}
_LAST_REFERENCE: Final = {"service_flow_reference": 0xFFFF, "classifier_reference": 0xFF}
_ACTIVE: Final = 7
"""Quality of Service Parameter Set Type: what is added at run time is meant to run."""


@dataclass(frozen=True)
class Change:
    """One change of a service flow or a classifier.

    Attributes:
        action: The action.
        kind: Kind of the thing that is changed.
        reference: Reference of what is set or deleted; None for one that is added.
        values: Values as in the YAML of a configuration file. In what is set, keys that are not
            there stay as they are and null takes a key away. What is added needs no
            reference (the lowest that is free) and, of a service flow, no parameter set
            type (7, active).
    """

    action: Action
    kind: Kind
    reference: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = self.values.get(self.kind.reference, "")
        number = self.reference if self.reference is not None else given
        return f"{self.action} {self.kind.words} {number}".rstrip()


@dataclass(frozen=True)
class Managed:
    """A service flow's queue manager, chosen while it runs.

    Attributes:
        direction: Direction of the service flow.
        reference: Its Service Flow Reference.
        management: Queue manager that decides early drops from now on, with its parameters.
    """

    direction: Direction
    reference: int
    management: QueueManagement

    def __str__(self) -> str:
        by = name_of(self.management)
        return f"manage {self.direction} service flow {self.reference} by {by}"


def changed(configuration: ModemConfiguration, changes: Sequence[Change]) -> ModemConfiguration:
    """The configuration after the changes, which are made one after the other.

    Deleting a service flow deletes its classifiers (MULPI, DSD).

    Raises:
        KeyedError: A change is not possible, or what comes of it is no configuration;
            the key is from its root.
    """
    data = plain(to_plain(configuration))
    assert isinstance(data, dict)
    # An order of the file's TLVs means nothing without the file.
    data.pop("tlv_order", None)
    for change in changes:
        entries = data.setdefault(change.kind.value, [])
        match change.action:
            case Action.ADD:
                entries.append(_added(data, change))
            case Action.SET:
                at = _find(entries, change)
                if change.values.get(change.kind.reference, change.reference) != change.reference:
                    raise KeyedError(
                        f"{change.kind}.{at}.{change.kind.reference}",
                        "cannot be changed; delete it and add another",
                    )
                entries[at] = _merged(entries[at], change.values)
            case Action.DELETE:
                _delete(data, entries, change)
    for kind in Kind:
        if not data.get(kind.value, True):
            del data[kind.value]
    try:
        after = ModemConfiguration.model_validate(data)
    except ValidationError as error:
        _, location, sentence = explain(ModemConfiguration, error)[0]
        raise KeyedError(".".join(map(str, location)), sentence) from None
    # A modem could never have booted from it, as no file can hold it.
    for violation in check_lengths(after):
        raise KeyedError(".".join(map(str, violation.location)), violation.message)
    return after


def _added(data: Mapping[str, Any], change: Change) -> dict[str, Any]:
    values = dict(change.values)
    key = change.kind.reference
    if key not in values:
        numbers = (
            entry.get(key)
            for kind in Kind
            if kind.reference == key
            for entry in data.get(kind.value, ())
        )
        # An entry of a change before this one may hold anything: it is checked with all others.
        taken = {number for number in numbers if isinstance(number, int)}
        free = (n for n in range(1, _LAST_REFERENCE[key] + 1) if n not in taken)
        values[key] = next(free, None)
    if change.kind in _FLOWS:
        values.setdefault("qos_parameter_set_type", _ACTIVE)
    return values


def _find(entries: Sequence[Mapping[str, Any]], change: Change) -> int:
    known = [entry.get(change.kind.reference) for entry in entries]
    if change.reference is None or change.reference not in known:
        there = ", ".join(str(number) for number in known) or "none"
        raise KeyedError(
            change.kind.value,
            f"there is no {change.kind.words} {change.reference}; there are {there}",
        )
    return known.index(change.reference)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = {key: value for key, value in old.items() if key != "tlv_order"}
    for key, value in new.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            inner = merged.get(key)
            merged[key] = _merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _delete(data: dict[str, Any], entries: list[dict[str, Any]], change: Change) -> None:
    at = _find(entries, change)
    gone = entries[at]
    if change.kind in _FLOWS:
        if at == 0:
            raise KeyedError(
                f"{change.kind}.0",
                f"the {change.kind.words} {change.reference} is the primary one, which takes what "
                "no classifier takes; a modem cannot be without",
            )
        classifiers = _CLASSIFIERS_OF[change.kind].value
        identity = gone.get("service_flow_id")
        data[classifiers] = [
            entry
            for entry in data.get(classifiers, ())
            if entry.get("service_flow_reference") != change.reference
            and (identity is None or entry.get("service_flow_id") != identity)
        ]
    del entries[at]
