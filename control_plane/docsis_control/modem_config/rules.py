# SPDX-License-Identifier: Apache-2.0
"""The rules by which a modem or a CMTS refuses a configuration file whose values are in order.

Every rule looks at the whole configuration and tells all that it finds: a file is
used as a whole or not at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_control.config.models import MAX_FRAME
from docsis_control.config.units import format_bytes, format_rate
from docsis_control.config.yaml_file import Location
from docsis_control.modem_config.classifiers import Classifier
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.service_flows import (
    DownstreamServiceFlow,
    QosParameters,
    UpstreamQos,
    UpstreamServiceFlow,
)
from docsis_control.modem_config.tlv import MAX_LENGTH

Flow = UpstreamServiceFlow | DownstreamServiceFlow


@dataclass(frozen=True)
class Violation:
    """A broken rule.

    Attributes:
        location: The key that is at fault.
        message: Why, and what to do; for the operator.
    """

    location: Location
    message: str


@dataclass(frozen=True)
class Limits:
    """The room that a modem has for service flows and classifiers, in each direction.

    000, section 3.1: modems typically support 16 or 32 service flows and at least
    that many classifiers.
    """

    service_flows: int = 32
    classifiers: int = 64


@dataclass(frozen=True)
class Channel:
    """Capacity of the channel in each direction, bit/s."""

    upstream: int
    downstream: int


DIRECTIONS: Final = ("upstream", "downstream")


def flows_of(configuration: ModemConfiguration, direction: str) -> Sequence[Flow]:
    """The service flows of a direction; the first is the primary one."""
    flows: Sequence[Flow] = getattr(configuration, f"{direction}_service_flows")
    return flows


def classifiers_of(configuration: ModemConfiguration, direction: str) -> Sequence[Classifier]:
    """The classifiers of a direction."""
    found: Sequence[Classifier] = getattr(configuration, f"{direction}_classifiers")
    return found


def check(
    configuration: ModemConfiguration, limits: Limits | None = None, channel: Channel | None = None
) -> list[Violation]:
    """All rules that a configuration breaks, in the order of the file's keys.

    Args:
        limits: Limits of the modem; those of `Limits` unless given.
        channel: The channel, if it is known; the minimum reserved rates must fit into it.
    """
    limits = limits or Limits()
    found = [
        *_numbers(configuration, limits),
        *_identities(configuration),
        *_references(configuration),
    ]
    for direction in DIRECTIONS:
        for index, flow in enumerate(flows_of(configuration, direction)):
            where: Location = (f"{direction}_service_flows", index)
            found += [Violation((*where, *v.location), v.message) for v in check_flow(flow)]
        for index, classifier in enumerate(classifiers_of(configuration, direction)):
            found += _conditions((f"{direction}_classifiers", index), classifier)
    if channel:
        found += check_channel([configuration], channel)
    return found


def check_flow(flow: QosParameters) -> Iterator[Violation]:
    """Rules for the QoS parameters of one service flow; locations are relative to it."""
    sustained = flow.maximum_sustained_traffic_rate
    peak = flow.peak_traffic_rate
    reserved = flow.minimum_reserved_traffic_rate
    # A rate of 0 is none at all.
    if sustained and peak and peak < sustained:
        yield Violation(
            ("peak_traffic_rate",),
            f"{format_rate(peak)} is below the Maximum Sustained Traffic Rate of "
            f"{format_rate(sustained)}; make it at least equal",
        )
    if sustained and reserved and reserved > sustained:
        yield Violation(
            ("minimum_reserved_traffic_rate",),
            f"{format_rate(reserved)} is above the Maximum Sustained Traffic Rate of "
            f"{format_rate(sustained)}; make it at most equal",
        )
    burst = flow.maximum_traffic_burst
    if burst is not None and burst < MAX_FRAME:
        yield Violation(
            ("maximum_traffic_burst",),
            f"a burst of {format_bytes(burst)} is too small to send the largest frame; "
            f"give at least {MAX_FRAME} B",
        )
    yield from _buffer(flow)
    if isinstance(flow, UpstreamQos):
        yield from _scheduling(flow)


def _buffer(flow: QosParameters) -> Iterator[Violation]:
    control = flow.buffer_control
    if control is None:
        return
    least, target, most = control.minimum_buffer, control.target_buffer, control.maximum_buffer
    if most is not None and least is not None and most < least:
        yield Violation(
            ("buffer_control", "maximum_buffer"),
            f"{format_bytes(most)} is below the Minimum Buffer of {format_bytes(least)}",
        )
    # A target of 0 leaves the choice to the modem.
    if target and least is not None and target < least:
        yield Violation(
            ("buffer_control", "target_buffer"),
            f"{format_bytes(target)} is below the Minimum Buffer of {format_bytes(least)}",
        )
    if target and most is not None and target > most:
        yield Violation(
            ("buffer_control", "target_buffer"),
            f"{format_bytes(target)} is above the Maximum Buffer of {format_bytes(most)}",
        )
    for key in ("target_buffer", "maximum_buffer"):
        size = getattr(control, key)
        if size and size < MAX_FRAME:
            yield Violation(
                ("buffer_control", key),
                f"a buffer of {format_bytes(size)} cannot hold the largest frame; "
                f"give at least {MAX_FRAME} B",
            )


_GRANTS: Final = (
    "unsolicited_grant_size",
    "nominal_grant_interval",
    "tolerated_grant_jitter",
    "grants_per_interval",
)
_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "ugs": _GRANTS,
    "ugs-ad": _GRANTS,
    "rtps": ("nominal_polling_interval",),
    "pgs": ("guaranteed_grant_rate",),
}


def _scheduling(flow: UpstreamQos) -> Iterator[Violation]:
    for key in _NEEDED.get(flow.scheduling_type or "", ()):
        if getattr(flow, key) is None:
            yield Violation(
                ("scheduling_type",), f"{flow.scheduling_type} needs {key}, which is missing"
            )


def _numbers(configuration: ModemConfiguration, limits: Limits) -> Iterator[Violation]:
    for direction in DIRECTIONS:
        count = len(flows_of(configuration, direction))
        if count > limits.service_flows:
            yield Violation(
                (f"{direction}_service_flows", limits.service_flows),
                f"there are {count} service flows, but the modem has room for "
                f"{limits.service_flows}",
            )
        count = len(classifiers_of(configuration, direction))
        if count > limits.classifiers:
            yield Violation(
                (f"{direction}_classifiers", limits.classifiers),
                f"there are {count} classifiers, but the modem has room for {limits.classifiers}",
            )
    allowed = configuration.maximum_number_of_classifiers
    active = sum(entry.active is not False for entry in configuration.upstream_classifiers)
    # 0 is no limit.
    if allowed and active > allowed:
        yield Violation(
            ("maximum_number_of_classifiers",),
            f"allows {allowed} active upstream classifiers, but there are {active}",
        )


def _identities(configuration: ModemConfiguration) -> Iterator[Violation]:
    """References and ids are single: one range of numbers for both directions."""
    for kind, keys in (
        ("service_flows", ("service_flow_reference", "service_flow_id")),
        ("classifiers", ("classifier_reference", "classifier_id")),
    ):
        for key in keys:
            seen: dict[int, str] = {}
            for direction in DIRECTIONS:
                for index, entry in enumerate(getattr(configuration, f"{direction}_{kind}")):
                    number = getattr(entry, key)
                    if number is None:
                        continue
                    if number in seen:
                        yield Violation(
                            (f"{direction}_{kind}", index, key),
                            f"{number} is already taken by {seen[number]}",
                        )
                    seen.setdefault(number, f"{direction}_{kind}.{index}")
    yield from _nameless_classifiers(configuration)


def _nameless_classifiers(configuration: ModemConfiguration) -> Iterator[Violation]:
    """A classifier without a reference goes by its id, which then is no other's reference."""
    references = {
        classifier.classifier_reference: f"{direction}_classifiers.{index}"
        for direction in DIRECTIONS
        for index, classifier in enumerate(classifiers_of(configuration, direction))
    }
    for direction in DIRECTIONS:
        for index, classifier in enumerate(classifiers_of(configuration, direction)):
            number = classifier.classifier_id
            if number and classifier.classifier_reference is None and number in references:
                yield Violation(
                    (f"{direction}_classifiers", index, "classifier_id"),
                    f"{number} is the reference of {references[number]}, and this one has none of "
                    "its own; give it a classifier_reference",
                )


