# SPDX-License-Identifier: Apache-2.0
"""Results beside each other: what is read, paired, told and refused."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcome_files import QUICK, outcome, quick
from pictures import without_pictures
from rich.console import Console
from scenario_files import write as write_scenario
from time_samples import TIMERS

from docsis_experiments.comparison import job
from docsis_experiments.comparison.difference import difference
from docsis_experiments.comparison.reading import Result, Series, read
from docsis_experiments.comparison.titles import titles
from docsis_experiments.experiment.loader import load as load_scenario
from docsis_experiments.measurement.distribution import distribution
from docsis_experiments.repetition import once
from docsis_experiments.reports import repeated_summary
from docsis_experiments.runs import files, pool
from docsis_experiments.runs.outcome import PROBABILITIES, Group
from docsis_experiments.runs.store import Store
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_experiments.sweeps import job as sweep_job
from docsis_experiments.sweeps.loader import load as load_sweep
from docsis_testbed.errors import TestbedError

SWEEP = """
name: mine
title: Two managers
experiment: {experiment}
axes: {{}}
seeds: {seeds}
"""


def series(values: Sequence[float], *, seeded: bool = True, first: int = 1) -> Series:
    """A series with one value of each run, from seed `first` on."""
    runs = {
        seed: {"game": Group({"latency p90": value}, (value,) * len(PROBABILITIES))}
        for seed, value in enumerate(values, first)
    }
    return Series("CoDel", runs, seeded)


def of(before: Series, after: Series) -> tuple[float, float | None, float | None, bool, str]:
    found = difference(before, after, "game", "latency p90")
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return found.value, low, high, found.paired, found.why


def test_equal_seeds_are_paired() -> None:
    # What differs between seeds is much more than what differs within them.
    values = [10.0, 200.0, 30.0, 4000.0, 5.0]
    assert of(series(values), series([value + 2 for value in values])) == (2, 2, 2, True, "")


def test_other_seeds_and_repetitions_are_not_paired() -> None:
    values = [10.0, 11.0, 12.0, 13.0, 14.0]
    for other in (series(values, first=2), series(values, seeded=False)):
        value, low, high, paired, why = of(series(values), other)
        assert (value, paired, why) == (0, False, "")
        assert low is not None
        assert high is not None
        assert low < 0 < high


def test_many_unpaired_runs_have_the_bootstraps_interval() -> None:
    before = [float(value) for value in range(12)]
    value, low, high, paired, _ = of(
        series(before), series([one + 100 for one in before], first=50)
    )
    assert (value, paired) == (100, False)
    assert low is not None
    assert high is not None
    assert 90 < low < 100 < high < 110


def test_a_value_that_one_seed_has_not_leaves_the_others_paired() -> None:
    values = [10.0, 200.0, 30.0, 4000.0, 5.0, 7.0]
    after = [value + 2 for value in values]
    after[1] = math.nan
    assert of(series(values), series(after)) == (2, 2, 2, True, "")
    nowhere = [math.nan] * 6
    assert of(series(values), series(nowhere))[3:] == (False, "no value")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ([1.0], [2.0], "these are single runs"),
        ([1.0, 2.0], [2.0, 3.0], "an interval needs 5 runs, not 2"),
        ([1.0] * 5, [2.0, 3.0], "an interval needs 5 runs of both, and one has 2"),
        ([math.nan], [1.0], "no value"),
    ],
)
def test_too_few_runs_have_no_interval(before: list[float], after: list[float], why: str) -> None:
    paired = len(before) == len(after) and why != "no value"
    assert of(series(before), series(after))[1:] == (None, None, paired, why)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.integers(0, 20))
def test_nothing_differs_from_itself(values: list[float], first: int) -> None:
    one = series(values, first=first)
    value, low, high, paired, _ = of(one, one)
    assert (value, paired) == (0, True)
    assert (low, high) in ((None, None), (0, 0))


Made = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same sweep, of two seeds and of one of them."""
    folder = tmp_path_factory.mktemp("sweeps")
    experiment = write_scenario(folder, *QUICK)
    store = Store(folder / "kept")
    made: list[Path] = []
    with pytest.MonkeyPatch.context() as patched:
        without_pictures(patched)
        for seeds in ("[1, 2]", "[2]"):
            path = folder / "mine.yaml"
            path.write_text(SWEEP.format(experiment=experiment, seeds=seeds))
            made.append(
                sweep_job.run(
                    load_sweep(path),
                    play=lambda units: pool.play_all(units, 1),
                    console=Console(quiet=True),
                    results=folder / f"results{len(made)}",
                    store=store,
                )
            )
    return made[0], made[1]


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of each queue manager."""
    folder = tmp_path_factory.mktemp("single")
    loaded = load_scenario(write_scenario(folder, *QUICK))
    plain = loaded.scenario.model_copy(update={"expectations": ()})
    with pytest.MonkeyPatch.context() as patched:
        without_pictures(patched)
        return once.run(
            type(loaded)(plain, loaded.topology),
            stage=VirtualStage(2),
            console=Console(quiet=True),
            results=folder / "results",
        )


def test_a_sweep_beside_a_run(sweeps: tuple[Path, Path], single: Path, tmp_path: Path) -> None:
    console = Console(record=True, width=160)
    folder = job.run([sweeps[1], single], console=console, results=tmp_path)
    summary = json.loads((folder / "summary.json").read_text())
    codel = [one for one in summary["differences"] if one["series"] == "codel"]
    # The same seed, unit by unit: the very same packets. Summaries have six digits.
    assert codel
    assert [one["difference"] for one in codel] == pytest.approx([0] * len(codel), abs=1e-5)
    assert {one["paired"] for one in codel} == {True}
    assert {one["why"] for one in codel} == {"these are single runs"}
    assert "codel" in console.export_text()
    page = (folder / "report.html").read_text()
    assert page.count("data:image/png") == len(list((folder / "plots").iterdir())) > 0


def test_seeds_that_are_not_the_same(
    sweeps: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    folder = job.run([*sweeps], console=Console(quiet=True), results=tmp_path)
    summary = json.loads((folder / "summary.json").read_text())
    assert {tuple(one["runs"]) for one in summary["differences"]} == {(2, 1)}
    assert {one["paired"] for one in summary["differences"]} == {False}


def refused(*folders: Path) -> str:
    with pytest.raises(TestbedError) as error:
        job.run(folders, console=Console(quiet=True), results=folders[0].parent / "compared")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_cannot_be_compared(sweeps: tuple[Path, Path], single: Path, tmp_path: Path) -> None:
    good = sweeps[0]
    assert "takes 2 to 8 folders, not 1" in refused(good)
    assert "the same folder twice" in refused(good, good)
    (tmp_path / "link").symlink_to(good)
    assert "the same folder twice" in refused(good, tmp_path / "link")
    assert refused(good, tmp_path / "x") == f"{tmp_path / 'x'}: there is no such folder"
    assert "is no folder of results: summary.json cannot be read" in refused(good, tmp_path)

    def copy(source: Path, name: str) -> Path:
        return Path(shutil.copytree(source, tmp_path / name))

    partial = copy(good, "a.partial")
    assert "is of a run that did not end" in refused(good, partial)

    damaged = copy(good, "damaged")
    (damaged / "summary.json").write_text("{")
    assert "summary.json: is damaged" in refused(good, damaged)

    cut = copy(good, "cut")
    content = (cut / "outcomes.parquet").read_bytes()
    (cut / "outcomes.parquet").write_bytes(content[:-9])
    assert f"{cut / 'outcomes.parquet'}: is damaged" in refused(good, cut)

    for name, changes, words in (
        ("figures", {"experiment": "figures"}, "is of figures, which has no distributions"),
        ("shares", {"experiment": "shares"}, "is of shares from before it was a scenario"),
        ("other", {"experiment": "other"}, 'there is no "other"'),
        ("old", {"experiment": "latency"}, "is of a demo from before it was a scenario"),
        ("version", {"version": 99}, "is of another version, or damaged"),
        ("sweep", {"version": 99}, "is of another version, or damaged"),
    ):
        source = single if name == "version" else good
        folder = copy(source, name)
        summary = json.loads((folder / "summary.json").read_text()) | changes
        (folder / "summary.json").write_text(json.dumps(summary))
        assert words in refused(good, folder)

    csv = copy(single, "csv")
    [packets, *_] = sorted((csv / "runs").glob("*/packets.csv"))
    packets.write_text("group,time_s,one_way_delay_ms\ngame,soon,1\n")
    assert f"{packets}: is damaged" in refused(good, csv)
    packets.unlink()
    assert f"{packets}: cannot be read" in refused(good, csv)


def test_a_sweep_is_read_as_it_was_kept(sweeps: tuple[Path, Path]) -> None:
    result = read(sweeps[0])
    assert set(result.series) == {"tail", "codel"}
    outcomes = files.read(sweeps[0] / "outcomes.parquet")
    for one in outcomes:
        assert any(series.runs[one.number] == one.groups for series in result.series.values())


Delay = Callable[[str, int], float]


def many(folder: Path, delay: Delay, maker: str = "seeds", count: int = 6, **changes: Any) -> Path:
    """The result of `run --seeds` or `--repeat`, whose packets have the delays that are told."""
    folder.mkdir()
    (folder / "inputs").mkdir()
    (folder / "plots").mkdir()
    loaded = quick(folder)
    outcomes = [
        outcome(
            loaded,
            run.label,
            delay(run.label, number),
            number,
            digest=f"{number:016x}" if maker == "seeds" else "",
        )
        for run in loaded.scenario.all_runs
        for number in range(1, count + 1)
    ]
    stage = {"stage": "virtual", "jobs": 1} if maker == "seeds" else {"stage": "mininet"}
    summary = repeated_summary.summarise(
        loaded.scenario,
        loaded.scenario.all_runs,
        outcomes,
        [],
        numbers=range(1, count + 1),
        words=maker,
        target="embedded",
        topology=loaded.topology,
        versions={},
        timers=TIMERS,
        marks=stage,
    )
    (folder / "summary.json").write_text(json.dumps({**summary, **changes}))
    files.write(folder / "outcomes.parquet", outcomes)
    return folder


def by_seed(label: str, number: int) -> float:
    """Values whose difference from seed to seed is much more than that of what is compared."""
    return (50.0 if label == "tail" else 20.0) + 10.0 * number


def entries(folder: Path, series: str) -> dict[str, dict[str, Any]]:
    """The differences of a call's latency under a queue manager, by the quantity."""
    summary = json.loads((folder / "summary.json").read_text())
    return {
        one["quantity"]: one
        for one in summary["differences"]
        if (one["series"], one["group"]) == (series, "call")
    }


