# SPDX-License-Identifier: Apache-2.0
"""Summary, raw samples, plots and report of a run made up of known figures."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from time_samples import IN_TIME, JUMPED, LATE, SILENT, TIMERS

from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.loader import load_topology
from docsis_control.topology.services import primary_service_flow
from docsis_experiments.demo import job as demo
from docsis_experiments.demo.plan import Measurement, plan_for, ramp_up_seconds
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.reports import document, raw, report, summary
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.stages.mininet import latency as experiment
from docsis_experiments.stages.mininet import stage as mininet_stage
from docsis_experiments.stages.mininet import timers
from docsis_experiments.stages.mininet.goodput import GoodputSeries
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_experiments.stages.mininet.traffic.iperf3 import UploadResult
from docsis_experiments.stages.mininet.traffic.irtt import Probes
from docsis_testbed import preflight
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import TOPOLOGIES
from docsis_testbed.window import Window

SECOND = 10**9
T0 = 1_800_000_000 * SECOND
"""Start of the idle baseline, wall clock."""

STATS = {
    "updates": 100,
    "missed": 1,
    "lateness_ms": {"p50": 0.1, "p99": 0.9, "max": 1.5},
    "cycle_ms": {"p50": 1.0, "p99": 2.0, "max": 3.0},
    "reconnects": 0,
}


def measurement(
    folder: Path, aqm: Preset, loaded_ms: float, timing: Timing = IN_TIME
) -> Measurement:
    """5 s idle at 0.5 ms, 5 s of ramp-up, 10 s at `loaded_ms` with every 50th probe lost."""
    sent = T0 + np.arange(0, 20 * SECOND, SECOND // 50, dtype=np.int64)
    delay = np.where(sent < T0 + 5 * SECOND, 0.5, loaded_ms)
    arrived = np.ones(sent.size, dtype=np.bool_)
    lost = (np.arange(sent.size) % 50 == 7) & (sent >= T0 + 10 * SECOND)
    arrived[lost], delay[lost] = False, np.nan
    times = T0 + np.arange(0, 21 * SECOND, SECOND // 10, dtype=np.int64)
    control = folder / "controller"
    control.mkdir(parents=True)
    (control / "stats.json").write_text(json.dumps(STATS))
    (control / "samples-cm1.csv").write_text(
        "monotonic_s,switch_time_us,service_flow,backlog_bytes,msr_tokens_bytes,qdelay_ms,"
        "drop_prob,burst_allowance_ms,state\n"
        "100.000000,1,1,1000,5.0,12.5,0.010000000,0.0,ACTIVE\n"
        "100.000000,1,2,9999,5.0,99.9,0.990000000,0.0,ACTIVE\n"
        "100.016000,1,1,1000,5.0,13.5,0.020000000,0.0,ACTIVE\n"
    )
    return Measurement(
        aqm=aqm,
        idle=Window(T0, T0 + 5 * SECOND),
        loaded=Window(T0 + 10 * SECOND, T0 + 20 * SECOND),
        probes=Probes(sent, delay, arrived, sent.size - 1),
        goodput=GoodputSeries(times, (times - T0) // 1000 * 2),
        uploads={"cpe1-server1-5201": UploadResult(10**6, 10.0, 3, "cubic")},
        counters={"sf_drop_aqm": 12, "sf_drop_buffer_full": 34},
        timing=timing,
        folder=folder,
        monotonic_offset_ns=T0 + 11 * SECOND - 100 * SECOND,
    )


def finished(
    tmp_path: Path,
    timing: Timing = IN_TIME,
    late: dict[str, Any] = TIMERS,
    marks: dict[str, Any] | None = None,
) -> Path:
    """The folder of a finished run of two queue managers."""
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    folder = run_folder.create(topology, tmp_path)
    write_topology(topology, folder / "inputs" / "topology.yaml")
    measurements = [
        measurement(folder / "runs" / aqm.value, aqm, delay, timing)
        for aqm, delay in ((Preset.DROP_TAIL_250MS, 221.0), (Preset.DOCSIS_PIE, 11.0))
    ]
    figures = summary.summarise(
        measurements,
        target="embedded",
        topology="residential",
        tier="cable-20",
        versions={},
        timers=late,
        marks=marks,
    )
    demo.write_results(folder, topology, plan_for(topology), measurements, figures)
    return run_folder.finish(folder)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a finished run of two queue managers, in time."""
    return finished(tmp_path)


