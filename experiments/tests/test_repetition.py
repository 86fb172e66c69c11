# SPDX-License-Identifier: Apache-2.0
"""Experiments that are played many times: what is made, kept, told and written, on both stages."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import scenario_files
from pictures import without_pictures
from rich.console import Console
from time_samples import JUMPED, TIMERS

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Run
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.repetition import job, virtual
from docsis_experiments.repetition.making import Maker
from docsis_experiments.repetition.real_time import Repetitions
from docsis_experiments.repetition.virtual import Seeds
from docsis_experiments.reports import document, report
from docsis_experiments.runs import files, sources
from docsis_experiments.runs.outcome import of_record
from docsis_experiments.runs.pool import Played
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import Unit, key
from docsis_testbed.errors import NoVerdict, TestbedError

Delay = Callable[[str, int], float]
"""Latency of a run, milliseconds, by its label and its number."""


def steady(label: str, number: int) -> float:
    """Within every band, and tail above codel."""
    return {"tail": 50.0, "codel": 20.0}[label] + number % 3


class ToldStage:
    """A stage whose runs leave what it is told."""

    target = "embedded"
    build_seconds = 0.0
    marks: Mapping[str, Any] = {}

    def __init__(self, delay: Delay = steady) -> None:
        self.delay = delay
        self.changes: dict[int, dict[str, Any]] = {}
        """Changes to the records, by how many were made before."""
        self.played: list[str] = []
        self.stopped_at = 10**9
        self.open = 0

    def admit(self, *args: object) -> None:
        """Plays everything."""

    @contextmanager
    def opened(self, what: str, topology: object) -> Iterator[None]:
        del what, topology
        self.open += 1
        yield
        self.open -= 1

    def timers(self) -> dict[str, Any]:
        return TIMERS

    def versions(self) -> dict[str, str]:
        return {"python": "3"}

    def measure(
        self, scenario: object, run: Run, *args: object, number: int, folder: Path, progress: Any
    ) -> RunRecord:
        assert self.open == 1
        assert folder.is_dir()
        made = len(self.played)
        if made == self.stopped_at:
            raise KeyboardInterrupt
        progress("measuring", 5.0)
        self.played.append(f"{run.label} {folder.name}")
        # Also when it goes on, or makes one again: runs are compared under the same draws.
        assert number == int(folder.name.split("-")[0])
        return scenario_files.record(
            run.label, self.delay(run.label, number), **self.changes.get(made, {})
        )


def repetitions(stage: ToldStage, kept: Path) -> Maker:
    played: Any = stage
    return Repetitions(played, Store(kept))


def result(
    loaded: Loaded, maker: Maker, count: int, folder: Path, **options: Any
) -> tuple[dict[str, Any], str, TestbedError | None]:
    """summary.json, what was said, and how it failed."""
    said = io.StringIO()
    failed: TestbedError | None = None
    try:
        job.run(
            loaded,
            maker=maker,
            numbers=range(1, count + 1),
            console=Console(file=said, width=150),
            results=folder,
            **options,
        )
    except TestbedError as error:
        failed = error
    made = [one for one in folder.iterdir() if not one.name.endswith(".partial")]
    if not made:
        return {}, said.getvalue(), failed
    return json.loads((made[-1] / "summary.json").read_text()), said.getvalue(), failed


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """Expects a p90 of 35 to 65 of tail, and that tail is not below codel."""
    return scenario_files.loaded(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A result of six repetitions, of which one run was late and made again."""
    folder = tmp_path_factory.mktemp("whole")
    stage = ToldStage()
    stage.changes[3] = {"timing": JUMPED}
    figures, said, failed = result(
        scenario_files.loaded(folder),
        repetitions(stage, folder / "kept"),
        6,
        folder / "results",
    )
    assert failed is None
    assert stage.played[2:6] == ["tail 2", "codel 2", "codel 2-again-1", "tail 3"]
    [made] = (folder / "results").iterdir()
    return made, figures, said


