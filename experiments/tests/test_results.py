# SPDX-License-Identifier: Apache-2.0
"""The demo as an experiment: its plan, and what a run leaves whose figures are known."""

from __future__ import annotations

import copy
import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario_files
from jsonschema import Draft202012Validator
from pictures import without_pictures
from rich.console import Console
from time_samples import IN_TIME, JUMPED, LATE, SILENT, TIMERS

from docsis_control.config.errors import ConfigError
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment import demo
from docsis_experiments.experiment.document import SCENARIO_FILE, write_scenario
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import Plan, plan_for, service_flow
from docsis_experiments.experiment.ramp_up import ramp_up_seconds
from docsis_experiments.judging import judge
from docsis_experiments.measurement import voice
from docsis_experiments.measurement.begun import begun
from docsis_experiments.measurement.controller import control_samples, controller_figures
from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.measurement.record import Control, Packets, Received, RunRecord
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.repetition import once
from docsis_experiments.reports import document, report, single_summary
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports.plots.subjects import Runs
from docsis_experiments.reports.run_table import run_table
from docsis_experiments.stages.mininet import run as one_run
from docsis_experiments.stages.mininet import stage as mininet_stage
from docsis_experiments.stages.mininet import timers
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_experiments.stages.mininet.traffic.irtt import Probes
from docsis_experiments.stages.views import Views
from docsis_testbed import preflight
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import TOPOLOGIES

RESIDENTIAL = TOPOLOGIES / "residential.yaml"
PRESETS = (Preset.DROP_TAIL_250MS, Preset.DOCSIS_PIE)
STATS = {
    "updates": 100,
    "missed": 1,
    "lateness_ms": {"p50": 0.1, "p99": 0.9, "max": 1.5},
    "cycle_ms": {"p50": 1.0, "p99": 2.0, "max": 3.0},
    "reconnects": 0,
}
SAMPLES = """\
monotonic_s,switch_time_us,service_flow,backlog_bytes,msr_tokens_bytes,qdelay_ms,\
drop_prob,burst_allowance_ms,state,rate_estimate_bps,msr_bucket_bytes
100.000000,1,1,1000,5.0,12.5,0.010000000,0.0,ACTIVE,20000000,1005
100.000000,1,2,9999,5.0,99.9,0.990000000,0.0,ACTIVE,90000000,5
100.016000,1,1,1000,6.0,13.5,0.020000000,0.0,ACTIVE,,1006
"""


def known(
    run: Run, plan: Plan, topology: Topology, loaded_ms: float, timing: Timing = IN_TIME
) -> RunRecord:
    """Idle at 0.5 ms, then `loaded_ms` with every 50th packet of the game lost; 16 Mbit/s."""
    sent = np.arange(-plan.measured_from, plan.measured_seconds + 1, 0.02)
    delay = np.where(sent < -plan.ramp_up_seconds, 0.5, loaded_ms)
    delay[(np.arange(sent.size) % 50 == 7) & (sent >= 0)] = np.nan
    uploads = [planned.flow.name for planned in plan.flows]
    times = np.arange(-plan.ramp_up_seconds, plan.measured_seconds + 1, 0.1)
    counts = (times + plan.ramp_up_seconds) * 4e6 / 8
    return replace(
        begun(run, plan, topology, "upstream"),
        packets={"game": Packets(sent, delay), "uploads": Packets(sent, delay)},
        received={"uploads": Received(times, dict.fromkeys(uploads, counts))},
        control=Control(np.array([1.0, 1.016]), np.array([12.5, 13.5]), np.array([0.01, 0.02])),
        counters={"sf_drop_aqm": 12, "sf_drop_buffer_full": 34},
        controller={key: STATS[key] for key in ("updates", "missed", "lateness_ms")},
        timing=timing,
        retransmitted={"uploads": dict.fromkeys(uploads, 3)},
    )


def demonstration(seconds: float = 10.0) -> Loaded:
    return demo.demo(load_topology(RESIDENTIAL), PRESETS, seconds)