@contextmanager
def pretended_run(_command: str) -> Iterator[object]:
    yield object()


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, TestbedError])
def test_a_run_that_does_not_finish_is_called_partial(
    end: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("check_root", "check_all"):
        monkeypatch.setattr(preflight, name, lambda *_: None)
    monkeypatch.setattr(mininet_stage, "recorded_run", pretended_run)
    monkeypatch.setattr(timers, "measured", lambda: TIMERS)
    second: list[Path] = []

    def measure(*_: object, folder: Path, **__: object) -> Measurement:
        if second:
            raise end("in the second run")
        second.append(folder)
        return measurement(folder, Preset.DROP_TAIL_250MS, 221.0)

    monkeypatch.setattr(experiment, "measure", measure)
    said = io.StringIO()
    with pytest.raises(end):
        demo.run(
            load_topology(TOPOLOGIES / "residential.yaml"),
            stage=MininetStage("embedded"),
            aqms=[Preset.DROP_TAIL_250MS, Preset.DOCSIS_PIE],
            measured_seconds=10,
            console=Console(file=said),
            results=tmp_path,
        )
    [folder] = tmp_path.iterdir()
    assert folder.name.endswith("-residential.partial")
    assert f"not complete; what there is of it: {folder}" in said.getvalue()
    # What messages said of it is still there.
    assert second == [folder / "runs" / "drop-tail-250ms"]
    assert (second[0] / "controller" / "stats.json").exists()
    assert not (folder / "report.html").exists()


def test_a_finished_run_has_its_name(run: Path) -> None:
    assert run.name.endswith("-residential")
    assert [path.name for path in run.parent.iterdir()] == [run.name]
    # Nobody has taken its place meanwhile.
    (run.parent / f"{run.name}{run_folder.PARTIAL}").mkdir()
    with pytest.raises(TestbedError, match="cannot be renamed"):
        run_folder.finish(run.parent / f"{run.name}{run_folder.PARTIAL}")


def test_summary_has_the_figures_of_the_measured_time(run: Path) -> None:
    figures = json.loads((run / "summary.json").read_text())
    pie = figures["runs"][1]
    assert pie["aqm"] == "docsis-pie"
    assert pie["upstream"]["latency_ms"] == {"p50": 11.0, "p90": 11.0, "p99": 11.0, "max": 11.0}
    assert pie["upstream"]["induced_latency_ms"] == {"p50": 10.5, "p90": 10.5, "p99": 10.5}
    assert pie["upstream"]["goodput_mbps"] == pytest.approx(16.0)
    assert pie["upstream"]["loss_ratio"] == pytest.approx(0.02)
    assert (pie["aqm_drops"], pie["tail_drops"]) == (12, 34)
    assert pie["controller"] == {
        "updates": 100,
        "missed": 1,
        "lateness_ms": {"p50": 0.1, "p99": 0.9, "max": 1.5},
    }


def test_schema_allows_exactly_the_documented_keys(run: Path) -> None:
    figures: dict[str, Any] = json.loads((run / "summary.json").read_text())
    document.validate(figures)
    changes: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda f: f.update(extra=1),
        lambda f: f.pop("tier"),
        lambda f: f["runs"][0].update(aqm="fq-pie"),
        lambda f: f["runs"][0]["upstream"].pop("mos"),
        lambda f: f["runs"][0]["upstream"]["latency_ms"].pop("max"),
        lambda f: f["runs"][0]["upstream"].update(loss_ratio=1.5),
        lambda f: f["runs"][0]["controller"]["lateness_ms"].update(p90=1),
        lambda f: f["runs"][0].update(tail_drops=1.5),
    )
    for change in changes:
        broken = copy.deepcopy(figures)
        change(broken)
        with pytest.raises(TestbedError, match=r"summary\.json: "):
            document.validate(broken)