def test_the_folder_has_what_others_have(whole: tuple[Path, dict[str, Any], str]) -> None:
    folder, figures, _ = whole
    document.validate(figures)
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "details.json", "inputs", "outcomes.parquet", "plots", "report.html", "runs",
        "summary.json",
    }  # fmt: skip
    assert {path.name for path in (folder / "plots").iterdir()} == {"latency.png", "published.png"}
    assert (folder / "runs" / "codel" / "2-again-1" / "packets.csv").is_file()
    assert {path.name for path in (folder / "inputs").iterdir()} == {
        "scenario.yaml",
        "topology.yaml",
    }


def test_every_run_is_a_row(whole: tuple[Path, dict[str, Any], str]) -> None:
    rows = files.read(whole[0] / "outcomes.parquet")
    assert [(one.run, one.number) for one in rows] == [
        *(("tail", number) for number in range(1, 7)),
        *(("codel", number) for number in (1, 2, 2, 3, 4, 5, 6)),
    ]
    assert [one.withheld for one in rows if one.withheld] == [JUMPED.words]


def test_the_summary_has_medians_intervals_and_verdicts(
    whole: tuple[Path, dict[str, Any], str],
) -> None:
    figures = whole[1]
    assert figures["sentence"] == (
        "Reproduced: of 6 repetitions, the 95% intervals of all 2 judged values are within what "
        "was allowed."
    )
    tail, codel = figures["runs"]
    assert (tail["counted"], codel["made"]) == ([1, 2, 3, 4, 5, 6], 7)
    assert codel["not_counted"] == [{"number": 2, "why": JUMPED.words}]
    p90 = tail["groups"]["call"]["values"]["latency p90"]
    assert (p90["runs"], p90["median"]) == (6, 51.0)
    assert p90["interval"][0] < 51 < p90["interval"][1]
    table = tail["groups"]["call"]["latency_ms"]
    assert (table["median"][0], len(table["low"])) == (51.0, len(table["probability"]))
    [less] = figures["differences"]
    assert (less["run"], less["base"]) == ("codel", "tail")
    # Within a repetition they always differ by the same.
    assert less["groups"]["call"]["latency p90"] == {
        "runs": 6, "median": -30.0, "interval": [-30.0, -30.0],
    }  # fmt: skip
    value, order = figures["expectations"]
    assert [value["verdict"], order["verdict"]] == ["reproduced", "reproduced"]
    assert order["values"] == [30.0] * 6
    assert order["name"] == "tail less codel"
    assert len(value["hash"]) == 12


def test_the_terminal_has_the_verdict_first(whole: tuple[Path, dict[str, Any], str]) -> None:
    said = whole[2]
    assert said.index("Reproduced: of 6 repetitions") < said.index("Less tail")
    for words in ("Less tail", "35 to 65", "reproduced", "codel, repetition 2: not valid"):
        assert words in said
    assert "it is made again" in said


def test_the_report_opens_offline_with_the_verdict_first(
    whole: tuple[Path, dict[str, Any], str],
) -> None:
    folder, figures, _ = whole
    page = (folder / "report.html").read_text()
    for reference in ("http://", "https://", 'src="plots', "<script", "@import"):
        assert reference not in page
    assert page.count("data:image/png;base64,") == 2
    found = page.index("the median latency of call is")
    assert page.index("Reproduced: of 6") < found < page.index("<h2>")
    for words in (figures["expectations"][0]["hash"], "Student", "Differences to tail"):
        assert words in page
    assert "--repeat 6" in page
    assert report.write(folder).read_text() == page


def test_a_result_that_is_written_keeps_nothing_for_another(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "_written", lambda *args: {})
    monkeypatch.setattr(job, "_show", lambda *args: None)
    monkeypatch.setattr(job, "_judge", lambda figures: None)
    stage = ToldStage()
    for folder in ("one", "two"):
        job.run(
            loaded,
            maker=repetitions(stage, tmp_path / "kept"),
            numbers=range(1, 3),
            console=Console(file=io.StringIO()),
            results=tmp_path / folder,
        )
    assert len(stage.played) == 8
    assert list((tmp_path / "kept").glob("*/*")) == []