@pytest.mark.parametrize("maker", ["seeds", "repetitions"])
def test_results_of_many_seeds_are_paired_and_repetitions_are_not(
    maker: str, tmp_path: Path
) -> None:
    before = many(tmp_path / "before", by_seed, maker)
    after = many(tmp_path / "after", lambda run, seed: by_seed(run, seed) + 3, maker)
    console = Console(record=True, width=160)
    folder = job.run([before, after], console=console, results=tmp_path / "results")
    p90 = entries(folder, "tail")["latency p90"]
    assert (p90["difference"], p90["runs"]) == (3, [6, 6])
    paired = maker == "seeds"
    assert p90["paired"] is paired
    # Within a seed the difference is always the same; between seeds it is lost.
    assert (p90["low"] > 0) is paired
    if paired:
        assert (p90["low"], p90["high"]) == (3, 3)
    page = (folder / "report.html").read_text()
    assert "what they range over. Packets of different runs are never pooled" in page
    assert {one.name for one in (folder / "plots").iterdir()} == {
        f"cdf-{group}-1.png" for group in ("call", "ftp", "game", "steady")
    }


def test_the_band_of_ten_seeds_is_an_interval() -> None:
    tables = [[float(seed), 10.0 + seed] for seed in range(12)]
    found = distribution(tables)
    assert found is not None
    assert (found.runs, found.kind, list(found.median)) == (12, "interval", [5.5, 15.5])
    # Narrower than what the runs range over, and about the median.
    assert 0 < found.low[0] < 5.5 < found.high[0] < 11
    few = distribution([*tables[:3], []])
    assert few is not None
    assert (few.runs, few.kind, few.low[0], few.high[0]) == (3, "range", 0, 2)
    assert distribution([[]]) is None