def _references(configuration: ModemConfiguration) -> Iterator[Violation]:
    for direction in DIRECTIONS:
        flows = flows_of(configuration, direction)
        for index, classifier in enumerate(classifiers_of(configuration, direction)):
            where: Location = (f"{direction}_classifiers", index)
            if classifier.service_flow_reference is None and classifier.service_flow_id is None:
                yield Violation(where, "names no service flow; give it a service_flow_reference")
            if classifier.classifier_reference is None and classifier.classifier_id is None:
                yield Violation(where, "has no number; give it a classifier_reference")
            for key in ("service_flow_reference", "service_flow_id"):
                number = getattr(classifier, key)
                known = [getattr(flow, key) for flow in flows if getattr(flow, key) is not None]
                if number is not None and number not in known:
                    there = ", ".join(map(str, known[:40])) or "none"
                    yield Violation(
                        (*where, key),
                        f"there is no {direction} service flow {number}; there are {there}",
                    )
            yield from _one_flow(where, classifier, flows)


def _one_flow(where: Location, given: Classifier, flows: Sequence[Flow]) -> Iterator[Violation]:
    """Whether reference and identifier, where a classifier has both, name the same flow."""
    reference, number = given.service_flow_reference, given.service_flow_id
    if reference is None or number is None:
        return
    for flow in flows:
        if flow.service_flow_id == number and flow.service_flow_reference != reference:
            yield Violation(
                (*where, "service_flow_id"),
                f"{number} is the service flow with the reference {flow.service_flow_reference}, "
                f"and service_flow_reference says {reference}; leave one of them out",
            )


