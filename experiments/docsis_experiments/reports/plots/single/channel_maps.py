# SPDX-License-Identifier: Apache-2.0
"""Consecutive MAPs of upstream channels: who got which minislots, and where requests collided.

A row is a MAP, from left to right its time. On an OFDMA channel a frame's minislots are side by
side: there a row's height is the frame, and a grant may go on in the next frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from docsis_control.status.upstream import MapElement, UpstreamChannel, UpstreamMap
from docsis_experiments.reports.plots.look import COLLISION, GREY, OF_FLOWS, OTHER_FLOWS
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Runs

MOST_MAPS: Final = 6
MOST_CHANNELS: Final = 3

_CONTENTION: Final = "#EDEDED"
_BAND: Final = 0.76
"""Height of a row's band; between two of them is white."""
_LETTER_SHARE: Final = 0.0105
"""Width of a letter, as a part of a row's."""


@dataclass(frozen=True)
class _Panel:
    """A channel and the MAPs of it that are shown.

    Attributes:
        channel: The channel.
        maps: Consecutive ones.
        colours: Colours of the service flows with the most minislots in them, by SID.
    """

    channel: UpstreamChannel
    maps: Sequence[UpstreamMap]
    colours: Mapping[int, str]

    @property
    def longest_ms(self) -> float:
        """Length of the longest MAP."""
        return max(one.end_ns - one.start_ns for one in self.maps) / 1e6

    def name(self, sid: int) -> str:
        """A service flow's, for people."""
        flow = self.channel.flow(sid)
        if flow is None:
            return f"SID {sid}"
        name = flow.name.removesuffix(" upstream")
        # One without a class is called by its reference alone.
        return f"{flow.modem} {'flow ' if name.isdigit() else ''}{name}".strip()

    def colour(self, sid: int | None) -> str:
        """A service flow's."""
        return OTHER_FLOWS if sid is None else self.colours.get(sid, OTHER_FLOWS)


def _panels(runs: Runs) -> list[_Panel]:
    """The panels of the first run that has such channels."""
    for record in runs.records:
        seen = [channel for channel in record.channels if channel.last_maps]
        if seen:
            return [_panel(channel) for channel in seen[:MOST_CHANNELS]]
    return []


def _panel(channel: UpstreamChannel) -> _Panel:
    maps = shown(channel.last_maps)
    minislots: dict[int, int] = {}
    for one in maps:
        for element in one.elements:
            if element.sid is not None:
                minislots[element.sid] = minislots.get(element.sid, 0) + element.minislots
        for request in one.requests:
            minislots.setdefault(request.sid, 0)
    ranked = sorted(minislots, key=lambda sid: (-minislots[sid], sid))[: len(OF_FLOWS)]
    return _Panel(channel, maps, dict(zip(sorted(ranked), OF_FLOWS, strict=False)))


def shown(maps: Sequence[UpstreamMap], most: int = MOST_MAPS) -> Sequence[UpstreamMap]:
    """The consecutive MAPs that show the most: requests, collisions, and grants with a rest."""
    starts = range(max(1, len(maps) - most + 1))
    best = max(starts, key=lambda start: (sum(map(_told, maps[start : start + most])), -start))
    return maps[best : best + most]


def _told(one: UpstreamMap) -> int:
    grants = sum(element.usage == "grant" for element in one.elements)
    return grants + one.requests_sent + 4 * one.requests_collided + bool(one.wasted)


def _draw(runs: Runs) -> Figure:
    """A panel for each channel."""
    panels = _panels(runs)
    rows = [len(panel.maps) for panel in panels]
    figure = Figure(figsize=(10.0, 0.62 * sum(rows) + 1.9 * len(panels)), layout="constrained")
    every = figure.subplots(len(panels), 1, squeeze=False, height_ratios=[n + 2.2 for n in rows])
    for (axes,), panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel)
    return figure


