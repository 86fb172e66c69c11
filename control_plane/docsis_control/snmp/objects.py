# SPDX-License-Identifier: Apache-2.0
"""Objects of DOCS-QOS3-MIB and their values in a status.

Pure. The tables are those of CableLabs' DOCS-QOS3-MIB with its columns, types and
indexes. A column whose value the system does not have is left out, and so is an
instance that is not known because a device does not answer, or that the column's
type cannot hold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from docsis_control.queue_managers.names import QueueManager
from docsis_control.snmp.tree import Oid, Syntax, Tree, Value
from docsis_control.status.model import Modem, ServiceFlow, Status

FIRST_IF_INDEX: Final = 2
"""Interface index of a cable modem's MAC layer in DOCSIS; 1 is its Ethernet side."""

NO_TARGET_BUFFER: Final = 0
NO_MAXIMUM_BUFFER: Final = 2**32 - 1
"""docsQosParamSetTargetBuffer and MaximumBuffer where the configuration has none."""

ACTIVE: Final = 1
"""docsQosParamSetType: the set of parameters that is in force."""

OTHER: Final = 2
DOCSIS_PIE: Final = 3
"""docsQosParamSetAqmAlgInUse."""

DOCS_CABLE_MACLAYER: Final = 127
"""ifType (IANAifType-MIB)."""

_SYSTEM: Final = (1, 3, 6, 1, 2, 1, 1)
_IF_ENTRY: Final = (1, 3, 6, 1, 2, 1, 2, 2, 1)
DOCS_QOS: Final = (1, 3, 6, 1, 4, 1, 4491, 2, 1, 21, 1)
_PKT_CLASS_ENTRY: Final = (*DOCS_QOS, 1, 1)
_PARAM_SET_ENTRY: Final = (*DOCS_QOS, 2, 1)
_SERVICE_FLOW_ENTRY: Final = (*DOCS_QOS, 3, 1)
_STATS_ENTRY: Final = (*DOCS_QOS, 4, 1)

_DIRECTIONS: Final[Mapping[str, int]] = {"downstream": 1, "upstream": 2}
"""IfDirection."""


@dataclass(frozen=True)
class Object:
    """A scalar or a column.

    Attributes:
        name: Name of its definition.
        oid: Without the instance.
        syntax: Type of its values on the wire.
        most: The largest that its definition permits, where that is less than the syntax's.
    """

    name: str
    oid: Oid
    syntax: Syntax
    most: int | None = None


SYS_DESCR: Final = Object("sysDescr", (*_SYSTEM, 1), Syntax.OCTET_STRING)
SYS_UP_TIME: Final = Object("sysUpTime", (*_SYSTEM, 3), Syntax.TIME_TICKS)
IF_INDEX: Final = Object("ifIndex", (*_IF_ENTRY, 1), Syntax.INTEGER)
IF_DESCR: Final = Object("ifDescr", (*_IF_ENTRY, 2), Syntax.OCTET_STRING)
IF_TYPE: Final = Object("ifType", (*_IF_ENTRY, 3), Syntax.INTEGER)


def _pkt_class(column: int, name: str, syntax: Syntax) -> Object:
    return Object(f"docsQosPktClass{name}", (*_PKT_CLASS_ENTRY, column), syntax)


def _param_set(column: int, name: str, syntax: Syntax, most: int | None = None) -> Object:
    return Object(f"docsQosParamSet{name}", (*_PARAM_SET_ENTRY, column), syntax, most)


def _service_flow(column: int, name: str, syntax: Syntax) -> Object:
    return Object(f"docsQosServiceFlow{name}", (*_SERVICE_FLOW_ENTRY, column), syntax)


def _stats(column: int, name: str, syntax: Syntax) -> Object:
    return Object(f"docsQosServiceFlow{name}", (*_STATS_ENTRY, column), syntax)