def test_one_that_was_stopped_goes_on(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    stage = ToldStage()
    stage.stopped_at = 7
    with pytest.raises(KeyboardInterrupt):
        result(loaded, repetitions(stage, tmp_path / "kept"), 5, tmp_path / "results")
    [partial] = (tmp_path / "results").iterdir()
    assert partial.name.endswith(".partial")
    again = ToldStage()
    _, said, failed = result(loaded, repetitions(again, tmp_path / "kept"), 5, tmp_path / "other")
    assert failed is None
    assert again.played == ["codel 4", "tail 5", "codel 5"]
    assert "7 runs were there already." in said


def test_one_that_another_version_made_is_not_kept(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch is built again while the third run goes on."""
    without_pictures(monkeypatch)
    stage = ToldStage()
    ours = sources.parts("mininet")
    monkeypatch.setattr(
        sources, "parts_now", lambda at: {**ours, **({"switch": ""} if stage.played[2:] else {})}
    )
    _, _, failed = result(loaded, repetitions(stage, tmp_path / "kept"), 5, tmp_path / "results")
    assert "was changed while runs went on" in str(failed)
    assert len(stage.played) == 3
    assert len(list((tmp_path / "kept").glob("*/*.parquet"))) == 2


def test_runs_are_made_again_a_bounded_number_of_times(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    stage = ToldStage()
    stage.changes = {number: {"timing": JUMPED} for number in range(100)}
    figures, said, failed = result(
        loaded, repetitions(stage, tmp_path / "kept"), 5, tmp_path / "results"
    )
    # Five times two, and five more.
    assert len(stage.played) == 15
    assert isinstance(failed, NoVerdict)
    assert said.count("it is not made again") == 10
    assert figures["runs"][0]["groups"] == {}
    assert [entry["why"] for entry in figures["expectations"]] == [
        "0 runs count, and a verdict needs 5"
    ] * 2
    assert figures["expectations"][0]["measured"]["median"] is None


def test_a_valid_run_restores_the_number_of_times(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    stage = ToldStage()
    # Two of three runs are not valid: never five in a row, but twenty in all.
    stage.changes = {number: {"timing": JUMPED} for number in range(100) if number % 3 != 2}
    _, said, failed = result(loaded, repetitions(stage, tmp_path / "kept"), 5, tmp_path / "results")
    assert len(stage.played) == 30
    assert failed is None
    assert said.count("it is made again") == 20


@pytest.mark.parametrize(
    ("count", "delay", "status", "words"),
    [
        (5, 500.0, 1, "Contradicted: of 2 judged values over 5 repetitions, 1 is reproduced and 1"),
        (3, 50.0, 3, "Undecided: 3 repetitions are too few, a verdict needs 5"),
        (1, 50.0, 3, "Undecided: 1 repetition is too few, a verdict needs 5"),
    ],
)
def test_exit_statuses(
    loaded: Loaded, tmp_path: Path, count: int, delay: float, status: int, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    without_pictures(monkeypatch)
    stage = ToldStage(lambda label, number: delay if label == "tail" else 20.0)
    figures, _, failed = result(
        loaded, repetitions(stage, tmp_path / "kept"), count, tmp_path / "results"
    )
    assert failed is not None
    assert failed.exit_status == status
    assert str(failed).startswith(words)
    assert f"{failed}." == figures["sentence"]


def test_only_some_runs(loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    figures, _, failed = result(
        loaded,
        repetitions(ToldStage(), tmp_path / "kept"),
        5,
        tmp_path / "results",
        only=["tail"],
    )
    assert failed is None
    assert figures["differences"] == []
    assert [entry["verdict"] for entry in figures["expectations"]] == ["reproduced", "not run"]
    assert figures["verdict"] == "undecided"


class ToldPool:
    """Plays units in no time."""

    def __init__(self) -> None:
        self.played: list[str] = []
        self.fails: set[int] = set()
        self.stops_after = 10**9

    def play_all(self, units: Iterable[Unit], jobs: int) -> Generator[Played, None, None]:
        assert jobs == 2
        for unit in units:
            if len(self.played) == self.stops_after:
                raise KeyboardInterrupt
            self.played.append(f"{unit.label} {unit.seed}")
            if unit.seed in self.fails:
                yield Played(unit, None, f"{unit.label}, seed {unit.seed}: its process was killed")
                continue
            record = scenario_files.record(
                unit.label, steady(unit.label, unit.seed), digest=f"{unit.seed:016x}"
            )
            made = of_record(
                record,
                unit.loaded.scenario,
                unit.measured.values(),
                key=key(unit),
                number=unit.seed,
            )
            yield Played(unit, made)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> ToldPool:
    made = ToldPool()
    monkeypatch.setattr(virtual, "play_all", made.play_all)
    without_pictures(monkeypatch)
    return made


def test_seeds_are_kept_and_not_played_again(
    loaded: Loaded, tmp_path: Path, pool: ToldPool
) -> None:
    pool.stops_after = 7
    maker = Seeds(2, Store(tmp_path / "kept"))
    with pytest.raises(KeyboardInterrupt):
        result(loaded, maker, 6, tmp_path / "stopped")
    pool.stops_after = 10**9
    figures, said, failed = result(loaded, maker, 6, tmp_path / "results")
    assert failed is None
    assert sorted(pool.played) == sorted(
        f"{run} {n}" for n in range(1, 7) for run in ("tail", "codel")
    )
    assert "7 runs were there already." in said
    assert (figures["stage"], figures["jobs"], figures["count"]) == ("virtual", 2, 6)
    assert figures["runs"][0]["digests"] == [f"{n:016x}" for n in range(1, 7)]
    # More seeds are only those that are missing, and the same again is none.
    result(loaded, maker, 8, tmp_path / "more")
    assert pool.played[12:] == ["tail 7", "codel 7", "tail 8", "codel 8"]
    again, _, _ = result(loaded, maker, 6, tmp_path / "again")
    assert {**again, "versions": {}} == {**figures, "versions": {}}


def test_a_damaged_one_is_told_and_played_again(
    loaded: Loaded, tmp_path: Path, pool: ToldPool
) -> None:
    maker = Seeds(2, Store(tmp_path / "kept"))
    result(loaded, maker, 5, tmp_path / "one")
    damaged = sorted((tmp_path / "kept").glob("*/*.parquet"))[0]
    damaged.write_bytes(b"not Parquet")
    _, said, failed = result(loaded, maker, 5, tmp_path / "two")
    assert failed is None
    assert len(pool.played) == 11
    assert "it is put aside as *.damaged, and the run is made again" in said


def test_what_cannot_be_made_is_told_and_the_others_are_kept(
    loaded: Loaded, tmp_path: Path, pool: ToldPool
) -> None:
    pool.fails = {3}
    maker = Seeds(2, Store(tmp_path / "kept"))
    figures, _, failed = result(loaded, maker, 5, tmp_path / "one")
    assert figures == {}
    assert str(failed) == (
        "2 of 10 runs could not be made, the first: tail, seed 3: its process was killed; the "
        "others are kept, and the same command makes what is missing"
    )
    pool.fails = set()
    assert result(loaded, maker, 5, tmp_path / "two")[2] is None
    assert pool.played[10:] == ["tail 3", "codel 3"]


@pytest.mark.parametrize("count", [0, -3, 10_001])
def test_seeds_have_a_range(count: int) -> None:
    with pytest.raises(TestbedError, match=f"--seeds {count}: must be a number from 1 to 10000"):
        Seeds.numbers(count)


@pytest.mark.parametrize("count", [0, 1001])
def test_repetitions_have_a_range(count: int) -> None:
    with pytest.raises(TestbedError, match=f"--repeat {count}: must be a number from 1 to 1000"):
        Repetitions.numbers(count)


def test_jobs_have_a_range(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="--jobs 0: must be a number from 1 to 256"):
        Seeds(0, Store(tmp_path))
