# SPDX-License-Identifier: Apache-2.0
"""The documentation's table of current figures, made of what `docsis-p4 bench --all` measured.

    python -m docsis_experiments.bench.page FIGURES.json docs/performance.md

writes the page's table anew and keeps the figures beside it, in docs/performance.json, with the
picture of the switches in docs/images/bench.png. `make performance` does so after measuring.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from docsis_experiments.bench.everything import PICTURE

_TABLE: Final = re.compile(r"(<!-- table: current-figures -->\n\n)(.*?)(\n<!-- end -->)", re.DOTALL)

_Row = tuple[str, str, str, str]
"""Measurement, unit, figure and goal."""


def table(figures: Mapping[str, Any]) -> str:
    """The table and, below it, where and when its figures were measured.

    Args:
        figures: The content of what `everything.run` wrote.
    """
    rows: list[Sequence[str]] = [("measurement", "unit", "figure", "goal"), ("---",) * 4]
    for part in (_demo, _packets, _forwarding, _registers, _loop, _virtual):
        rows += part(figures)
    lines = "".join("| " + " | ".join(cells) + " |\n" for cells in rows)
    return f"{lines}\n{_source(figures)}\n"


def with_table(page: str, figures: Mapping[str, Any]) -> str:
    """A page's text with these figures.

    Raises:
        ValueError: The page has no place for them.
    """
    text, count = _TABLE.subn(lambda match: match[1] + table(figures) + match[3], page)
    if count != 1:
        raise ValueError("the page has no table of current figures, or several")
    return text


def _head(words: str) -> _Row:
    return (f"**{words}**", "", "", "")


def _demo(figures: Mapping[str, Any]) -> Iterator[_Row]:
    words = {
        "cable-20": ("The demo in Mininet, 20/25 Mbit/s", "15 / 25 / 40", 0.98, ""),
        "cable-2018": ("The same at 200/250 Mbit/s", "16 / 30 / -", 0.0, "180"),
    }
    for tier, (title, goal, share, least) in words.items():
        found = figures["demo"][tier]
        full, managed = found["drop-tail-250ms"], found["docsis-pie"]
        yield _head(title)
        yield "latency under DOCSIS-PIE, p50 / p90 / p99", "ms", _latency(managed), goal
        yield "latency under drop tail of 250 ms, p50 / p90 / p99", "ms", _latency(full), ""
        yield (
            "goodput under DOCSIS-PIE",
            "Mbit/s",
            f"{managed['goodput_mbps']:.1f}",
            f"{share * full['goodput_mbps']:.1f}, 98% of drop tail's" if share else least,
        )
        yield "goodput under drop tail", "Mbit/s", f"{full['goodput_mbps']:.1f}", ""


def _latency(managed: Mapping[str, Any]) -> str:
    return " / ".join(_three(managed["latency_ms"][part]) for part in ("p50", "p90", "p99"))


def _packets(figures: Mapping[str, Any]) -> Iterator[_Row]:
    programs = figures["bench"]["programs"]["results"]
    yield _head("A packet in the switch, 64 / 1514 bytes")
    goals = {"l2": "250", "cm": "600"}
    for name in dict.fromkeys(row["program"] for row in programs):
        ns = {r["frame_bytes"]: r["ns_per_packet"] for r in programs if r["program"] == name}
        yield f"{name}.p4", "ns", f"{ns[64]:.0f} / {ns[1514]:.0f}", goals.get(name, "")


def _forwarding(figures: Mapping[str, Any]) -> Iterator[_Row]:
    measured = figures["bench"]["forwarding"]
    ours, bare = measured["docsis-switch"], measured["forwarder"]
    yield _head("Between two veth pairs, cm.p4")
    yield "TCP", "Mbit/s", f"{ours['tcp_mbps']:.0f}", ""
    yield "TCP, ratio to a bare forwarder", "", f"{ours['tcp_mbps'] / bare['tcp_mbps']:.2f}", "0.75"
    # The keys of a mapping in JSON are text.
    for size in ("64", "200"):
        yield f"UDP of {size} bytes", "kpps", f"{ours['udp_kpps'][size]:.1f}", ""
    if (other := measured.get("simple_switch_grpc")) is not None:
        ratio = ours["udp_kpps"]["64"] / other["udp_kpps"]["64"]
        yield "UDP of 64 bytes, ratio to BMv2", "", f"{ratio:.0f}", "8"
    delay = ours["latency_us"]
    words = "one-way delay under light load, p50 / p99"
    yield words, "us", f"{delay['p50']:.0f} / {delay['p99']:.0f}", "- / 300"
    yield "memory", "MB", f"{ours['memory_mb']:.1f}", "30"


def _registers(figures: Mapping[str, Any]) -> Iterator[_Row]:
    control = figures["bench"]["control"]
    yield _head(f"P4Runtime with {control['service_flows']:,} service flows")
    for key, words in (("write", "write all registers of the loop"), ("read", "read them")):
        row = control[key]
        yield f"{words}, p50 / p99", "ms", f"{row['p50_ms']:.1f} / {row['p99_ms']:.1f}", "- / 4"


def _loop(figures: Mapping[str, Any]) -> Iterator[_Row]:
    found = figures["loop"]
    yield _head("The control loops of 64 modems")
    updates = missed = 0
    for one in found["loops"].values():
        updates, missed = updates + one["updates"], missed + one["missed"]
        cycle = one["cycle_ms"]
        words = f"cycle with {one['service_flows']} service flows, p50 / p99"
        yield words, "ms", f"{cycle['p50']:.2f} / {cycle['p99']:.2f}", "- / 16"
    goal = f"below {math.ceil(0.01 * (updates + missed)):,}, 1%"
    yield f"updates missed, of {updates + missed:,}", "", f"{missed}", goal
    times = found["in_force_ms"]
    late = times[math.ceil(0.9 * len(times)) - 1]
    yield "time until a new service flow is in force, p90", "ms", f"{late:.1f}", "16"


def _virtual(figures: Mapping[str, Any]) -> Iterator[_Row]:
    cases = {one["case"]: one for one in figures["virtual"]}
    seconds = figures["virtual"][0]["virtual_seconds"]
    yield _head(f"Virtual time, {seconds:.0f} s of it; processor time")
    words = {
        "cable-20": ("one modem at 20/25 Mbit/s", ""),
        "cable-2018": ("one modem at 200/250 Mbit/s", "8"),
        "64-modems": ("64 modems with 512 busy service flows", f"{seconds / 3:.1f}"),
        "500-modems": ("500 modems, a page of 100 KB every 10 s each", "5"),
    }
    for case, (what, goal) in words.items():
        yield what, "s", f"{cases[case]['cpu_seconds']:.1f}", goal
    yield "the same, memory", "MB", f"{cases['500-modems']['peak_mb']:.0f}", "300"


def _source(figures: Mapping[str, Any]) -> str:
    machine, source = figures["machine"], figures["versions"]["source"]
    return (
        f"One sitting on {figures['date']}, source {source}: `docsis-p4 bench --all`, on a machine "
        f"with {machine['cpus']} processors ({machine['processor']}, Linux {machine['kernel']}), "
        f"load average {machine['load_average']:.1f} at the start. Figures of the demo and between "
        f"veth pairs are medians of {figures['repetitions']} runs. A figure belongs to its "
        "machine; ratios travel."
    )


def _three(value: float) -> str:
    """A value with three digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def main(argv: Sequence[str]) -> int:
    """Writes the page; see the module.

    Returns:
        The exit code.
    """
    file, page = (Path(word) for word in argv)
    figures = json.loads(file.read_text())
    page.write_text(with_table(page.read_text(), figures))
    kept = page.with_suffix(".json")
    if file.absolute() != kept.absolute():
        shutil.copyfile(file, kept)
        shutil.copyfile(file.parent / PICTURE, page.parent / "images" / "bench.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