def _conditions(where: Location, classifier: Classifier) -> Iterator[Violation]:
    ipv6 = classifier.ipv6 and classifier.ipv6.only_ipv6
    if classifier.ip and ipv6 and classifier.ip.only_ipv4:
        yield Violation(
            (*where, "ip", classifier.ip.only_ipv4),
            "asks for IPv4 beside conditions for IPv6, so nothing can match; beside ipv6 only the "
            "ports stand here",
        )


def check_lengths(configuration: ModemConfiguration) -> Iterator[Violation]:
    """Whether values that hold TLVs fit behind a length of one byte."""
    for _, location, value in configuration.parts():
        if len(value) > MAX_LENGTH:
            yield Violation(
                location,
                f"takes {len(value)} bytes, and a TLV holds at most {MAX_LENGTH}; leave something "
                "out",
            )


def check_channel(
    configurations: Sequence[ModemConfiguration], channel: Channel
) -> Iterator[Violation]:
    """Whether the Minimum Reserved Traffic Rates of modems fit into the channel they share.

    The location is that of the first flow that does not fit, in the modem that has it;
    only the active and admitted parameter sets reserve anything.
    """
    for direction in DIRECTIONS:
        capacity: int = getattr(channel, direction)
        total = 0
        for configuration in configurations:
            for index, flow in enumerate(flows_of(configuration, direction)):
                if flow.qos_parameter_set_type & 0b110 == 0:
                    continue
                before, total = total, total + (flow.minimum_reserved_traffic_rate or 0)
                if before <= capacity < total:
                    yield Violation(
                        (f"{direction}_service_flows", index, "minimum_reserved_traffic_rate"),
                        f"brings the sum of the {direction} minimum rates to "
                        f"{format_rate(total)}, above the channel's {format_rate(capacity)}",
                    )
