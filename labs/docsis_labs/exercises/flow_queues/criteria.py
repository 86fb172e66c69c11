# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 8, but for whether flows are apart, which is in `apart`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.flow_queues.apart import (
    BULK,
    SEED,
    SHARED_BY_CHANCE,
    START_US,
    address,
    apart,
)
from docsis_labs.exercises.flow_queues.flows import (
    FCS,
    FLOW_LIMIT,
    FLOW_QUEUES,
    ICMP,
    IP_IN_IP,
    QUANTUM,
    RATE,
    Came,
    Flow,
    Sent,
    device,
    play,
)
from docsis_labs.p4.program import Program


def anything(program: Program) -> Verdict:
    """Other EtherTypes, other protocols, options of IPv4, the shortest frames."""
    sent = [
        Sent(START_US + 2000 * number, flow, length, options=options)
        for number, (flow, length, options) in enumerate(
            [
                (None, 64, False), (None, 1518, False), (BULK, 64, False),
                (BULK.tcp, 1518, False), (Flow(0, protocol=ICMP), 102, False),
                (Flow(0, protocol=50), 1518, False), (BULK, 64, True), (BULK.tcp, 1518, True),
            ]
        )
    ]  # fmt: skip
    if len(play(device(program), sent)) != len(sent):
        return Missed("loses-frames", "Frames one by one did not all come to port 2.")
    return Passed()


_LENGTHS: Final = (1500, 100, 900, 64)
"""Lengths of a flow's frames: in sub-queues of their own the short ones leave before the long."""


def order(program: Program) -> Verdict:
    """Frames of a flow that wait together, and fragments of a datagram."""
    lengths = _LENGTHS
    flows = [Flow(1000 + number) for number in range(8)]
    sent = [
        Sent(START_US, flow, lengths[number % 4], dont_fragment=flow.source_port % 2 == 0)
        for number in range(24)
        for flow in flows
    ]
    if not _in_order(play(device(program), sent), sent):
        return Missed(
            "per-packet",
            "Frames of one flow left in another order than they came in: what the hash is taken of "
            "has to be the same for all of a flow's frames. What differs from packet to packet?",
        )
    for later in range(1, 9):
        datagrams = [
            Sent(START_US, Flow(2000 + later), length, fragment, datagram)
            for datagram in range(4)
            for fragment, length in ((0, 1500), (183, 1000), (304, 1000))
        ]
        came = play(device(program), datagrams)
        if not _in_order(came, datagrams):
            return _fragments(came)
        if len(came) < len(datagrams):
            return Missed(
                "loses-fragments",
                f"{len(came)} of {len(datagrams)} fragments came to port 2: together they have "
                f"fewer than FLOW_LIMIT bytes, {FLOW_LIMIT}, so that none of them is to be "
                "dropped.",
            )
    return _without_ports(program) or Passed()


def _without_ports(program: Program) -> Missed | None:
    """Frames that have no ports where those of TCP and UDP are, but bytes that differ."""
    for flow in (BULK, BULK.tcp):
        sent = [Sent(START_US, flow, _LENGTHS[n % 4], options=True) for n in range(24)]
        if not _in_order(play(device(program), sent), sent):
            return Missed(
                "options-are-ports",
                "Frames of one flow with options of IPv4 left in another order than they came in: "
                "with an ihl above 5 the options come first, and the ports are not where the "
                "program looks for them.",
            )
    for protocol, name in ((ICMP, "ICMP"), (IP_IN_IP, "IP in IP")):
        sent = [Sent(START_US, Flow(0, protocol=protocol), _LENGTHS[n % 4]) for n in range(24)]
        if not _in_order(play(device(program), sent), sent):
            return Missed(
                "any-protocol-has-ports",
                f"Frames of {name} between two hosts left in another order than they came in: only "
                "TCP and UDP begin with ports, and what other protocols have there may differ from "
                "packet to packet.",
            )
    return None


def _in_order(came: Sequence[Came], sent: Sequence[Sent]) -> bool:
    last: dict[Flow | None, int] = {}
    for one in came:
        flow = sent[one.number].flow
        if one.number < last.get(flow, -1):
            return False
        last[flow] = one.number
    return True


