# SPDX-License-Identifier: Apache-2.0
"""The quantities of `expectations.Quantity`, each a function of a run's record. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.judging.expectations import Quantity
from docsis_experiments.measurement import voice
from docsis_experiments.measurement.record import Floats, Packets, RunRecord

RECOVERY_BIN_SECONDS: Final = 0.5
"""A queue has recovered when its median over this long is low enough."""
_BIN: Final = round(RECOVERY_BIN_SECONDS * 1e9)

_QUANTILES: Final = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}


def measure(quantity: Quantity, run: RunRecord) -> float:
    """The quantity's value of a run; NaN where nothing was there to be measured."""
    return _METRICS[quantity.metric](quantity, run)


def statistic(name: str, samples: Floats) -> float:
    """A statistic of a sample by its name; NaN of an empty one."""
    if samples.size == 0:
        return math.nan
    if name == "mean":
        return float(samples.mean())
    return float(np.percentile(samples, _QUANTILES[name]))


def idle_median(packets: Packets, run: RunRecord) -> float:
    """Median latency of packets that were sent in the idle time, milliseconds.

    What is above it in the measured time was induced by other traffic. NaN where there was no
    idle time, or none of the packets arrived in it.
    """
    if run.idle is None:
        return math.nan
    return statistic("p50", packets.between(*run.idle).delays)


def loss_percent(packets: Packets) -> float:
    """Packets that never arrived; NaN where none was sent."""
    if packets.delay_ms.size == 0:
        return math.nan
    return 100 * float(np.isnan(packets.delay_ms).mean())


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2) (002); NaN where nothing got anything."""
    squares = sum(rate * rate for rate in rates)
    return math.nan if squares == 0 else sum(rates) ** 2 / (len(rates) * squares)


def slope(buffers_ms: Sequence[float], values: Sequence[float]) -> float:
    """Of the line of least squares through the values; NaN for fewer than two buffers."""
    if len(set(buffers_ms)) < 2 or any(map(math.isnan, values)):
        return math.nan
    return float(np.polyfit(buffers_ms, values, 1)[0])


def recovery(packets: Packets, events: Sequence[float], end: float, bound_ms: float) -> float:
    """The longest time from an event until the latency is low for good, or the next event.

    Args:
        packets: Whose latency.
        events: Seconds, ascending.
        end: Seconds, of the time that is looked at.
        bound_ms: The latency that counts as low.

    Returns:
        Seconds to the start of the first bin from which on every bin that has packets is low; 0
        where all are. A bin is low when the median of what arrived is. Infinite where the last
        bin with packets of an event's time is high, or none of them arrived: then nothing shows
        that it recovered. NaN without an event or without packets.
    """
    longest = math.nan
    for event, until in pairwise([*events, end]):
        longest = float(np.fmax(longest, _one_recovery(packets, event, until, bound_ms)))
    return longest


def _one_recovery(packets: Packets, event: float, until: float, bound_ms: float) -> float:
    # In whole nanoseconds: times like 0.1 s are no binary fractions, and a packet at the edge of
    # a bin, or a bin at the end, would be on one side of it or the other by chance.
    sent, start, end = (_nanoseconds(time) for time in (packets.sent_s, event, until))
    inside = (sent >= start) & (sent < end) & ~np.isinf(packets.delay_ms)
    if not inside.any():
        return math.nan
    # The last bin has what is left over, too: of a short one, one packet would decide.
    last = max(1, (int(end) - int(start)) // _BIN) - 1
    bins = np.minimum((sent[inside] - start) // _BIN, last)
    delays = packets.delay_ms[inside]
    recovered: int | None = 0
    for number in np.unique(bins):
        arrived = delays[(bins == number) & ~np.isnan(delays)]
        if not arrived.size or float(np.median(arrived)) > bound_ms:
            recovered = None
        elif recovered is None:
            recovered = int(number)
    return math.inf if recovered is None else recovered * RECOVERY_BIN_SECONDS


def _nanoseconds(seconds: Floats | float) -> npt.NDArray[np.int64]:
    return np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def _span(quantity: Quantity, run: RunRecord) -> tuple[float, float]:
    during = quantity.during
    return (0.0, run.seconds) if during is None else (during.start / 1e9, during.end / 1e9)


def packets_of(quantity: Quantity, run: RunRecord, of: Mapping[str, Packets]) -> Packets:
    """Those of the quantity's groups and time; none where one of the groups has none.

    What the other groups have would stand for the group that sent nothing.
    """
    if _silent(quantity, run, of):
        return Packets.together([])
    return Packets.together([of[name] for name in quantity.of]).between(*_span(quantity, run))


def _silent(quantity: Quantity, run: RunRecord, of: Mapping[str, Packets]) -> list[str]:
    """The quantity's groups that have no packet in its time."""
    span = _span(quantity, run)
    return [
        name for name in quantity.of if name not in of or not of[name].between(*span).sent_s.size
    ]