def test_raw_samples_are_on_one_time_axis(run: Path) -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    data = raw.series(
        measurement(run / "again", Preset.DOCSIS_PIE, 11.0), topology.cable_modem.name, 1
    )
    # The controller's first sample was a second after the measured time began.
    np.testing.assert_allclose(data.control_s, [1.0, 1.016])
    np.testing.assert_allclose(data.qdelay_ms, [12.5, 13.5])
    assert data.probe_s[0] == -10.0
    with (run / "runs" / "docsis-pie" / "latency.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"time_s": "-10", "one_way_delay_ms": "0.5"}
    # A lost probe has no delay.
    assert rows[507]["one_way_delay_ms"] == ""


def test_lost_replies_are_no_loss(tmp_path: Path) -> None:
    made = measurement(tmp_path, Preset.DOCSIS_PIE, 11.0)
    whole = summary.run_figures(made)["upstream"]
    delay = made.probes.delay_ms.copy()
    delay[600:700] = np.nan
    replies_lost = replace(made, probes=replace(made.probes, delay_ms=delay))
    figures = summary.run_figures(replies_lost)["upstream"]
    assert figures["mos"] == pytest.approx(whole["mos"], abs=0.02)
    assert figures["loss_ratio"] == whole["loss_ratio"]
    assert figures["undetermined"] == 0


@pytest.mark.parametrize(("timing", "row"), [(LATE, "2.31"), (JUMPED, "NO"), (SILENT, "-")])
def test_lateness_is_told(tmp_path: Path, timing: Timing, row: str) -> None:
    folder = finished(tmp_path, timing)
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["timers"] == TIMERS
    assert figures["valid"] is timing.valid
    assert figures["no_verdict"] == [
        f"{aqm}: {timing.words}" for aqm in ("drop-tail-250ms", "docsis-pie")
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(demo.table(figures))
    lines = console.export_text(clear=False).splitlines()
    assert any(row in line.split() for line in lines if "late" in line or "valid" in line)
    console.print(demo.timing_words(figures), soft_wrap=True)
    text = console.export_text()
    assert timing.words in text
    assert "0.08 / 0.12 ms under SCHED_RR" in text
    page = (folder / "report.html").read_text()
    assert timing.words in page
    assert ("not valid</strong>" in page) is not timing.valid


def test_where_nothing_can_be_late_the_reason_is_told(tmp_path: Path) -> None:
    why = "time is virtual"
    marks = {"stage": "virtual", "seed": 2**64 - 1}
    folder = finished(tmp_path, Timing({}, why), {"absent": why}, marks)
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["valid"] is True
    assert figures["no_verdict"] == []
    assert figures["runs"][0]["timing"]["absent"] == why
    assert (figures["stage"], figures["seed"]) == ("virtual", 2**64 - 1)
    assert str(demo.timing_words(figures)) == "Time is virtual."
    page = (folder / "report.html").read_text()
    assert "Time is virtual." in page
    assert "Late by, ms" not in page
    assert f"virtual time, seed {2**64 - 1}" in page
    assert f"--target embedded --virtual --seed {2**64 - 1}</code>" in page
    wrong: tuple[dict[str, Any], ...] = (
        {"seed": 2**64},
        {"stage": "bmv2"},
        {"timers": {"absent": why, **TIMERS}},
        {"timers": {}},
    )
    for change in wrong:
        with pytest.raises(TestbedError, match=r"summary\.json: "):
            document.validate({**figures, **change})


def test_demo_whose_time_jumped_ends_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("check_root", "check_all"):
        monkeypatch.setattr(preflight, name, lambda *_: None)
    monkeypatch.setattr(mininet_stage, "recorded_run", pretended_run)
    monkeypatch.setattr(timers, "measured", lambda: TIMERS)

    def measure(*_: object, folder: Path, **__: object) -> Measurement:
        return measurement(folder, Preset.DOCSIS_PIE, 11.0, JUMPED)

    monkeypatch.setattr(experiment, "measure", measure)
    with pytest.raises(NoVerdict, match="time jumped 2 times in cm1") as raised:
        demo.run(
            load_topology(TOPOLOGIES / "residential.yaml"),
            stage=MininetStage("embedded"),
            aqms=[Preset.DOCSIS_PIE],
            measured_seconds=10,
            console=Console(file=io.StringIO()),
            results=tmp_path,
        )
    assert raised.value.exit_status == 3
    # The results are there, and whole.
    [folder] = tmp_path.iterdir()
    assert folder.name.endswith("-residential")


def test_report_of_an_older_run_has_no_time(run: Path) -> None:
    figures = json.loads((run / "summary.json").read_text())
    for part in (figures, *figures["runs"]):
        for key in ("timers", "valid", "no_verdict", "timing"):
            part.pop(key, None)
    (run / "summary.json").write_text(json.dumps(figures))
    page = report.write(run).read_text()
    assert "<h2>Time</h2>" not in page
    assert "221.0" in page


def test_report_opens_offline(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    for reference in ("http://", "https://", 'src="plots', "<script", "@import"):
        assert reference not in page
    assert "DOCSIS-PIE" in page
    assert "221.0" in page


def test_report_can_be_written_again(run: Path) -> None:
    (run / "report.html").unlink()
    assert report.write(run).is_file()
    (run / "details.json").unlink()
    with pytest.raises(TestbedError, match=r"details\.json: is missing"):
        report.write(run)


def test_resolved_topology_can_be_run_again(run: Path) -> None:
    again = load_topology(run / "inputs" / "topology.yaml")
    assert again == load_topology(TOPOLOGIES / "residential.yaml")


def test_table_fits_a_terminal(run: Path) -> None:
    figures = json.loads((run / "summary.json").read_text())
    console = Console(width=80, record=True, file=(run / "out.txt").open("w"))
    console.print(demo.table(figures))
    text = console.export_text()
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "221.0" in text


@pytest.mark.parametrize(
    ("tier", "at_least", "at_most"), [("cable-20", 8, 10), ("cable-2018", 20, 22)]
)
def test_ramp_up_outlasts_the_burst_and_cubics_recovery(
    tier: str, at_least: float, at_most: float
) -> None:
    flow = primary_service_flow(load_topology(TOPOLOGIES / "residential.yaml", tier))
    assert at_least <= ramp_up_seconds(flow, 0, 4, 0.1) <= at_most


def test_plan_is_two_uploads_to_each_server_within_the_time() -> None:
    plan = plan_for(load_topology(TOPOLOGIES / "residential.yaml", "cable-2018"))
    assert sorted(upload.destination for upload in plan.uploads) == [
        "server1", "server1", "server2", "server2",
    ]  # fmt: skip
    assert len({upload.port for upload in plan.uploads}) == 4
    assert (plan.prober, plan.probed) == ("cpe1", "server1")
    assert plan.measured_seconds >= 20
    # Three runs, building and the report within four minutes.
    assert 3 * (plan.seconds + 6) + 20 < 240