def test_a_single_run_and_many_have_one_name_for_a_run(
    single: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    before = many(tmp_path / "before", by_seed)
    folder = job.run([before, single], console=Console(quiet=True), results=tmp_path / "results")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["series"] == ["tail", "codel"]
    assert summary["left_out"] == []


def test_results_with_nothing_in_common_are_refused(tmp_path: Path) -> None:
    before = many(tmp_path / "before", by_seed)
    after = many(tmp_path / "after", by_seed, title="Another one")
    summary = json.loads((after / "summary.json").read_text())
    for run in summary["runs"]:
        run["name"] += " of another kind"
    (after / "summary.json").write_text(json.dumps(summary))
    assert refused(before, after) == (
        '"A small one" and "Another one" cannot be compared: they have no queue manager under the '
        "same conditions in common; one has tail, codel, the other tail of another kind, codel of "
        "another kind"
    )


def test_results_whose_traffic_has_other_names_are_refused() -> None:
    def result(title: str, group: str) -> Result:
        runs = {1: {group: Group({"latency p50": 1.0}, ())}}
        return Result(title, title, "repeated", {"CoDel": Series("CoDel", runs, True)})

    with pytest.raises(TestbedError) as error:
        job.summarise([result("One", "call"), result("Two", "game")], ["a", "b"])
    assert str(error.value) == (
        '"One" and "Two" cannot be compared: their queue managers had no traffic of the same name; '
        "one has call, the other game"
    )


def test_what_only_one_result_has_is_told_by_its_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    before = many(tmp_path / "before", by_seed)
    after = many(tmp_path / "after", by_seed, title="Another one")
    summary = json.loads((after / "summary.json").read_text())
    summary["runs"] = summary["runs"][:1]
    (after / "summary.json").write_text(json.dumps(summary))
    console = Console(record=True, width=160)
    job.run([before, after], console=console, results=tmp_path / "results")
    said = console.export_text()
    assert "Not compared: A small one alone has codel." in said
    assert "Another one against A small one" in said


def titled(title: str, **conditions: str) -> Result:
    return Result("of no matter", title, "repeated", {}, conditions)


@pytest.mark.parametrize(
    ("results", "names", "said"),
    [
        ([titled("One"), titled("Two")], ["a", "b"], ["One", "Two"]),
        (
            [titled("One", tier="x", stage="Mininet"), titled("One", tier="y", stage="Mininet")],
            ["a", "b"],
            ["One, x", "One, y"],
        ),
        ([titled("One", tier="x"), titled("One")], ["a", "b"], ["One, x", "One, no tier"]),
        (
            [titled("One"), titled("One")],
            ["20260102-030405-one", "here/20260102-030406-one"],
            ["One, 2026-01-02 03:04:05", "One, 2026-01-02 03:04:06"],
        ),
        (
            [titled("One"), titled("One")],
            ["here/20260102-030405-one", "there/20260102-030405-one"],
            ["One, here/20260102-030405-one", "One, there/20260102-030405-one"],
        ),
        ([titled("One"), titled("One")], ["a", "b"], ["One, a", "One, b"]),
    ],
)
def test_results_have_titles_that_tell_them_apart(
    results: list[Result], names: list[str], said: list[str]
) -> None:
    assert titles(results, names) == said


def test_a_title_ends_with_what_two_results_differ_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    before = many(tmp_path / "before", by_seed)
    after = many(tmp_path / "after", by_seed, "repetitions")
    console = Console(record=True, width=160)
    folder = job.run([before, after], console=console, results=tmp_path / "results")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["title"] == "A small one, Mininet against A small one, virtual time"
    assert summary["title"] in console.export_text()
    assert summary["title"] in (folder / "report.html").read_text()