def absence(quantity: Quantity, run: RunRecord) -> str:
    """Why a quantity has no value, in words; "" where it has one."""
    if not math.isnan(measure(quantity, run)):
        return ""
    names = " and ".join(quantity.of)
    match quantity.metric:
        case "message-latency":
            silent = _silent(quantity, run, run.messages)
            return f"no message of {' and '.join(silent) or names} arrived in that time"
        case "goodput" | "fairness":
            return f"nothing of {names} arrived in that time"
        case "retransmissions":
            return f"retransmissions of {names} were not counted"
        case "induced-latency" if not math.isnan(_latency(quantity, run)):
            return f"no packet of {names} arrived in an idle time"
    if silent := _silent(quantity, run, run.packets):
        return f"no packet of {' and '.join(silent)} was sent in that time"
    if quantity.metric == "recovery":
        return f"no step was followed by a packet of {names}"
    return f"no packet of {names} arrived in that time"


def _latency(quantity: Quantity, run: RunRecord) -> float:
    return statistic(quantity.statistic, packets_of(quantity, run, run.packets).delays)


def _induced_latency(quantity: Quantity, run: RunRecord) -> float:
    loaded = _latency(quantity, run)
    if math.isnan(loaded):
        return math.nan
    return loaded - idle_median(Packets.together([run.packets[name] for name in quantity.of]), run)


def _retransmissions(quantity: Quantity, run: RunRecord) -> float:
    if any(name not in run.retransmitted for name in quantity.of):
        return math.nan
    return float(sum(sum(run.retransmitted[name].values()) for name in quantity.of))


def _message_latency(quantity: Quantity, run: RunRecord) -> float:
    return statistic(quantity.statistic, packets_of(quantity, run, run.messages).delays)


def _loss(quantity: Quantity, run: RunRecord) -> float:
    return loss_percent(packets_of(quantity, run, run.packets))


def _rates(quantity: Quantity, run: RunRecord) -> list[float]:
    span = _span(quantity, run)
    return [rate for name in quantity.of for rate in run.received[name].mbps(*span)]


def _goodput(quantity: Quantity, run: RunRecord) -> float:
    return sum(_rates(quantity, run))


def _fairness(quantity: Quantity, run: RunRecord) -> float:
    return jain(_rates(quantity, run))


def _mos(quantity: Quantity, run: RunRecord) -> float:
    packets = packets_of(quantity, run, run.packets)
    return voice.mos(packets.delays, loss_percent(packets) / 100)


def _recovery(quantity: Quantity, run: RunRecord) -> float:
    assert quantity.bound is not None, "checked with the scenario"
    start, end = _span(quantity, run)
    if quantity.during is not None:
        events = [start]
    else:
        # The first step is the rate of the ramp-up.
        events = [at for at, _ in run.steps[1:] if at < end] if run.steps else [0.0]
    return recovery(packets_of(quantity, run, run.packets), events, end, quantity.bound / 1e6)


_METRICS: Final[Mapping[str, Callable[[Quantity, RunRecord], float]]] = {
    "latency": _latency,
    "induced-latency": _induced_latency,
    "message-latency": _message_latency,
    "goodput": _goodput,
    "loss": _loss,
    "mos": _mos,
    "fairness": _fairness,
    "recovery": _recovery,
    "retransmissions": _retransmissions,
}