def _fragments(came: Sequence[Came]) -> Missed:
    # In a queue of their own the others take turns with the first ones; each in its own queue they
    # are all served before the third datagram begins.
    third = next((place for place, one in enumerate(came) if one.number == 6), len(came))
    if third <= 6:
        return Missed(
            "first-fragment-apart",
            "The first fragments of datagrams waited elsewhere than the others, and left behind "
            "them: the first one has ports and the others have none, so that none may go by them. "
            "A first fragment has the flag MORE_FRAGMENTS.",
        )
    return Missed(
        "fragments-have-no-ports",
        "Fragments of a datagram left in another order than they came in: behind the first one "
        "there are no ports, but data. Look at frag_offset before you extract them.",
    )


def all_queues(program: Program) -> Verdict:
    """Every sub-queue gets frames: with 1000 flows one stays empty with a probability below 1e-12.

    They differ in all that a flow has: a CRC is linear, so that neighbouring ports alone may have
    few results.
    """
    draws = random.Random(SEED)
    flows = [
        Flow(draws.randrange(1 << 16), draws.randrange(1 << 16), address(draws), address(draws))
        for _ in range(1000)
    ]
    switch = device(program)
    play(switch, [Sent(START_US + 100 * n, flow, 64) for n, flow in enumerate(flows)])
    used = sum(1 for value in switch.read_registers("enqueued_bytes") if value)
    if used < FLOW_QUEUES:
        return Missed(
            "half-of-the-queues",
            f"1000 flows went to {used} of {FLOW_QUEUES} sub-queues: hash() takes the number of "
            "its results, and not the largest one.",
        )
    return Passed()


def _burst(at_us: int, count: int, flow: Flow = BULK) -> list[Sent]:
    return [Sent(at_us, flow)] * count


def limit(program: Program) -> Verdict:
    """A flow that does not give way, and one that hardly sends."""
    bulk = [Sent(START_US + 500 * number, BULK) for number in range(2000)]
    sparse = [Sent(START_US + 25_000 * n, Flow(50_000 + n), 200) for n in range(40)]
    sent = sorted(bulk + sparse, key=lambda one: one.at_us)
    switch = device(program)
    came = play(switch, sent)
    longest = max(
        (one.at_us - sent[one.number].at_us for one in came if sent[one.number].flow == BULK),
        default=0.0,
    )
    # The frame that is on the line, those before it, and a turn of a sparse flow that came between.
    bound = (FLOW_LIMIT + 2 * QUANTUM) * 8e6 / RATE
    if longest > bound:
        grown = max(switch.read_registers("enqueued_bytes"))
        if 0 < grown < 60_000:
            return Missed(
                "frames-for-bytes",
                f"2000 frames of a flow were counted as {grown}: the limit is in bytes, and so is "
                "what is counted.",
            )
        return Missed(
            "no-limit",
            f"A flow that sent twice the line's rate waited for up to {longest / 1000:.0f} ms, "
            f"more than {FLOW_LIMIT} bytes: it is to lose its own frames beyond FLOW_LIMIT.",
        )
    # By chance a sparse flow shares the bulk flow's sub-queue.
    lost = len(sparse) - sum(1 for one in came if sent[one.number].flow != BULK)
    if lost > SHARED_BY_CHANCE:
        return Missed(
            "limit-of-all",
            f"{lost} of 40 frames were dropped whose own sub-queue was empty, because another one "
            "was full: the limit is of the bytes in the frame's own sub-queue.",
        )
    # A frame on the line, and then as many as fit at once.
    full = _burst(START_US, 1) + _burst(START_US + 100, 40)
    passed = len(play(device(program), full)) - 1
    fit = FLOW_LIMIT // full[0].length
    if passed != fit:
        return Missed(
            "limit-without-the-frame",
            f"{passed} frames of 1250 bytes found room, and not {fit}: FLOW_LIMIT holds with the "
            "frame that comes.",
        )
    for length, counted in ((100, 100), (50, 64)):
        # Of two frames the second one waits for a millisecond until there are tokens for it.
        full = [Sent(START_US, BULK, 1500)] * 2 + [Sent(START_US + 100, BULK, length)] * 700
        passed = len(play(device(program), full)) - 2
        fit = (FLOW_LIMIT - 1500) // counted
        if passed != fit:
            return Missed(
                "no-fcs" if length == counted else "no-padding",
                f"Beside a frame of 1500 bytes {passed} frames found room that come with "
                f"{length - FCS} bytes, and not {fit}: with the FCS, and with the padding of what "
                f"is below 64, each has {counted}.",
            )
    return Passed(f"The flow waited for {longest / 1000:.1f} ms at the most; no other lost frames.")