def finished(
    results: Path,
    timing: Timing = IN_TIME,
    late: dict[str, Any] = TIMERS,
    marks: dict[str, Any] | None = None,
) -> Path:
    """The folder of a finished run of two queue managers."""
    loaded = demonstration()
    scenario, topology = loaded.scenario, loaded.topology
    plan = plan_for(scenario, topology)
    folder = run_folder.create_named(scenario.name, results)
    (folder / "inputs").mkdir()
    write_topology(topology, folder / "inputs" / "topology.yaml")
    write_scenario(scenario, folder / "inputs" / SCENARIO_FILE)
    records = [
        known(run, plan, topology, delay, timing)
        for run, delay in zip(scenario.all_runs, (221.0, 11.0), strict=True)
    ]
    for record in records:
        raw = folder / "runs" / record.label
        raw.mkdir(parents=True)
        record.write(raw)
    figures = single_summary.summarise(
        scenario,
        records,
        judge.judge(scenario, records),
        [],
        target="embedded",
        topology=topology,
        versions={},
        timers=late,
        marks=marks,
    )
    details = {"started": "2026-01-01 00:00:00", "plans": {"upstream": plan.document()}}
    report.complete(folder, figures, details, Runs(scenario, records))
    return run_folder.finish(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of two queue managers, in time."""
    return finished(tmp_path_factory.mktemp("made"))


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it, with which a test does what it likes."""
    return Path(shutil.copytree(made, tmp_path / made.name))


def figures_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


@contextmanager
def pretended_run(_command: str) -> Iterator[object]:
    yield object()


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Mininet's stage without root, Mininet and switches; reports without pictures."""
    without_pictures(monkeypatch)
    for name in ("check_root", "check_all"):
        monkeypatch.setattr(preflight, name, lambda *_: None)
    monkeypatch.setattr(mininet_stage, "recorded_run", pretended_run)
    monkeypatch.setattr(timers, "measured", lambda: TIMERS)
    return monkeypatch


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, TestbedError])
def test_a_run_that_does_not_finish_is_called_partial(
    end: type[BaseException], tmp_path: Path, pretended: pytest.MonkeyPatch
) -> None:
    second: list[Path] = []

    def measure(
        _: Scenario, run: Run, plan: Plan, topology: Topology, *__: object, folder: Path, **___: Any
    ) -> RunRecord:
        if second:
            raise end("in the second run")
        second.append(folder)
        return known(run, plan, topology, 221.0)

    pretended.setattr(one_run, "measure", measure)
    said = io.StringIO()
    with pytest.raises(end):
        once.run(
            demonstration(),
            stage=MininetStage("embedded"),
            console=Console(file=said),
            results=tmp_path,
        )
    [folder] = tmp_path.iterdir()
    assert folder.name.endswith("-latency-under-load.partial")
    assert f"not complete; what there is of it: {folder}" in said.getvalue()
    # What messages said of it is still there.
    assert second == [folder / "runs" / "drop-tail-250ms"]
    assert (second[0] / "packets.csv").exists()
    assert not (folder / "report.html").exists()


def test_a_finished_run_has_its_name(run: Path) -> None:
    assert run.name.endswith("-latency-under-load")
    assert [path.name for path in run.parent.iterdir()] == [run.name]
    # Nobody has taken its place meanwhile.
    (run.parent / f"{run.name}{run_folder.PARTIAL}").mkdir()
    with pytest.raises(TestbedError, match="cannot be renamed"):
        run_folder.finish(run.parent / f"{run.name}{run_folder.PARTIAL}")


