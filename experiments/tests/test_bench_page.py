# SPDX-License-Identifier: Apache-2.0
"""The documentation's table of current figures is what one sitting measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docsis_control.status.health import Health, LoopHealth
from docsis_control.status.model import Quantiles
from docsis_experiments.bench import page
from docsis_experiments.bench.control_loop import loops
from docsis_experiments.bench.everything import of_summary
from docsis_testbed.paths import ROOT

PAGE = "# Speed\n\n<!-- table: current-figures -->\n\nold\n\n<!-- end -->\n\nMore.\n"


def _demo(latency: float, goodput: float) -> dict[str, Any]:
    return {
        "runs": 3,
        "latency_ms": {"p50": latency, "p90": 2 * latency, "p99": 3 * latency},
        "goodput_mbps": goodput,
    }


def _figures() -> dict[str, Any]:
    managers = {"drop-tail-250ms": _demo(100.0, 20.0), "docsis-pie": _demo(10.0, 19.9)}
    switch = {
        "tcp_mbps": 1500.0,
        "udp_kpps": {"64": 200.0, "200": 180.0},
        "latency_us": {"p50": 90.0, "p99": 250.0, "most": 400.0},
        "memory_mb": 20.5,
    }
    times = {"p50_ms": 1.0, "p99_ms": 2.0, "most_ms": 3.0}
    return {
        "date": "2026-11-25",
        "versions": {"source": "abc1234"},
        "machine": {"cpus": 2, "processor": "A Processor", "kernel": "6.18", "load_average": 0.1},
        "repetitions": 3,
        "demo": {"cable-20": managers, "cable-2018": managers},
        "bench": {
            "programs": {
                "results": [
                    {"program": "l2", "frame_bytes": size, "ns_per_packet": 100.0 + size}
                    for size in (64, 1514)
                ]
            },
            "forwarding": {
                "forwarder": {**switch, "tcp_mbps": 2000.0},
                "docsis-switch": switch,
            },
            "control": {"service_flows": 4096, "write": times, "read": times},
        },
        "loop": {
            "loops": {
                "cm1": {
                    "service_flows": 256,
                    "updates": 5000,
                    "missed": 3,
                    "cycle_ms": {"p50": 1.5, "p99": 2.5},
                }
            },
            "in_force_ms": [float(number) for number in range(1, 41)],
        },
        "virtual": [
            {"case": case, "virtual_seconds": 100.0, "cpu_seconds": 2.0, "peak_mb": 240.0}
            for case in ("cable-20", "cable-2018", "64-modems", "500-modems")
        ],
    }


def test_each_figure_is_in_the_table_with_its_unit_and_goal() -> None:
    lines = page.table(_figures()).splitlines()
    assert (
        "| latency under DOCSIS-PIE, p50 / p90 / p99 | ms | 10.0 / 20.0 / 30.0 | 15 / 25 / 40 |"
        in lines
    )
    assert (
        "| latency under drop tail of 250 ms, p50 / p90 / p99 | ms | 100 / 200 / 300 |  |" in lines
    )
    assert "| goodput under DOCSIS-PIE | Mbit/s | 19.9 | 19.6, 98% of drop tail's |" in lines
    assert "| goodput under DOCSIS-PIE | Mbit/s | 19.9 | 180 |" in lines
    assert "| l2.p4 | ns | 164 / 1614 | 250 |" in lines
    assert "| TCP, ratio to a bare forwarder |  | 0.75 | 0.75 |" in lines
    assert "| write all registers of the loop, p50 / p99 | ms | 1.0 / 2.0 | - / 4 |" in lines
    assert "| updates missed, of 5,003 |  | 3 | below 51, 1% |" in lines
    # 36 of 40 are in force by then.
    assert "| time until a new service flow is in force, p90 | ms | 36.0 | 16 |" in lines
    assert "| 64 modems with 512 busy service flows | s | 2.0 | 33.3 |" in lines
    assert "2026-11-25, source abc1234" in lines[-1]


def test_bmv2_has_a_row_where_it_was_measured() -> None:
    figures = _figures()
    assert "BMv2" not in page.table(figures)
    figures["bench"]["forwarding"]["simple_switch_grpc"] = {"udp_kpps": {"64": 8.0, "200": 8.0}}
    assert "| UDP of 64 bytes, ratio to BMv2 |  | 25 | 8 |" in page.table(figures).splitlines()


def test_the_page_gets_the_table_and_keeps_the_rest(tmp_path: Path) -> None:
    run, docs = tmp_path / "run", tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    run.mkdir()
    (run / "figures.json").write_text(json.dumps(_figures()))
    (run / "switch.png").write_bytes(b"a picture")
    (docs / "performance.md").write_text(PAGE)
    assert page.main([str(run / "figures.json"), str(docs / "performance.md")]) == 0
    text = (docs / "performance.md").read_text()
    assert text.startswith("# Speed\n")
    assert text.endswith("\nMore.\n")
    assert page.table(_figures()) in text
    assert "old" not in text
    assert json.loads((docs / "performance.json").read_text()) == _figures()
    assert (docs / "images" / "bench.png").read_bytes() == b"a picture"
    # From what is kept the same page is made.
    assert page.main([str(docs / "performance.json"), str(docs / "performance.md")]) == 0
    assert (docs / "performance.md").read_text() == text


def test_the_documentation_has_the_figures_of_the_last_sitting() -> None:
    figures = json.loads((ROOT / "docs" / "performance.json").read_text())
    shipped = (ROOT / "docs" / "performance.md").read_text()
    assert page.with_table(shipped, figures) == shipped


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table of current figures"):
        page.with_table("# Speed\n", _figures())


def test_loops_are_told_by_what_happened_between_two_looks() -> None:
    def health(cycles: int, missed: int) -> Health:
        times = Quantiles(p50=1.0, p99=2.0, max=3.0)
        loop = LoopHealth(
            device="cm1",
            looped=True,
            cycles=cycles,
            missed=missed,
            reconnects=0,
            lateness_ms=times,
            cycle_ms=times,
        )
        return Health(pid=1, uptime_s=1.0, revision=0, loops=(loop,))

    [found] = loops({"cm1": 256}, health(10, 1), health(5010, 3)).values()
    assert (found["updates"], found["missed"]) == (5000, 2)
    assert found["service_flows"] == 256
    assert found["cycle_ms"] == {"p50": 1.0, "p99": 2.0}


def test_the_demos_figures_are_medians_over_the_runs_that_count() -> None:
    values = {f"latency {part}": {"median": 10.0} for part in ("p50", "p90", "p99")}
    summary = {
        "runs": [
            {
                "label": "docsis-pie",
                "counted": [1, 3],
                "groups": {
                    "game": {"values": values},
                    "uploads": {"values": {"goodput": {"median": 19.0}}},
                },
            }
        ]
    }
    assert of_summary(summary) == {
        "docsis-pie": {
            "runs": 2,
            "latency_ms": {"p50": 10.0, "p90": 10.0, "p99": 10.0},
            "goodput_mbps": 19.0,
        }
    }
