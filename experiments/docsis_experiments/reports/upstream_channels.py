# SPDX-License-Identifier: Apache-2.0
"""The counters of upstream channels over a run: in summary.json, and as rows of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from docsis_control.status.upstream import UpstreamChannel

Entry = Mapping[str, Any]
"""A part of summary.json."""


def figures(channel: UpstreamChannel) -> dict[str, Any]:
    """An entry of a run's `upstream_channels`."""
    return {
        "name": channel.name,
        "profile": channel.profile,
        "counters": dataclasses.asdict(channel.counters),
        "request_to_grant": dataclasses.asdict(channel.request_to_grant),
        "maps_late": dataclasses.asdict(channel.maps_late),
    }


def rows(summary: Entry) -> Iterator[dict[str, Any]]:
    """Yields a row for each run and channel, with its cells as they are written."""
    for run in summary["runs"]:
        for channel in run.get("upstream_channels", ()):
            counted, delay = channel["counters"], channel["request_to_grant"]
            yield {
                "run": run["name"],
                "channel": f"{channel['name']}, {channel['profile']}",
                "cells": [
                    str(counted["maps"]),
                    _percent(counted["opportunities_used"], counted["opportunities"]),
                    _percent(counted["opportunities_collided"], counted["opportunities"]),
                    str(counted["requests"]),
                    _percent(counted["requests_collided"], counted["requests"]),
                    str(counted["requests_polled"]),
                    str(counted["requests_piggybacked"]),
                    _percent(counted["minislots_granted"], counted["minislots"]),
                    _percent(counted["minislots_wasted"], counted["minislots_granted"]),
                    *(_ms(delay[key]) for key in ("p50_ms", "p90_ms", "p99_ms", "max_ms")),
                ],
            }


def lateness(summary: Entry) -> Iterator[str]:
    """A sentence for each run and channel in real time: how late its MAPs were made."""
    for run in summary["runs"]:
        for channel in run.get("upstream_channels", ()):
            late = channel["maps_late"]
            if late["count"]:
                yield (
                    f"{run['name']}: MAPs of {channel['name']} were made {_ms(late['p50_ms'])}, "
                    f"{_ms(late['p99_ms'])} and {_ms(late['max_ms'])} ms after their due time "
                    "(p50, p99, max), by the machine's clock; channels act at due times, so only "
                    "hosts hear of it."
                )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
