# SPDX-License-Identifier: Apache-2.0
"""Modules that declare something, and what metrics declare of themselves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.declared import declared
from docsis_experiments.measurement.metrics import METRICS, limits_of, metric_of
from docsis_experiments.measurement.record import Packets
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.traffic.kinds import KINDS, kinds_that_leave


def package(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> str:
    """The name of a package that has these modules, and is forgotten after the test."""
    name = f"declares_{folder.name}".replace("-", "_")
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    for module, text in modules.items():
        (folder / name / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return name


def test_all_modules_are_found_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = package(tmp_path, monkeypatch, b="THING = 2", a="THING = 1\nOTHER = 3")
    assert list(declared(name, [str(tmp_path / name)], "THING")) == [1, 2]


def test_a_module_that_declares_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = package(tmp_path, monkeypatch, a="THING = 1", b="THINGS = 2")
    with pytest.raises(TypeError, match=rf"{name}\.b: has no THING, which every module"):
        list(declared(name, [str(tmp_path / name)], "THING"))


def test_metrics_are_known_by_their_values() -> None:
    assert metric_of("latency p90") is METRICS["latency"]
    assert metric_of("packets") is None
    assert limits_of("fairness") == METRICS["fairness"].limits
    assert limits_of("packets").high == math.inf
    assert METRICS["latency"].shown == ("latency p50", "latency p90", "latency p99")
    assert METRICS["goodput"].shown == ("goodput",)
    assert {name: METRICS[name].key for name in ("induced-latency", "loss", "mos")} == {
        "induced-latency": "induced_latency_ms", "loss": "loss_percent", "mos": "mos",
    }  # fmt: skip


def test_kinds_are_told_of_what_their_senders_leave() -> None:
    assert kinds_that_leave(Trace.CALL) == "voip"
    assert kinds_that_leave(Trace.RETRANSMISSIONS) == "downloads or game or ledbat or transfer"
    assert all(Trace.PACKETS in KINDS[name].leaves() for name in ("burst", "cbr", "voip"))
    assert Trace.GOODPUT not in KINDS["voip"].leaves()


DELAYS = st.one_of(st.floats(0, 5_000), st.just(math.nan), st.just(math.inf))


@given(
    delays=st.lists(DELAYS, max_size=60),
    rates=st.lists(st.floats(0, 1_000), min_size=1, max_size=5),
    counts=st.lists(st.integers(0, 10**6), min_size=1, max_size=5),
)
def test_values_keep_to_the_limits_of_their_metric(
    delays: list[float], rates: list[float], counts: list[int]
) -> None:
    packets = Packets(np.linspace(-1.0, 9.0, len(delays)), np.array(delays))
    run = scenario_files.record(
        "any", 1,
        packets=dict.fromkeys(("call", "ftp", "game", "steady"), packets),
        received={"ftp": scenario_files.received({f"f{n}": r for n, r in enumerate(rates)})},
        retransmitted={"ftp": {f"f{n}": count for n, count in enumerate(counts)}},
        idle=(-2.0, 0.0),
    )  # fmt: skip
    told = set()
    for metric in METRICS.values():
        for group in run.packets:
            if metric.told(run, group):
                told.add(metric.name)
                for name, value in metric.values(run, group):
                    limits = limits_of(name)
                    inside = limits.low - 1e-9 <= value <= limits.high + 1e-9
                    assert math.isnan(value) or inside, (name, value)
    assert told >= {"latency", "induced-latency", "loss", "mos", "fairness", "retransmissions"}
    assert "recovery" not in told
