# SPDX-License-Identifier: Apache-2.0
"""The draw: which sites are mutated, by a seed and the list alone.

Each area has a number of mutants. In an area the operators take turns, so that changes of a kind of
which there are few are drawn as often as numbers, of which there are many. Within an operator the
order is that of a hash of the seed and the place; of several changes of one place one is taken. So
the draw is the same with every version of Python, and a site that is new in the list leaves the
others where they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from docsis_mutants.areas import Area, area_of
from docsis_mutants.site import Operator, Site

DEFAULT_COUNTS: Final[Mapping[Area, int]] = {
    Area.P4: 24,
    Area.TRAFFIC_MANAGER: 20,
    Area.LAWS: 20,
}
"""Mutants that compile, of each area: 64 together."""

RULE: Final = 0.95
"""The part of them that the tests have to catch."""


def counts(total: int) -> dict[Area, int]:
    """Shares a number of mutants among the areas as the default does. ValueError: it is below 3."""
    if total < len(Area):
        raise ValueError(f"COUNT={total}: each of the {len(Area)} areas has one mutant at least")
    whole = sum(DEFAULT_COUNTS.values())
    shared = {area: max(1, total * part // whole) for area, part in DEFAULT_COUNTS.items()}
    # What rounding left goes to the areas in their order.
    for area in list(Area) * len(Area):
        if sum(shared.values()) < total:
            shared[area] += 1
    return shared


def order(sites: Sequence[Site], area: Area, seed: int) -> Iterator[Site]:
    """Yields the sites of an area in the order in which they are drawn.

    One that does not compile is left out by whoever takes them, and the next one takes its place.
    """
    waiting: dict[Operator, list[Site]] = {}
    for operator in Operator:
        places: dict[tuple[str, int, int, Operator], list[Site]] = {}
        for site in sites:
            if site.operator is operator and area_of(site.file) is area:
                places.setdefault(site.place, []).append(site)
        chosen = [min(those, key=lambda site: _rank(seed, site.key)) for those in places.values()]
        if chosen:
            waiting[operator] = sorted(chosen, key=lambda site: _rank(seed, str(site.place)))
    while waiting:
        for operator in list(waiting):
            yield waiting[operator].pop(0)
            if not waiting[operator]:
                del waiting[operator]


def _rank(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed} {text}".encode()).digest()
