# SPDX-License-Identifier: Apache-2.0
"""The experiment that loads every service flow, of made-up measurements and in virtual time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pictures import without_pictures
from rich.console import Console
from time_samples import IN_TIME, JUMPED, LATE, TIMERS

from docsis_control.config.errors import ConfigError
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.channel_shares import FILE, channel_shares
from docsis_experiments.experiment.document import write_scenario
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import Plan, plan_for
from docsis_experiments.measurement.begun import begun
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.service_flow_shares import MeasuredShares
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.repetition import job as repeated
from docsis_experiments.repetition import once
from docsis_experiments.repetition.making import Made, Order
from docsis_experiments.reports import document, report, service_flow_shares
from docsis_experiments.runs import files
from docsis_experiments.runs.outcome import Outcome, of_record
from docsis_experiments.runs.unit import quantities_of
from docsis_experiments.stages.stage import Stage
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_experiments.traffic.service_flow_load import LoadPlan
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import TOPOLOGIES

BY_HAND = {
    "upstream": {("gold", 1): 10.0, ("gold", 2): 1.5, ("silver", 1): 7.0, ("silver", 2): 1.5},
    "downstream": {
        ("gold", 11): 20.0,
        ("gold", 12): 3.0,
        ("silver", 11): 14.0,
        ("silver", 12): 3.0,
    },
}
"""Mbit/s of two-tiers.yaml, from topologies/modems/{gold,silver}.yaml."""


class MadeUp:
    """A stage on which the first service flow of each direction is off by known factors."""

    target = "embedded"
    build_seconds = 0.0
    marks = {"stage": "mininet"}  # noqa: RUF012

    def __init__(self, received: float = 1, forwarded: float = 1, timing: Timing = IN_TIME) -> None:
        self._received, self._forwarded, self._timing = received, forwarded, timing
        self.left_out: tuple[str, ...] = ()

    def admit(self, *_: object) -> None: ...

    def playable(self, topology: Topology) -> Topology:
        return topology

    @contextmanager
    def opened(self, *_: object) -> Iterator[None]:
        yield

    def timers(self) -> dict[str, Any]:
        return TIMERS

    def versions(self) -> dict[str, str]:
        return {"python": "3"}

    def measure(
        self, scenario: Scenario, run: Run, plan: Plan, topology: Topology, *_: object, **__: object
    ) -> RunRecord:
        [(group, load)] = plan.loads.items()
        shares = made_up(load, self._received, self._forwarded)
        if self.left_out:
            shares = MeasuredShares(replace(load, left_out=self.left_out), shares.flows)
        return replace(
            begun(run, plan, topology, scenario.direction),
            counters={"sf_drop_aqm": 0, "sf_drop_buffer_full": 4},
            controller={
                "updates": 9,
                "missed": 0,
                "lateness_ms": {"p50": 0.1, "p99": 0.2, "max": 0.3},
            },
            timing=self._timing,
            shares={group: shares},
        )


def made_up(load: LoadPlan, received: float, forwarded: float) -> MeasuredShares:
    first = load.loads[0]
    return MeasuredShares.of(
        load,
        {one.name: one.configured * (received if one is first else 1) for one in load.loads},
        {one.flow.index: one.configured * (forwarded if one is first else 1) for one in load.loads},
    )


def played(stage: Stage, results: Path, loaded: Loaded | None = None) -> tuple[dict[str, Any], str]:
    """The summary, and what the terminal shows; what the run raises goes through."""
    console = Console(width=80, file=io.StringIO(), record=True)
    try:
        once.run(loaded or channel_shares(), stage=stage, console=console, results=results)
    finally:
        [folder] = results.iterdir()
        summary = json.loads((folder / "summary.json").read_text())
        (results / "told.txt").write_text(console.export_text())
        (results / "summary.json").write_text(json.dumps(summary))
    return summary, (results / "told.txt").read_text()


def flows_of(summary: dict[str, Any]) -> dict[str, dict[tuple[str, int], dict[str, Any]]]:
    """By direction, then modem and reference."""
    return {
        run["direction"]: {
            (flow["modem"], flow["service_flow_reference"]): flow
            for flow in shares["service_flows"]
        }
        for run, shares in service_flow_shares.loaded(summary)
    }


@pytest.mark.parametrize(("received", "forwarded"), [(1, 1), (0.981, 1), (1, 1.019)])
def test_shares_within_the_tolerance_end_well(
    tmp_path: Path, received: float, forwarded: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    summary, told = played(MadeUp(received, forwarded), tmp_path)
    assert summary["passed"] is True
    for direction, flows in flows_of(summary).items():
        assert {name: flow["configured_mbps"] for name, flow in flows.items()} == pytest.approx(
            BY_HAND[direction]
        )
        first = next(iter(flows.values()))
        assert first["received_off_percent"] == pytest.approx(100 * (received - 1))
        assert first["forwarded_off_percent"] == pytest.approx(100 * (forwarded - 1))
        assert first["offered_mbps"] == pytest.approx(1.25 * first["configured_mbps"])
    worst = max(abs(received - 1), abs(forwarded - 1))
    for run in summary["runs"]:
        found = run["groups"]["load"]["share_deviation_percent"]
        assert found == pytest.approx(100 * worst, abs=1e-5)
    assert "What must hold in every run holds" in told
    assert "…" not in told
    assert "14.000" in told


@pytest.mark.parametrize(("received", "forwarded"), [(1.021, 1), (0.979, 1), (1, 0.97)])
def test_either_count_must_be_within_the_tolerance(
    tmp_path: Path, received: float, forwarded: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    with pytest.raises(TestbedError, match="What must hold in every run does not") as raised:
        played(MadeUp(received, forwarded), tmp_path)
    assert not isinstance(raised.value, NoVerdict)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["passed"] is False
    assert [entry["holds"] for entry in summary["expectations"]] == [False, False]
    assert all(entry["every_run"] for entry in summary["expectations"])


@pytest.mark.parametrize("timing", [LATE, JUMPED])
@pytest.mark.parametrize("factor", [1, 0.9])
def test_late_switch_gives_no_verdict(
    tmp_path: Path, factor: float, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    with pytest.raises(NoVerdict):
        played(MadeUp(factor, timing=timing), tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["passed"] is None
    assert [entry["holds"] for entry in summary["expectations"]] == [None, None]
    assert summary["no_verdict"] == [f"{way}: {timing.words}" for way in ("upstream", "downstream")]
    told = " ".join((tmp_path / "told.txt").read_text().split())
    assert "holds" not in told
    assert "farthest" not in told


def test_tolerance_is_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    wide = channel_shares(tolerance_percent=5.0)
    assert played(MadeUp(0.96), tmp_path, wide)[0]["passed"] is True
    assert wide.scenario.expectations[0].hash != channel_shares().scenario.expectations[0].hash


def test_report_opens_offline_and_can_be_written_again(tmp_path: Path) -> None:
    stage = MadeUp(0.9)
    stage.left_out = ("service flow 3 upstream of gold",)
    with pytest.raises(TestbedError):
        played(stage, tmp_path)
    [folder] = [path for path in tmp_path.iterdir() if path.is_dir()]
    (folder / "report.html").unlink()
    page = report.write(folder).read_text()
    # No packet of a load is looked at, so there is one figure.
    assert page.count("data:image/png;base64,") == 1
    assert page.index("What must hold in every run does not") < page.index("<h2>")
    for words in ("gold, 1 (primary)", "-10.00", "by -10.00%", "Without traffic: service flow 3"):
        assert words in page
    assert "It has to hold in every run." in page
    assert "One run is no verdict" not in page
    assert "10.0.0.11:20000" in page
    for reference in ("http://", "https://", 'src="plots', "<script", "@import"):
        assert reference not in page


def test_schema_knows_every_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    summary, _ = played(MadeUp(), tmp_path, channel_shares(tcp=True, directions=["upstream"]))
    document.validate(summary)
    flows = flows_of(summary)["upstream"]
    assert flows["gold", 1]["offered_mbps"] is None
    assert flows["gold", 2]["offered_mbps"] == pytest.approx(1.875)
    flows["gold", 1]["more"] = 1
    with pytest.raises(TestbedError, match=r"summary\.json: runs\.0\.groups\.load\.shares"):
        document.validate(summary)


def test_options_are_in_the_place_of_what_the_file_says() -> None:
    shipped = load(FILE).scenario
    assert [run.direction for run in shipped.all_runs] == ["upstream", "downstream"]
    assert channel_shares().scenario == shipped
    topology = load_topology(TOPOLOGIES / "neighbourhood.yaml")
    loaded = channel_shares(
        topology, directions=["downstream"], measured_seconds=4.0, tcp=True, frame_bytes=1514
    )
    scenario = loaded.scenario
    assert [run.label for run in scenario.all_runs] == ["downstream"]
    assert scenario.expectations[0].runs == ("downstream",)
    assert scenario.measured == 4_000_000_000
    [run] = scenario.all_runs
    [plan] = plan_for(scenario.played(run), topology).loads.values()
    assert (plan.direction, plan.frame_bytes, len(plan.loads)) == ("downstream", 1514, 256)
    assert {one.transport for one in plan.loads} == {"tcp", "udp"}
    # 3 MB of 64 bursts on a channel of 300 Mbit/s last for seconds.
    assert scenario.ramp_up_seconds >= plan.settle_seconds > 2
    json.dumps(plan_for(scenario, topology).document(), allow_nan=False)


def test_a_record_of_the_scenario_is_the_scenario(tmp_path: Path) -> None:
    loaded = channel_shares(tcp=True)
    write_scenario(loaded.scenario, tmp_path / "scenario.yaml")
    again = load(tmp_path / "scenario.yaml", loaded.topology).scenario
    assert again.model_copy(update={"topology": loaded.scenario.topology}) == loaded.scenario


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("count: 2", "there may be 1 of them, not 2"),
        ("mesh: true", "each service flow has one stream"),
        ("servers: [server1]", "each service flow has one stream"),
        ("start: 1 s", "the load lasts as long as the run"),
        ("frame: 90 B", "a frame has 100 B to 1518 B, not 90 B"),
        ("transport: sctp", "transport"),
    ],
)
def test_what_a_load_cannot_be_is_refused(tmp_path: Path, key: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(changed(tmp_path, "every-service-flow}", f"every-service-flow, {key}}}"))


def test_a_second_load_is_refused(tmp_path: Path) -> None:
    file = changed(
        tmp_path,
        "traffic:\n",
        "traffic:\n  - {name: first, kind: every-service-flow}\n",
    )
    with pytest.raises(ConfigError, match=r"traffic\.1\.kind: first is in every service flow"):
        load(file)


def test_share_deviation_is_of_a_load_alone(tmp_path: Path) -> None:
    file = changed(tmp_path, "kind: every-service-flow", "kind: transfer")
    with pytest.raises(ConfigError, match="share-deviation is told of the kind every-service-flow"):
        load(file)


def changed(folder: Path, old: str, new: str) -> Path:
    text = FILE.read_text().replace("../two-tiers.yaml", str(TOPOLOGIES / "two-tiers.yaml"))
    assert text.count(old) == 1
    file = folder / FILE.name
    file.write_text(text.replace(old, new))
    return file


def directions(summary: dict[str, Any], counted: str) -> Sequence[dict[tuple[str, int], float]]:
    return [
        {name: flow[f"{counted}_mbps"] for name, flow in flows.items()}
        for flows in flows_of(summary).values()
    ]


@pytest.mark.parametrize("tcp", [False, True])
def test_shares_are_as_configured_in_virtual_time(tmp_path: Path, tcp: bool) -> None:
    # It raises where a share is off by more than its tolerance.
    summary, _ = played(VirtualStage(), tmp_path, channel_shares(measured_seconds=4.0, tcp=tcp))
    assert summary["passed"] is True
    assert summary["stage"] == "virtual"
    for counted in ("received", "forwarded"):
        for found, by_hand in zip(directions(summary, counted), BY_HAND.values(), strict=True):
            assert found == pytest.approx(by_hand, rel=0.02)
    transports = {flow["transport"] for flow in flows_of(summary)["upstream"].values()}
    assert transports == ({"tcp", "udp"} if tcp else {"udp"})


class MadeUpMaker:
    """Makes runs of which each seed's first service flow is off by a little more."""

    words = "seeds"
    marks = {"stage": "virtual", "jobs": 1}  # noqa: RUF012
    stage = MadeUp()

    @contextmanager
    def opened(self, *_: object) -> Iterator[None]:
        yield

    def make(self, order: Order, made: Made) -> Iterator[Outcome]:
        del made
        for number in order.numbers:
            for run in order.runs:
                scenario = order.loaded.scenario.played(run)
                plan = plan_for(scenario, order.loaded.topology)
                stage = MadeUp(1 + number / 1000)
                record = stage.measure(scenario, run, plan, order.loaded.topology)
                quantities = quantities_of(scenario).values()
                yield of_record(record, scenario, quantities, key="0" * 64, number=number)

    def finish(self, order: Order) -> None: ...


def test_many_seeds_have_a_median_of_each_service_flow(tmp_path: Path) -> None:
    folder = repeated.run(
        channel_shares(),
        maker=MadeUpMaker(),  # type: ignore[arg-type]
        numbers=range(1, 10),
        console=Console(width=80, file=io.StringIO()),
        results=tmp_path,
    )
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["verdict"] == "reproduced"
    # What goes another way has no difference.
    assert summary["differences"] == []
    for run, by_hand in zip(summary["runs"], BY_HAND.values(), strict=True):
        flows = run["groups"]["load"]["service_flows"]
        assert [flow["configured_mbps"] for flow in flows] == pytest.approx(list(by_hand.values()))
        first = flows[0]
        assert first["received_mbps"]["median"] == pytest.approx(1.005 * first["configured_mbps"])
        assert first["forwarded_mbps"]["interval"] == [first["configured_mbps"]] * 2
    outcomes = files.read(folder / files.OUTCOMES)
    assert {name for one in outcomes for name in one.groups["load"].service_flows} == {
        f"{modem}, {reference}" for flows in BY_HAND.values() for modem, reference in flows
    }
    page = (folder / "report.html").read_text()
    assert "upstream: shares of the channel" in page
    assert page.count("data:image/png;base64,") == 2
