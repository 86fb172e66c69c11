# SPDX-License-Identifier: Apache-2.0
"""The comparison with another simulator: its statistics, its files, and the command."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command_line import docsis_p4
from pictures import without_pictures
from rich.console import Console

from docsis_control.topology.loader import load_topology
from docsis_experiments.acceptance import cases, values
from docsis_experiments.acceptance.referee import comparison, data, job, rule, table
from docsis_experiments.acceptance.referee.rule import Verdict
from docsis_experiments.experiment.demo import demo
from docsis_experiments.measurement.intervals import CONFIDENCE
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import TOPOLOGIES

MANAGERS = ("drop-tail-250ms", "docsis-pie")
RUN: Mapping[str, float] = {
    "goodput_mbps": 19.0,
    "p50_ms": 100.0,
    "p90_ms": 200.0,
    "p99_ms": 240.0,
    "induced_p50_ms": 96.0,
    "idle_p50_ms": 4.0,
}
ABOUT = {
    "referee": "another",
    "versions": {"another": "1"},
    "date": "2026-01-02",
    "machine": "one",
}


def recorded(place: Path, runs: int = rule.RUNS, **changed: float) -> Path:
    """Results of a referee, all of whose runs are the same but for a little."""
    one = [{**RUN, **changed, "p50_ms": changed.get("p50_ms", 100.0) + n % 3} for n in range(runs)]
    path = place / "recorded.json"
    path.write_text(json.dumps({"about": ABOUT, "runs": dict.fromkeys(MANAGERS, one)}))
    return path


class ToldCase:
    """Writes what it is told to, in the place where the demo would."""

    name = "told"
    managers = MANAGERS

    def __init__(self, p50: Callable[[int], float]) -> None:
        self.inputs: dict[str, Any] = {}
        self.seeds: list[int] = []
        self._p50 = p50

    def admit(self, stage: Any) -> None:
        """Everything may be played."""

    def play(self, stage: Any, console: Console, results: Path) -> None:
        seed = stage.marks["seed"]
        self.seeds.append(seed)
        folder = results / "20260101-000000-told"
        folder.mkdir()
        p50 = self._p50(seed)
        measured = {
            **{"goodput_mbps": 18.9, "p50_ms": p50, "p90_ms": 200.0, "p99_ms": 240.0},
            **{"induced_p50_ms": p50 - 0.1, "idle_p50_ms": 0.1},
        }
        runs = dict.fromkeys(MANAGERS, measured)
        (folder / "summary.json").write_text(json.dumps({"no_verdict": [], "runs": runs}))

    def values(self, folder: Path, manager: str) -> values.Values:
        found: values.Values = values.document(folder, "summary.json")["runs"][manager]
        return found


def judged(
    case: cases.Case, file: Path, results: Path, seeds: int = rule.RUNS
) -> tuple[dict[str, Any], str]:
    """The document, and how the command ended: "" where all is within the margin."""
    said, why = io.StringIO(), ""
    try:
        job.run(
            case,
            file,
            virtual=VirtualStage,
            seeds=seeds,
            console=Console(file=said, width=80),
            results=results,
        )
    except NoVerdict as error:
        why = f"no verdict: {error}"
    except TestbedError as error:
        why = str(error)
    document: dict[str, Any] = json.loads((results / job.DOCUMENT).read_text())
    told = said.getvalue()
    assert case.name in told
    # A terminal of 80 characters has room for every figure and every verdict.
    assert "…" not in told
    for entry in document["comparisons"]:
        assert f" {entry['verdict']}" in told
    return document, why


def verdict_of(document: dict[str, Any], manager: str, quantity: str) -> str:
    [found] = [
        entry["verdict"]
        for entry in document["comparisons"]
        if (entry["manager"], entry["quantity"]) == (manager, quantity)
    ]
    return str(found)


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    """The bootstrap of a median may be a little narrow for 20 runs; never much."""
    generator = np.random.default_rng(5)
    held, trials = 0, 300
    for _ in range(trials):
        values = list(generator.lognormal(mean=np.log(20), sigma=0.3, size=20))
        interval = comparison.compare([1.0] * 10, values, judged=False).interval
        assert interval is not None
        held += interval.low <= 20 <= interval.high
    # 95% of 300 are 285; four standard deviations are 15.
    assert 0.9 * trials <= held


def test_the_numbers_are_those_of_the_registered_method() -> None:
    """10,000 draws of whole runs of either side, each from a stream of its own; percentiles."""
    generator = np.random.default_rng(6)
    samples = [generator.lognormal(3, 0.2, size) for size in (20, 13)]
    drawn = [
        np.median(values[stream.integers(values.size, size=(10_000, values.size))], axis=1)
        for values, stream in zip(samples, np.random.default_rng(1).spawn(2), strict=True)
    ]
    found = comparison.compare(list(samples[0]), list(samples[1]), judged=True)
    for interval, draws in (
        (found.referee_interval, drawn[0]),
        (found.ours_interval, drawn[1]),
        (found.interval, drawn[1] / drawn[0]),
    ):
        assert interval is not None
        assert [interval.low, interval.high] == list(np.percentile(draws, (2.5, 97.5)))
    assert rule.CONFIDENCE == CONFIDENCE


def test_medians_are_compared_and_not_means() -> None:
    ratio = comparison.compare([10.0] * 9 + [1000.0] * 2, [11.0] * 11, judged=True)
    assert (ratio.referee, ratio.ours) == (10.0, 11.0)
    assert ratio.value == pytest.approx(1.1)


def test_the_same_runs_have_the_same_interval() -> None:
    theirs, ours = list(np.linspace(9, 12, 11)), list(np.linspace(8, 13, 17))
    first = comparison.compare(theirs, ours, judged=True)
    assert comparison.compare(theirs, ours, judged=True) == first
    assert first.interval is not None
    assert first.interval.low < 1 < first.interval.high


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([85.1] * 10, Verdict.WITHIN),
        ([114.9] * 10, Verdict.WITHIN),
        ([84.9] * 10, Verdict.OUTSIDE),
        ([115.1] * 10, Verdict.OUTSIDE),
        ([110.0] * 5 + [120.0] * 5, Verdict.NOT_SHOWN),
        ([100.0] * 9, Verdict.TOO_FEW_RUNS),
        ([], Verdict.TOO_FEW_RUNS),
    ],
)
def test_the_margin_is_that_of_the_ratio(ours: list[float], verdict: Verdict) -> None:
    assert comparison.compare([100.0] * 10, ours, judged=True).verdict == verdict
    assert comparison.compare([100.0] * 10, ours, judged=False).verdict == Verdict.TOLD


def test_a_referee_whose_median_is_0_has_no_ratio() -> None:
    ratio = comparison.compare([0.0] * 10, [1.0] * 10, judged=True)
    assert ratio.value is None
    assert ratio.verdict == Verdict.TOO_FEW_RUNS


def test_what_is_within_the_margin_is_accepted(tmp_path: Path) -> None:
    case = ToldCase(lambda seed: 95.0 + seed % 3)
    document, why = judged(case, recorded(tmp_path), tmp_path)
    assert why == ""
    assert document["within"] is True
    assert case.seeds == list(range(1, 11))
    assert document["referee"] == ABOUT
    for manager in MANAGERS:
        assert verdict_of(document, manager, "p50_ms") == "within"
        assert verdict_of(document, manager, "goodput_mbps") == "within"
        # Whatever it is: 0.1 ms beside 4.
        assert verdict_of(document, manager, "idle_p50_ms") == "told"


def test_what_is_outside_is_told_and_written(tmp_path: Path) -> None:
    document, why = judged(ToldCase(lambda seed: 70.0), recorded(tmp_path), tmp_path)
    assert document["within"] is False
    assert why == (
        "2 of 4 medians are not shown to be within 15% of the referee's: 2 outside, 0 not shown"
    )


def test_too_few_seeds_are_no_verdict_and_more_are_added(tmp_path: Path) -> None:
    case, file = ToldCase(lambda seed: 100.0), recorded(tmp_path)
    document, why = judged(case, file, tmp_path, seeds=9)
    assert why.startswith("no verdict: 4 of 4 medians have too few runs")
    assert document["within"] is False
    document, why = judged(case, file, tmp_path, seeds=10)
    assert why == ""
    assert case.seeds == list(range(1, 11))


def test_too_few_runs_of_the_referee_are_no_verdict(tmp_path: Path) -> None:
    case = ToldCase(lambda seed: 100.0)
    _, why = judged(case, recorded(tmp_path, runs=9), tmp_path)
    assert why.startswith("no verdict: 4 of 4 medians have too few runs")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("[]", "the top: .* is not of type 'object'"),
        (
            json.dumps({"about": ABOUT, "runs": {"docsis-pie": []}}),
            "runs: 'drop-tail-250ms' is a required",
        ),
        (
            json.dumps(
                {"about": ABOUT, "runs": {name: [{**RUN, "p50_ms": -1}] for name in MANAGERS}}
            ),
            r"runs.drop-tail-250ms.0.p50_ms: -1 is less than",
        ),
    ],
)
def test_unusable_results_are_refused_before_anything_is_made(
    content: str | None, said: str, tmp_path: Path
) -> None:
    file, results = tmp_path / "recorded.json", tmp_path / "results"
    if content is not None:
        file.write_text(content)
    case = ToldCase(lambda seed: 100.0)
    with pytest.raises(TestbedError, match=f"recorded.json: {said}"):
        job.run(
            case, file, virtual=VirtualStage, seeds=1, console=Console(quiet=True), results=results
        )
    assert not results.exists()
    assert case.seeds == []


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.057, "0.06"), (9.99, "9.99"), (9.996, "10.0"), (-9.996, "-10.0"), (99.96, "100"),
     (226.4, "226"), (1234.5, "1234")],
)  # fmt: skip
def test_measured_values_have_three_digits(value: float, written: str) -> None:
    assert table._measured(value) == written


def test_a_real_run_has_all_quantities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    topology = load_topology(TOPOLOGIES / "residential.yaml", "cable-20")
    loaded = demo(topology, measured_seconds=2)
    case = cases.ScenarioCase(loaded, MANAGERS, variant="residential-cable-20")
    document, why = judged(case, recorded(tmp_path), tmp_path, seeds=1)
    assert why.startswith("no verdict")
    found = {
        (entry["manager"], entry["quantity"]): entry["virtual"]["value"]
        for entry in document["comparisons"]
    }
    for manager in MANAGERS:
        assert 0 < found[manager, "idle_p50_ms"] < 1
        assert found[manager, "p50_ms"] == pytest.approx(
            found[manager, "induced_p50_ms"] + found[manager, "idle_p50_ms"], abs=1e-3
        )
        assert 18 < found[manager, "goodput_mbps"] < 20
    assert found["docsis-pie", "p50_ms"] < found["drop-tail-250ms", "p50_ms"]


@pytest.mark.parametrize("name", ["docsis-ns3.json", "docsis-ns3-map-1ms.json"])
def test_what_docsis_ns3_measured_is_whole(name: str) -> None:
    results = data.load(data.RECORDED.with_name(name))
    assert set(results.runs) == set(MANAGERS)
    for manager in MANAGERS:
        assert len(results.runs[manager]) >= rule.RUNS
        for run in results.runs[manager]:
            # Rounded one by one.
            assert run["p50_ms"] - run["idle_p50_ms"] == pytest.approx(
                run["induced_p50_ms"], abs=2e-4
            )
            assert run["idle_p50_ms"] < run["p50_ms"] <= run["p90_ms"] <= run["p99_ms"]


def test_the_schemas_describe_themselves() -> None:
    for name in ("results", "referee"):
        jsonschema.Draft202012Validator.check_schema(data.schema(name))


def test_the_command_refuses_a_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = docsis_p4("accept", "referee", "--referee", "missing.json")
    assert result.returncode == 1
    assert "missing.json: cannot be read (No such file or directory)" in result.stderr


def test_a_run_without_a_value_is_not_left_out(tmp_path: Path) -> None:
    """Left out, a run in which nothing arrived would improve the median."""

    class Silent(ToldCase):
        def values(self, folder: Path, manager: str) -> values.Values:
            found = dict(super().values(folder, manager))
            return {**found, "p90_ms": None if found["p50_ms"] == 3 else found["p90_ms"]}

    with pytest.raises(TestbedError, match="1 of 10 runs have no value of p90_ms, so nothing can"):
        job.run(
            Silent(float),
            recorded(tmp_path),
            virtual=VirtualStage,
            seeds=rule.RUNS,
            console=Console(file=io.StringIO(), width=80),
            results=tmp_path / "results",
        )