CLASS_DIRECTION: Final = _pkt_class(2, "Direction", Syntax.INTEGER)
CLASS_PRIORITY: Final = _pkt_class(3, "Priority", Syntax.UNSIGNED32)
CLASS_STATE: Final = _pkt_class(25, "State", Syntax.INTEGER)
CLASS_PKTS: Final = _pkt_class(26, "Pkts", Syntax.COUNTER64)
SERVICE_CLASS_NAME: Final = _param_set(4, "ServiceClassName", Syntax.OCTET_STRING)
PRIORITY: Final = _param_set(5, "Priority", Syntax.UNSIGNED32)
MAX_TRAFFIC_RATE: Final = _param_set(6, "MaxTrafficRate", Syntax.UNSIGNED32)
MAX_TRAFFIC_BURST: Final = _param_set(7, "MaxTrafficBurst", Syntax.UNSIGNED32)
MIN_RESERVED_RATE: Final = _param_set(8, "MinReservedRate", Syntax.UNSIGNED32)
MIN_RESERVED_PKT: Final = _param_set(9, "MinReservedPkt", Syntax.UNSIGNED32, 65535)
TOS_AND_MASK: Final = _param_set(20, "TosAndMask", Syntax.OCTET_STRING)
TOS_OR_MASK: Final = _param_set(21, "TosOrMask", Syntax.OCTET_STRING)
PEAK_TRAFFIC_RATE: Final = _param_set(37, "PeakTrafficRate", Syntax.UNSIGNED32)
MINIMUM_BUFFER: Final = _param_set(39, "MinimumBuffer", Syntax.UNSIGNED32)
TARGET_BUFFER: Final = _param_set(40, "TargetBuffer", Syntax.UNSIGNED32)
MAXIMUM_BUFFER: Final = _param_set(41, "MaximumBuffer", Syntax.UNSIGNED32)
AQM_DISABLED: Final = _param_set(42, "AqmDisabled", Syntax.INTEGER)
AQM_LATENCY_TARGET: Final = _param_set(43, "AqmLatencyTarget", Syntax.UNSIGNED32, 256)
AQM_ALG_IN_USE: Final = _param_set(47, "AqmAlgInUse", Syntax.INTEGER)
DIRECTION: Final = _service_flow(7, "Direction", Syntax.INTEGER)
PRIMARY: Final = _service_flow(8, "Primary", Syntax.INTEGER)
BUFFER_SIZE: Final = _service_flow(17, "BufferSize", Syntax.UNSIGNED32)
PKTS: Final = _stats(1, "Pkts", Syntax.COUNTER64)
OCTETS: Final = _stats(2, "Octets", Syntax.COUNTER64)
POLICED_DROP_PKTS: Final = _stats(6, "PolicedDropPkts", Syntax.COUNTER32)
POLICED_DELAY_PKTS: Final = _stats(7, "PolicedDelayPkts", Syntax.COUNTER32)
AQM_DROPPED_PKTS: Final = _stats(8, "AqmDroppedPkts", Syntax.COUNTER64)

OBJECTS: Final = (
    SYS_DESCR,
    SYS_UP_TIME,
    IF_INDEX,
    IF_DESCR,
    IF_TYPE,
    CLASS_DIRECTION,
    CLASS_PRIORITY,
    CLASS_STATE,
    CLASS_PKTS,
    SERVICE_CLASS_NAME,
    PRIORITY,
    MAX_TRAFFIC_RATE,
    MAX_TRAFFIC_BURST,
    MIN_RESERVED_RATE,
    MIN_RESERVED_PKT,
    TOS_AND_MASK,
    TOS_OR_MASK,
    PEAK_TRAFFIC_RATE,
    MINIMUM_BUFFER,
    TARGET_BUFFER,
    MAXIMUM_BUFFER,
    AQM_DISABLED,
    AQM_LATENCY_TARGET,
    AQM_ALG_IN_USE,
    DIRECTION,
    PRIMARY,
    BUFFER_SIZE,
    PKTS,
    OCTETS,
    POLICED_DROP_PKTS,
    POLICED_DELAY_PKTS,
    AQM_DROPPED_PKTS,
)
"""All objects that are served."""

_Found = Iterator[tuple[Object, Oid, int | str | bytes]]
"""An object, its instance, its value."""


def tree(status: Status) -> Tree:
    """Makes the tree from which an agent answers."""
    values: dict[Oid, Value] = {}
    for item, instance, value in _all(status):
        fitting = _fit(item, value)
        if fitting is not None:
            values[(*item.oid, *instance)] = Value(item.syntax, fitting)
    return Tree([item.oid for item in OBJECTS], values)


def _fit(item: Object, value: int | str | bytes) -> int | str | bytes | None:
    """The value as the object's type holds it; None when it cannot."""
    if isinstance(value, str | bytes):
        return value
    if item.syntax in (Syntax.COUNTER32, Syntax.COUNTER64, Syntax.TIME_TICKS):
        # These go on at 0, and managers know.
        return value % (item.syntax.largest + 1)
    most = item.syntax.largest if item.most is None else item.most
    return value if value <= most else None