def books(program: Program) -> Verdict:
    """A flow's sub-queue is empty again when all has left, and what was dropped was never in it."""
    switch = device(program)
    calm = [one for n in range(10) for one in _burst(START_US + 100_000 * n, 10)]
    if len(play(switch, calm)) != len(calm):
        if any(switch.read_registers("dequeued_bytes")):
            return Missed(
                "other-index",
                "Ten frames at a time, with nothing waiting in between, and some were dropped: "
                "frames are taken from the books at another index than they were added at.",
            )
        return Missed(
            "never-taken-out",
            "Ten frames at a time, with nothing waiting in between, and in the end they were "
            "dropped: a frame that leaves has to be taken from the books, in egress.",
        )
    drifting = _drifting(program)
    if drifting is not None:
        return drifting
    switch = device(program)
    play(switch, _burst(START_US, 100))
    count = len(play(switch, _burst(2_000_000, 24)))
    if count < 24:
        return Missed(
            "counts-what-it-drops",
            f"A flow had lost frames; a second later, with an empty sub-queue, only {count} of 24 "
            "frames found room: a frame that is dropped never was in the sub-queue.",
        )
    return Passed()


def _drifting(program: Program) -> Missed | None:
    """Frames of three lengths, one after the other: the shortest one is padded on a wire."""
    switch = device(program)
    count = 20
    for n, length in enumerate((1500, 64, 50)):
        play(
            switch, [Sent(START_US + 2_000_000 * n + 2000 * k, BULK, length) for k in range(count)]
        )
        added, taken = (switch.read_registers(f"{name}_bytes") for name in ("enqueued", "dequeued"))
        if added != taken:
            drift = sum(added) - sum(taken)
            return Missed(
                "books-drift",
                f"{count} frames that come with {length - FCS} bytes, {length} with the FCS, have "
                f"all left, and the books differ by {drift} bytes: a frame is taken from them, at "
                "the same index, with the length with which it was added. Egress counts the FCS "
                "and the padding to 64 bytes, too.",
            )
    return None


def fair(program: Program) -> Verdict:
    """Pairs of flows, long frames against short ones, for as long as both have frames.

    Deficit round robin gives both the same within a quantum and two longest frames.
    """
    fair_pairs = 0
    worst = 0
    for pair in range(6):
        long, short = Flow(20_000 + pair), Flow(30_000 + pair)
        sent = [Sent(START_US + 600 * n, long, 1500) for n in range(400)]
        sent += [Sent(START_US + 80 * n, short, 200) for n in range(3000)]
        sent.sort(key=lambda one: one.at_us)
        came = play(device(program), sent)
        begin, stop = START_US + 30_000, START_US + 240_000
        got = {
            flow: sum(
                sent[one.number].length
                for one in came
                if begin <= one.at_us < stop and sent[one.number].flow == flow
            )
            for flow in (long, short)
        }
        difference = abs(got[long] - got[short])
        if difference <= 3 * QUANTUM:
            fair_pairs += 1
            worst = max(worst, difference)
    # Three of six pairs share a sub-queue by chance with a probability of 6e-4, and two would do.
    if fair_pairs < 3:
        return Missed(
            "not-fair",
            f"Of six pairs of flows that both sent twice as much as the line takes, {fair_pairs} "
            "got equal bytes.",
        )
    return Passed(f"{fair_pairs} of 6 pairs of flows got equal bytes, within {worst}.")


JUDGES: Final[Mapping[str, Callable[[Program], Verdict]]] = {
    judge.__name__: judge for judge in (anything, order, apart, all_queues, limit, books, fair)
}
