# SPDX-License-Identifier: Apache-2.0
"""Whether every frame is counted once. Pure: sums of counters, with what is wrong in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        totals: Of the whole world: see `docsis_world.Totals`.
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


def of_service_flow(
    name: str, counters: Mapping[str, int], queued: int, lost: int, suppressed: int
) -> Iterator[str]:
    """What the pipeline counted of a service flow.

    Args:
        name: Of the service flow, for people.
        counters: Frames by the counter's name, all of one moment.
        queued: Frames in its queue then.
        lost: Frames that the traffic manager lost between ingress and egress.
        suppressed: Acknowledgements that it took out of the queue.
    """
    received = counters["sf_received"]
    parts = {fate: counters[fate] for fate in FATES}
    fates = sum(parts.values()) + queued + lost + suppressed
    if received != fates:
        said = ", ".join(f"{fate.removeprefix('sf_')} {n}" for fate, n in parts.items() if n)
        yield (
            f"{name} received {received} frames, and {fates} have a fate: {said or 'none'}, "
            f"queued {queued}, lost {lost}, suppressed {suppressed}"
        )
