# SPDX-License-Identifier: Apache-2.0
"""Whether every frame is counted once. Pure: sums of counters, with what is wrong in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

FATES: Final = (
    "sf_forwarded",
    "sf_flooded",
    "sf_drop_aqm",
    "sf_drop_buffer_full",
    "sf_drop_policed",
    "sf_drop_no_classifier",
    "sf_drop_malformed",
    "sf_drop_unroutable",
)
"""Counters of the pipeline: a frame that is through is in exactly one; docs/p4-contract.md."""


def of_device(name: str, books: Mapping[str, int]) -> Iterator[str]:
    """A device's own books, over the life of its process: see `docsis_world.Books`."""
    came = books["received"] + books["entered"] + books["copied"]
    went = sum(books[part] for part in ("sent", "left", "dropped", "emptied", "held"))
    if came != went:
        parts = ", ".join(f"{part} {count}" for part, count in books.items())
        yield f"{name} has {came} frames that came and {went} that went or are there: {parts}"


def of_wires(totals: Mapping[str, int], lives: Iterable[Mapping[str, int]]) -> Iterator[str]:
    """The wires between hosts and devices.

    Args:
        totals: Those of the whole world: see `docsis_world.Totals`.
        lives: Books of the devices, of those of their processes that have ended, too.
    """
    lives = list(lives)
    sent = totals["sent"] + sum(books["sent"] for books in lives)
    came = totals["received"] + sum(books["received"] for books in lives)
    ended = sum(totals[end] for end in ("link_dropped", "unconnected", "lost", "on_links"))
    if sent != came + ended:
        parts = ", ".join(f"{part} {count}" for part, count in totals.items())
        yield (
            f"{sent} frames were put on wires, and {came + ended} came, were lost or are on them: "
            f"{parts}"
        )


def of_deaths(totals: Mapping[str, int], ended: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Frames that died with a process are those that it held."""
    held = sum(books["held"] for books in ended)
    if totals["lost_inside"] != held:
        yield f"{totals['lost_inside']} frames died with processes that held {held}"


@dataclass(frozen=True)
class Waiting:
    """Frames of a service flow between ingress and egress: in its queue, or lost there.

    Attributes:
        least: There are at least so many.
        most: There are at most so many: more than `least` only where frames came and went while
            somebody asked.
    """

    least: int
    most: int

    @classmethod
    def exactly(cls, queued: int, lost: int, suppressed: int) -> Waiting:
        """Queued frames, those that the traffic manager lost, and ACKs that it took out."""
        count = queued + lost + suppressed
        return cls(count, count)


def of_service_flow(name: str, counters: Mapping[str, int], waiting: Waiting) -> Iterator[str]:
    """What the pipeline counted of a service flow.

    Args:
        name: The service flow's name, for people.
        counters: Frames by the counter's name, all of one moment.
        waiting: Frames that had no fate yet at that moment.
    """
    received = counters["sf_received"]
    parts = {fate: counters[fate] for fate in FATES}
    fates = sum(parts.values())
    if not fates + waiting.least <= received <= fates + waiting.most:
        said = ", ".join(f"{fate.removeprefix('sf_')} {n}" for fate, n in parts.items() if n)
        between = (
            f"{waiting.least}"
            if waiting.least == waiting.most
            else f"{waiting.least} to {waiting.most}"
        )
        yield (
            f"{name} received {received} frames, of which {fates} have a fate ({said or 'none'}) "
            f"and {between} wait or were lost in its queue"
        )