def _draw_panel(axes: Any, panel: _Panel) -> None:
    channel, maps = panel.channel, panel.maps
    for row, one in enumerate(maps):
        bottom = len(maps) - 1 - row
        length = (one.end_ns - one.start_ns) / 1e6
        _box(axes, (0, bottom), (length, _BAND), facecolor="white", edgecolor=GREY, lw=0.8)
        for element in one.elements:
            _element(axes, panel, one, element, bottom)
        _requests(axes, panel, one, bottom)
    axes.set_xlim(-0.004 * panel.longest_ms, 1.004 * panel.longest_ms)
    axes.set_ylim(-0.2, len(maps))
    axes.set_yticks(
        [len(maps) - 1 - row + _BAND / 2 for row in range(len(maps))],
        [f"MAP {one.number}\nat {one.start_ns / 1e9:.4f} s" for one in maps],
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("Time within the MAP (ms)")
    axes.set_title(f"Upstream channel {channel.name}, {channel.profile}", pad=8)
    axes.legend(
        handles=list(_legend(panel)), loc="upper center",
        bbox_to_anchor=(0.5, -0.42 / len(maps) - 0.1), ncols=4, fontsize=9,
        handlelength=1.6, columnspacing=1.4,
    )  # fmt: skip


def _pieces(
    panel: _Panel, one: UpstreamMap, first: int, minislots: int
) -> Iterator[tuple[float, float, float, float]]:
    """Yields the pieces of a row that minislots take: left and width in ms, bottom and height.

    Args:
        panel: The channel.
        one: The MAP.
        first: First minislot, counted from the MAP's first.
        minislots: How many.
    """
    of_frame, frame_ms = panel.channel.minislots_per_frame, panel.channel.frame_ps / 1e9
    if of_frame == 1:
        if minislots > 0:
            yield first * frame_ms, minislots * frame_ms, 0.0, _BAND
        return
    at = one.first_minislot + first
    origin = one.first_minislot // of_frame
    while minislots > 0:
        frame, within = divmod(at, of_frame)
        part = min(minislots, of_frame - within)
        left = (frame - origin) * frame_ms
        yield left, frame_ms, within / of_frame * _BAND, part / of_frame * _BAND
        at, minislots = at + part, minislots - part


def _element(
    axes: Any, panel: _Panel, one: UpstreamMap, element: MapElement, bottom: float
) -> None:
    colour = panel.colour(element.sid)
    looks: dict[str, Any] = {
        "contention": {"facecolor": _CONTENTION, "edgecolor": GREY, "lw": 0.8},
        "maintenance": {"facecolor": "white", "edgecolor": GREY, "hatch": "....", "lw": 0.8},
        "poll": {"facecolor": "white", "edgecolor": colour, "lw": 1.2},
        "grant": {"facecolor": "white", "edgecolor": colour, "hatch": "/////", "lw": 0.8},
    }[element.usage]
    # What was used is full, and only the rest is hatched.
    full = 0 if element.burst is None else element.burst.minislots
    rest = _pieces(panel, one, element.first + full, element.minislots - full)
    for left, width, low, height in rest:
        _box(axes, (left, bottom + low), (width, height), **looks)
    used = list(_pieces(panel, one, element.first, full))
    for left, width, low, height in used:
        _box(
            axes, (left, bottom + low), (width, height), facecolor=colour, edgecolor="white", lw=0.5
        )
    if used and element.sid is not None:
        left, width, low, height = max(used, key=lambda piece: piece[1] * piece[3])
        words = panel.name(element.sid)
        room = len(words) * _LETTER_SHARE * panel.longest_ms
        if width > room and height > 0.3 * _BAND:
            axes.text(
                left + width / 2, bottom + low + height / 2, words, ha="center", va="center",
                fontsize=8.5, color="white", fontweight="bold",
            )  # fmt: skip


def _requests(axes: Any, panel: _Panel, one: UpstreamMap, bottom: float) -> None:
    """Dots of those that were heard, crosses where several met, with how many."""
    met: dict[int, int] = {}
    length = panel.channel.request_minislots
    for request in one.requests:
        if request.collided:
            met[request.first] = met.get(request.first, 0) + 1
            continue
        x, y = _middle(panel, one, request.first, length)
        axes.plot(
            x, bottom + y, marker="o", markersize=5.5, color=panel.colour(request.sid),
            markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
    for first, number in met.items():
        x, y = _middle(panel, one, first, length)
        axes.plot(x, bottom + y, marker="x", markersize=6.5, color=COLLISION, markeredgewidth=2)
        if number > 2:
            axes.annotate(
                str(number), (x, bottom + y), xytext=(0, 5), textcoords="offset points",
                ha="center", fontsize=8, color=COLLISION, fontweight="bold",
            )  # fmt: skip


def _middle(panel: _Panel, one: UpstreamMap, first: int, minislots: int) -> tuple[float, float]:
    left, width, low, height = next(_pieces(panel, one, first, minislots))
    return left + width / 2, low + height / 2


def _box(axes: Any, corner: tuple[float, float], size: tuple[float, float], **look: Any) -> None:
    axes.add_patch(Rectangle(corner, *size, **look))


def _legend(panel: _Panel) -> Iterator[Patch | Line2D]:
    """Yields legend entries for the elements that are there, and no others."""
    sids = {element.sid for one in panel.maps for element in one.elements}
    sids |= {request.sid for one in panel.maps for request in one.requests}
    for sid, colour in panel.colours.items():
        yield Patch(facecolor=colour, label=panel.name(sid))
    if sids - panel.colours.keys() - {None}:
        yield Patch(facecolor=OTHER_FLOWS, label="other service flows")
    usages = {element.usage for one in panel.maps for element in one.elements}
    if "contention" in usages:
        yield Patch(facecolor=_CONTENTION, edgecolor=GREY, label="contention")
    if "maintenance" in usages:
        yield Patch(facecolor="white", edgecolor=GREY, hatch="....", label="maintenance")
    if "poll" in usages:
        yield Patch(facecolor="white", edgecolor=GREY, lw=1.2, label="poll")
    if any(one.wasted for one in panel.maps):
        yield Patch(facecolor="white", edgecolor=GREY, hatch="/////", label="granted, not used")
    requests = [request for one in panel.maps for request in one.requests]
    if any(not request.collided for request in requests):
        yield Line2D([], [], marker="o", ls="", color=GREY, label="request, heard")
    if any(request.collided for request in requests):
        yield Line2D(
            [], [], marker="x", ls="", color=COLLISION, markeredgewidth=2, label="requests collide"
        )


PLOT: Final = Plot(
    place=45,
    file="channel-maps.png",
    title="One MAP after another",
    alt="Rows of consecutive MAPs, with the minislots of each service flow, contention regions, "
    "requests and collisions.",
    caption="Some consecutive MAPs of the measured time, those in which most happens of the ones "
    "that were looked at, of the first run. What was granted and carried something is full, what "
    "was wasted is hatched. Where the channel is OFDMA, a row's height is a frame's minislots.",
    applies=lambda runs: bool(_panels(runs)),
    draw=_draw,
)