def test_summary_has_the_figures_of_the_measured_time(run: Path) -> None:
    figures = figures_of(run)
    assert (figures["experiment"], figures["version"]) == ("scenario", document.VERSION)
    assert (figures["topology"], figures["tier"]) == ("residential", "cable-20")
    assert (figures["idle_seconds"], figures["ramp_up_seconds"]) == (5.0, 10.0)
    pie = figures["runs"][1]
    assert (pie["label"], pie["name"]) == ("docsis-pie", "DOCSIS-PIE")
    game, uploads = pie["groups"]["game"], pie["groups"]["uploads"]
    assert game["latency_ms"] == dict.fromkeys(("mean", "p50", "p90", "p99", "max"), 11.0)
    assert game["induced_latency_ms"] == dict.fromkeys(("mean", "p50", "p90", "p99", "max"), 10.5)
    assert game["idle_latency_ms"] == 0.5
    assert game["loss_percent"] == pytest.approx(2.0)
    assert game["mos"] == pytest.approx(voice.mos(np.full(490, 11.0), 0.02))
    assert uploads["goodput_mbps"] == pytest.approx(16.0)
    assert uploads["fairness"] == pytest.approx(1.0)
    assert (uploads["retransmissions"], uploads["flow_retransmissions"]) == (12, [3, 3, 3, 3])
    # Only a call has a quality, and only what was there in the idle time was induced.
    assert not uploads.keys() & {"mos", "induced_latency_ms"}
    assert (pie["aqm_drops"], pie["tail_drops"]) == (12, 34)
    assert pie["controller"] == {
        "updates": 100,
        "missed": 1,
        "lateness_ms": {"p50": 0.1, "p99": 0.9, "max": 1.5},
    }


@pytest.mark.parametrize("experiment", document.SCHEMAS)
def test_every_schema_is_valid(experiment: str) -> None:
    Draft202012Validator.check_schema(document.schema(experiment))


def test_schema_allows_exactly_the_documented_keys(run: Path) -> None:
    figures = figures_of(run)
    document.validate(figures)

    def game(f: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = f["runs"][0]["groups"]["game"]
        return found

    changes: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda f: f.update(extra=1),
        lambda f: f.update(version=1),
        lambda f: f.pop("topology"),
        lambda f: f["runs"][0].pop("label"),
        lambda f: game(f).update(mos=5),
        lambda f: game(f)["latency_ms"].pop("max"),
        lambda f: game(f).update(loss_percent=101),
        lambda f: f["runs"][0]["groups"]["uploads"].update(retransmissions=-1),
        lambda f: f["runs"][0]["controller"]["lateness_ms"].update(p90=1),
        lambda f: f["runs"][0].update(tail_drops=1.5),
    )
    for change in changes:
        broken = copy.deepcopy(figures)
        change(broken)
        with pytest.raises(TestbedError, match=r"summary\.json: "):
            document.validate(broken)


@pytest.mark.parametrize("named", [True, False])
def test_summary_of_an_older_demo_is_told_from_a_scenarios(named: bool, run: Path) -> None:
    old = {"target": "embedded", "runs": []} | ({"experiment": "latency"} if named else {})
    (run / "summary.json").write_text(json.dumps(old))
    with pytest.raises(TestbedError, match="a demo from before it was a scenario"):
        report.write(run)


