# SPDX-License-Identifier: Apache-2.0
"""The report of one run of each queue manager: published and measured values beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_control.queue_managers.names import Preset
from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metrics import induced_latency, latency, mos
from docsis_experiments.reports import service_flow_shares, upstream_channels
from docsis_experiments.reports.columns import MAIN, OTHERS, columns, told
from docsis_experiments.reports.finding import Reading, finding, told_group
from docsis_experiments.reports.page import Page, stage_words, time_values
from docsis_experiments.reports.plots import single
from docsis_experiments.reports.plots.look import STYLES, Style
from docsis_experiments.reports.ways import direction_of, other_way, told_way
from docsis_experiments.reports.words import band, begun, number

FIRST: Final = (*MAIN, induced_latency.METRIC)
"""Metrics of the first table of runs; the second one has the rest."""


def measured(entry: dict[str, Any]) -> str:
    """The measured value of an entry of `expectations`."""
    return "never" if entry["never"] else number(entry["measured"])


def _colours(summary: dict[str, Any]) -> list[str]:
    """The colour of each run, as in the figures; "" where they do not go by the queue manager."""
    looks = [_look(run) for run in summary["runs"]]
    if None in looks or len(set(looks)) < len(looks):
        return [""] * len(looks)
    return [look.colour for look in looks if look is not None]


def _look(run: dict[str, Any]) -> Style | None:
    return next((STYLES[preset] for preset in Preset if preset.label == run["manager"]), None)


def source_words(summary: dict[str, Any]) -> str:
    """Tells where published figures stand, with a full stop; "" where nothing is published."""
    source = summary["source"]
    if source is None:
        return ""
    places = [f"{name} {source[name]}" for name in ("section", "figure") if source[name]]
    return f"{', '.join([source['paper'], *places])}."


def found(summary: Mapping[str, Any]) -> str:
    """Tells what the valid runs show, in a sentence; "" where none is valid."""
    runs = [run for run in summary["runs"] if _valid(run)]
    groups = runs[0]["groups"] if runs else {}
    group = told_group({n: g for n, g in groups.items() if latency.METRIC.key in g})
    if group is None:
        return ""
    return finding(
        group,
        [
            Reading(run.get("name", run["label"]), median, _goodput(summary, run))
            for run in runs
            if (median := run["groups"][group][latency.METRIC.key]["p50"]) is not None
        ],
        f"goodput{told_way(summary)}",
    )


def broken(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of `expectations` must hold in every run, and does not."""
    return bool(entry.get("every_run")) and entry["holds"] is False


def held_always(summary: Mapping[str, Any]) -> str:
    """Whether what must hold in every run does in these, in a sentence; "" where nothing must."""
    entries = [entry for entry in summary["expectations"] if entry.get("every_run")]
    if not entries or any(entry["holds"] is None for entry in entries):
        return ""
    failed = [entry for entry in entries if broken(entry)]
    if not failed:
        told = " and ".join(dict.fromkeys(entry["what"] for entry in entries))
        return f"What must hold in every run holds, within the tolerance: {told}."
    return (
        "What must hold in every run does not: "
        + "; ".join(
            f"{entry['what']} is {measured(entry)}{entry['unit']} with {entry['run']}, and "
            f"{band(entry['allowed'])}{entry['unit']} is allowed"
            for entry in failed
        )
        + "."
    )


def approximate(summary: Mapping[str, Any]) -> str:
    """Tells in a sentence where the target deviates from DOCSIS; "" where it does not."""
    words = summary.get("approximations", ())
    return f"Approximate: {'; '.join(words)}." if words else ""


def directions(summary: Mapping[str, Any]) -> str:
    """The directions in which the runs' traffic went, in words."""
    each = (direction_of(summary, run) for run in summary["runs"])
    return " and ".join(dict.fromkeys(each))


def _streams(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Packets that load all service flows, each direction once."""
    plans = details.get("plans", {})
    return [
        stream
        for plan in plans.values()
        for load in plan["loads"].values()
        for stream in load["streams"]
    ]


def _valid(run: Mapping[str, Any]) -> bool:
    return not run.get("faults") and ("timing" not in run or run["timing"]["valid"])


def _goodput(summary: Mapping[str, Any], run: Mapping[str, Any]) -> float | None:
    """The goodput of all traffic that goes the run's way together, Mbit/s."""
    left_out = other_way(summary, run)
    rates = [
        group["goodput_mbps"]
        for name, group in run["groups"].items()
        if "goodput_mbps" in group and name not in left_out
    ]
    return sum(rates) if rates else None


def _plan(run: Mapping[str, Any], details: Mapping[str, Any]) -> Mapping[str, Any]:
    """The run's plan; older results have one plan for all runs."""
    plans = details.get("plans")
    plan: Mapping[str, Any] = details["plan"] if plans is None else plans[run["direction"]]
    return plan


def _flows(run: dict[str, Any], details: dict[str, Any]) -> list[dict[str, Any]]:
    """Flows whose goodput was measured, with what is known of each."""
    planned = _plan(run, details).get("flows", ())
    found = []
    for name, group in run["groups"].items():
        paths = [flow for flow in planned if flow["group"] == name]
        counts = group.get("flow_retransmissions")
        for at, mbps in enumerate(group.get("flow_goodput_mbps", ())):
            flow = paths[at] if at < len(paths) else None
            found.append(
                {
                    "name": flow["flow"]["name"] if flow else f"{name}-{at + 1}",
                    "path": f"{flow['source']} to {flow['destination']}" if flow else "",
                    "mbps": mbps,
                    "retransmissions": counts[at] if counts else "-",
                }
            )
    return found


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    groups = [group for run in summary["runs"] for group in run["groups"].values()]
    names = {run["label"]: run.get("name", run["label"]) for run in summary["runs"]}
    opening = [held_always(summary), found(summary), service_flow_shares.found(summary)]
    return {
        "title": f"{summary['title']}: {summary['topology']}, {tier}"
        if (tier := summary.get("tier"))
        else summary["title"],
        "subtitle": f"{begun(details)}, {summary['target']} switch"
        f"{' (approximate)' if summary.get('approximations') else ''}, {summary['topology']}, "
        f"{directions(summary)}{stage_words(summary)}",
        "opening": [words for words in opening if words],
        "bad_news": any(broken(entry) for entry in summary["expectations"]),
        "loaded": list(service_flow_shares.loaded(summary)),
        "streams": _streams(details),
        "channels": list(upstream_channels.rows(summary)),
        "channels_late": list(upstream_channels.lateness(summary)),
        "one_in": _plan(summary["runs"][0], details)["one_in"],
        "source": source_words(summary),
        "names": names,
        "number": number,
        "band": band,
        "measured": measured,
        "colours": _colours(summary),
        "first": told(FIRST, groups),
        "more": told([metric for metric in OTHERS if metric not in FIRST], groups),
        "columns": columns,
        "calls": any(mos.METRIC.key in group for group in groups),
        "induced": any(induced_latency.METRIC.key in group for group in groups),
        "flows": [(run, _flows(run, details)) for run in summary["runs"]],
        "jitter_buffer_ms": voice.JITTER_BUFFER_MS,
        "hashed": all("hash" in entry for entry in summary["expectations"]),
        "held": sum(entry["holds"] is True for entry in summary["expectations"]),
        "faults": [
            f"{names[run['label']]}: {fault}"
            for run in summary["runs"]
            for fault in run.get("faults", ())
        ],
        **time_values(summary, "Run", [(names[run["label"]], run) for run in summary["runs"]]),
    }


PAGE: Final = Page("single.html.j2", _values, single)