def _all(status: Status) -> _Found:
    yield SYS_DESCR, (0,), f"docsis-p4: {status.topology}, {status.tier}, {status.aqm}"
    yield SYS_UP_TIME, (0,), int(status.uptime_s * 100)
    for modem in status.modems:
        yield from _modem(modem)


def if_index_of(modem: Modem) -> int:
    """A modem is one interface; the first has number 1."""
    return FIRST_IF_INDEX + modem.number - 1


def _modem(modem: Modem) -> _Found:
    if_index = if_index_of(modem)
    yield IF_INDEX, (if_index,), if_index
    yield IF_DESCR, (if_index,), modem.name
    yield IF_TYPE, (if_index,), DOCS_CABLE_MACLAYER
    for flow in modem.service_flows:
        yield from _parameters((if_index, ACTIVE, flow.sfid), flow)
        instance = (if_index, flow.sfid)
        yield from _classifiers(instance, flow)
        yield DIRECTION, instance, _DIRECTIONS[flow.direction]
        yield PRIMARY, instance, _truth(flow.primary)
        yield BUFFER_SIZE, instance, flow.provisioned.buffer_bytes
        yield from _counters(instance, flow)


def _parameters(instance: Oid, flow: ServiceFlow) -> _Found:
    given = flow.provisioned
    yield SERVICE_CLASS_NAME, instance, flow.class_name
    yield PRIORITY, instance, given.traffic_priority
    # As in a configuration file, a rate of 0 is no limit.
    yield MAX_TRAFFIC_RATE, instance, given.maximum_sustained_traffic_rate_bps or 0
    yield MAX_TRAFFIC_BURST, instance, given.maximum_traffic_burst_bytes
    yield MIN_RESERVED_RATE, instance, given.minimum_reserved_traffic_rate_bps
    yield MIN_RESERVED_PKT, instance, given.assumed_minimum_reserved_rate_packet_size_bytes
    yield TOS_AND_MASK, instance, bytes([given.tos_and_mask])
    yield TOS_OR_MASK, instance, bytes([given.tos_or_mask])
    yield PEAK_TRAFFIC_RATE, instance, given.peak_traffic_rate_bps or 0
    maximum = given.maximum_buffer_bytes
    yield MINIMUM_BUFFER, instance, given.minimum_buffer_bytes or 0
    yield TARGET_BUFFER, instance, given.target_buffer_bytes or NO_TARGET_BUFFER
    yield MAXIMUM_BUFFER, instance, NO_MAXIMUM_BUFFER if maximum is None else maximum
    yield AQM_DISABLED, instance, _truth(not given.aqm_enabled)
    if given.latency_target_ms is not None:
        yield AQM_LATENCY_TARGET, instance, round(given.latency_target_ms)
    if given.aqm_enabled:
        pie = given.queue_manager == QueueManager.DOCSIS_PIE.label
        yield AQM_ALG_IN_USE, instance, DOCSIS_PIE if pie else OTHER


def _classifiers(flow_instance: Oid, flow: ServiceFlow) -> _Found:
    for classifier in flow.classifiers or ():
        if classifier.reference is None or classifier.rule_priority is None:
            continue
        instance = (*flow_instance, classifier.reference)
        yield CLASS_DIRECTION, instance, _DIRECTIONS[flow.direction]
        yield CLASS_PRIORITY, instance, classifier.rule_priority
        # active(1), inactive(2)
        yield CLASS_STATE, instance, 1 if classifier.active else 2
        if classifier.matched is not None:
            yield CLASS_PKTS, instance, classifier.matched.packets


def _counters(instance: Oid, flow: ServiceFlow) -> _Found:
    counters = flow.counters
    if counters is None:
        return
    yield PKTS, instance, counters.forwarded.packets
    yield OCTETS, instance, counters.forwarded.octets
    # Both come from enforcing the flow's rates: it would wait too long, or for ever.
    policed = counters.dropped_buffer_full.packets + counters.dropped_policed.packets
    yield POLICED_DROP_PKTS, instance, policed
    if flow.delayed is not None:
        yield POLICED_DELAY_PKTS, instance, flow.delayed.packets
    yield AQM_DROPPED_PKTS, instance, counters.dropped_aqm.packets


def _truth(value: bool) -> int:
    """TruthValue of SNMPv2-TC."""
    return 1 if value else 2