def test_raw_samples_are_on_one_time_axis(run: Path, tmp_path: Path) -> None:
    with (run / "runs" / "docsis-pie" / "packets.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["group"] == "game"]
    # The idle time is there, too.
    assert rows[0] == {"group": "game", "time_s": "-15", "one_way_delay_ms": "0.5"}
    # A packet that was lost has no delay.
    lost = [row for row in rows if row["one_way_delay_ms"] == ""]
    assert all(float(row["time_s"]) >= 0 for row in lost)
    assert len(lost) in range(10, 13)


def test_the_controllers_samples_are_of_one_flow(tmp_path: Path) -> None:
    (tmp_path / "samples-cm1.csv").write_text(SAMPLES)
    # The measured time began a second before the first sample.
    found = control_samples(tmp_path / "samples-cm1.csv", 1, 99 * 10**9)
    np.testing.assert_allclose(found.time_s, [1.0, 1.016])
    np.testing.assert_allclose(found.qdelay_ms, [12.5, 13.5])
    np.testing.assert_allclose(found.drop_prob, [0.01, 0.02])
    np.testing.assert_allclose(found.backlog_bytes, [1000, 1000])
    np.testing.assert_allclose(found.tokens_bytes, [5, 6])
    np.testing.assert_allclose(found.bucket_bytes, [1005, 1006])
    np.testing.assert_allclose(found.rate_mbps, [20, np.nan])
    assert control_samples(tmp_path / "samples-cmts1.csv", 1, 0).time_s.size == 0


def test_samples_from_before_the_buckets_column_are_read(tmp_path: Path) -> None:
    file = tmp_path / "samples-cm1.csv"
    file.write_text("".join(f"{line.rpartition(',')[0]}\n" for line in SAMPLES.splitlines()))
    found = control_samples(file, 1, 99 * 10**9)
    np.testing.assert_allclose(found.tokens_bytes, [5, 6])
    np.testing.assert_allclose(found.rate_mbps, [20, np.nan])
    assert found.bucket_bytes.size == 0


def test_the_controllers_time_keeping_is_read(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="no statistics of the controller"):
        controller_figures(tmp_path)
    (tmp_path / "stats.json").write_text(json.dumps(STATS))
    assert controller_figures(tmp_path) == {
        key: STATS[key] for key in ("updates", "missed", "lateness_ms")
    }


def test_lost_replies_are_no_loss() -> None:
    start_ns = 1_800_000_000 * 10**9
    sent = start_ns + np.arange(0, 10**10, 2 * 10**7, dtype=np.int64)
    delay = np.full(sent.size, 11.0)
    arrived = np.ones(sent.size, dtype=np.bool_)
    arrived[7::50], delay[7::50] = False, np.nan
    whole = one_run.packets_of_call(Probes(sent, delay, arrived, sent.size - 1), start_ns, 1.0)
    assert loss_percent(whole) == pytest.approx(2.0)
    assert statistic("max", whole.delays) == 10.0
    assert whole.sent_s[1] == pytest.approx(0.02)
    # A hundred more lost their replies: they arrived, but nobody knows when.
    some = delay.copy()
    some[100:200] = np.nan
    fewer = one_run.packets_of_call(Probes(sent, some, arrived, sent.size - 1), start_ns, 1.0)
    assert loss_percent(fewer) == pytest.approx(2.0)
    assert fewer.delays.size == whole.delays.size - 98
    mos = [voice.mos(p.delays, loss_percent(p) / 100) for p in (whole, fewer)]
    assert mos[0] == pytest.approx(mos[1], abs=0.02)


@pytest.mark.parametrize(("timing", "row"), [(LATE, "2.31"), (JUMPED, "NO"), (SILENT, "-")])
def test_lateness_is_told(
    tmp_path: Path, timing: Timing, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    folder = finished(tmp_path, timing)
    figures = figures_of(folder)
    assert figures["timers"] == TIMERS
    # Without a value to judge a run that is late is no failure; one whose time jumped is none.
    assert figures["passed"] is (True if timing.valid else None)
    assert figures["no_verdict"] == [
        f"{label}: {timing.words}" for label in ("drop-tail-250ms", "docsis-pie")
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(run_table(figures))
    lines = console.export_text(clear=False).splitlines()
    assert any(row in line.split() for line in lines if "late" in line or "valid" in line)
    console.print(once.timing_words(figures), soft_wrap=True)
    text = console.export_text()
    assert timing.words in text
    assert "0.08 / 0.12 ms under SCHED_RR" in text
    page = (folder / "report.html").read_text()
    assert timing.words in page
    assert ("not valid</strong>" in page) is not timing.valid


def test_where_nothing_can_be_late_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    why = "time is virtual"
    marks = {"stage": "virtual", "seed": 2**64 - 1}
    folder = finished(tmp_path, Timing({}, why), {"absent": why}, marks)
    figures = figures_of(folder)
    assert figures["passed"] is True
    assert figures["no_verdict"] == []
    assert figures["runs"][0]["timing"]["absent"] == why
    assert (figures["stage"], figures["seed"]) == ("virtual", 2**64 - 1)
    assert str(once.timing_words(figures)) == "Time is virtual."
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
    tmp_path: Path, pretended: pytest.MonkeyPatch
) -> None:
    def measure(
        _: Scenario, run: Run, plan: Plan, topology: Topology, *__: object, **___: object
    ) -> RunRecord:
        return known(run, plan, topology, 11.0, JUMPED)

    pretended.setattr(one_run, "measure", measure)
    with pytest.raises(NoVerdict, match="time jumped 2 times in cm1") as raised:
        once.run(
            demonstration(),
            stage=MininetStage("embedded"),
            console=Console(file=io.StringIO()),
            results=tmp_path,
        )
    assert raised.value.exit_status == 3
    # The results are there, and whole.
    [folder] = tmp_path.iterdir()
    assert folder.name.endswith("-latency-under-load")


@pytest.mark.parametrize("timing", [LATE, SILENT])
def test_demo_whose_switches_were_late_is_told_and_no_failure(
    timing: Timing, tmp_path: Path, pretended: pytest.MonkeyPatch
) -> None:
    def measure(
        _: Scenario, run: Run, plan: Plan, topology: Topology, *__: object, **___: object
    ) -> RunRecord:
        return known(run, plan, topology, 11.0, timing)

    pretended.setattr(one_run, "measure", measure)
    said = io.StringIO()
    once.run(
        demonstration(),
        stage=MininetStage("embedded"),
        console=Console(file=said),
        results=tmp_path,
    )
    assert timing.words in said.getvalue()


def test_metrics_recordings_and_views_reach_the_run(
    tmp_path: Path, pretended: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []

    def measure(
        _: Scenario, run: Run, plan: Plan, topology: Topology, *__: object, **named: Any
    ) -> RunRecord:
        given.append(named)
        return known(run, plan, topology, 11.0)

    pretended.setattr(one_run, "measure", measure)
    once.run(
        demonstration(),
        stage=MininetStage(
            "embedded",
            metrics_port=9090,
            recordings=tmp_path / "recordings",
            views=Views(traces=tmp_path / "traces"),
        ),
        console=Console(file=io.StringIO()),
        results=tmp_path / "results",
    )
    assert [one["metrics_port"] for one in given] == [9090, 9090]
    assert {one["recordings"] for one in given} == {tmp_path / "recordings"}
    assert {one["views"].traces for one in given} == {tmp_path / "traces"}


def test_runs_with_the_same_number_have_the_same_draws(
    tmp_path: Path, pretended: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Plan, int]] = []

    def measure(
        _: Scenario, run: Run, plan: Plan, topology: Topology, *__: object, **named: Any
    ) -> RunRecord:
        given.append((plan, named["seed"]))
        return known(run, plan, topology, 11.0)

    pretended.setattr(one_run, "measure", measure)
    loaded = demonstration()
    [first, second, *_] = loaded.scenario.all_runs
    plan = plan_for(loaded.scenario, loaded.topology)
    spread = replace(plan, flows=tuple(replace(one, start_spread=1.0) for one in plan.flows))
    stage, later = MininetStage("embedded"), MininetStage("embedded")
    # The other queue manager begins later, and so does a command that goes on.
    for place, run, number in (
        (stage, first, 2), (stage, first, 3), (stage, second, 3), (later, first, 3),
    ):  # fmt: skip
        with place.opened("run", loaded.topology):
            place.measure(
                loaded.scenario, run, spread, loaded.topology, tmp_path / "topology.yaml",
                number=number, folder=tmp_path, progress=lambda *_: None,
            )  # fmt: skip
    assert given[1] == given[2] == given[3]
    assert given[0][0] != given[1][0]
    assert [seed for _, seed in given] == [2, 3, 3, 3]


def test_report_opens_offline(run: Path) -> None:
    page = scenario_files.shown((run / "report.html").read_text())
    # Distributions, over time, and the goodput of each upload.
    assert page.count("data:image/png;base64,") == 3
    for reference in ("http://", "https://", 'src="plots', "<script", "@import"):
        assert reference not in page
    for words in ("DOCSIS-PIE", "<td>221</td>", "cpe1 to server2", "Induced latency", "MOS"):
        assert words in page


def test_report_can_be_written_again(run: Path) -> None:
    (run / "report.html").unlink()
    assert report.write(run).is_file()
    (run / "details.json").unlink()
    with pytest.raises(TestbedError, match=r"details\.json: is missing"):
        report.write(run)


def test_what_was_resolved_can_be_run_again(run: Path) -> None:
    again = load(run / "inputs" / SCENARIO_FILE)
    assert again.topology == load_topology(RESIDENTIAL)
    before = demonstration().scenario
    assert again.scenario.model_copy(update={"topology": before.topology}) == before


def test_table_fits_a_terminal(run: Path) -> None:
    figures = figures_of(run)
    for count in (1, 2, 4):
        some = {**figures, "runs": (figures["runs"] * 4)[:count]}
        some["runs"] = [
            {**one, "name": f"Buffer Control, {n}"} for n, one in enumerate(some["runs"])
        ]
        text = shown(some)
        assert "221.0" in text
        assert "induced" in text


def test_many_runs_have_a_row_each(run: Path) -> None:
    figures = figures_of(run)
    names = ("drop-tail-250ms", "buffer-control-50ms", "sfq-codel", "pie", "codel")
    figures["runs"] = [{**figures["runs"][0], "label": name} for name in names]
    text = shown(figures)
    assert text.count("uploads") == len(names)
    assert "221.0" in text


def shown(figures: dict[str, Any]) -> str:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(run_table(figures))
    text = console.export_text()
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
    return text


@pytest.mark.parametrize(
    ("tier", "at_least", "at_most"), [("cable-20", 8, 10), ("cable-2018", 20, 22)]
)
def test_ramp_up_outlasts_the_burst_and_cubics_recovery(
    tier: str, at_least: float, at_most: float
) -> None:
    topology = load_topology(RESIDENTIAL, tier)
    flow = service_flow(topology, "upstream")
    assert at_least <= ramp_up_seconds(flow, 0, 4, 0.1) <= at_most
    # So the demo has it, whose file says "auto".
    assert demo.demo(topology).scenario.ramp_up_seconds == ramp_up_seconds(flow, 0, 4, 0.1)


def test_plan_is_two_uploads_to_each_server_within_the_time() -> None:
    loaded = demo.demo(load_topology(RESIDENTIAL, "cable-2018"))
    plan = plan_for(loaded.scenario, loaded.topology)
    assert [(p.source, p.destination) for p in plan.flows] == [
        ("cpe1", "server1"), ("cpe1", "server2"), ("cpe2", "server1"), ("cpe2", "server2"),
    ]  # fmt: skip
    assert {p.flow.congestion_control for p in plan.flows} == {"cubic"}
    # They begin one after the other behind the idle time, and have no end.
    assert [p.flow.start for p in plan.flows] == pytest.approx([5.0, 5.02, 5.04, 5.06])
    assert {(p.flow.size, p.flow.end) for p in plan.flows} == {(0, None)}
    [call] = plan.calls
    assert (call.source, call.destination) == ("cpe1", "server1")
    assert plan.measured_seconds == 24
    # Three runs, building and the report within four minutes.
    assert 3 * (plan.seconds + 6) + 20 < 240


def test_demos_options_replace_what_the_file_says() -> None:
    loaded = demo.demo()
    assert [run.label for run in loaded.scenario.all_runs] == [
        "drop-tail-250ms", "buffer-control-50ms", "docsis-pie",
    ]  # fmt: skip
    other = demo.demo(load_topology(TOPOLOGIES / "two-tiers.yaml"), [Preset.CODEL] * 2, 2.5)
    assert other.topology.name == "two-tiers"
    assert [run.label for run in other.scenario.all_runs] == ["codel"]
    assert other.scenario.measured == 2_500_000_000
    # The mesh is that of the other topology.
    [uploads] = (group for group in other.scenario.traffic if group.name == "uploads")
    first = other.topology.modems[0].hosts
    assert uploads.count == len(first) * len(other.topology.servers)
    assert set(uploads.hosts) == {host.name for host in first}


def test_a_topology_that_does_not_fit_is_refused_with_the_file_and_the_key() -> None:
    topology = load_topology(RESIDENTIAL)
    [modem] = topology.modems
    hosts = tuple(modem.hosts[0].model_copy(update={"name": f"h{n}"}) for n in range(150))
    crowded = topology.model_copy(update={"modems": (modem.model_copy(update={"hosts": hosts}),)})
    with pytest.raises(ConfigError, match=r"latency-under-load\.yaml:\d+.*makes 300 pairs"):
        demo.demo(crowded)
