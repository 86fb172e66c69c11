# SPDX-License-Identifier: Apache-2.0
"""Collecting, resuming, comparing and telling, with a case that is told what it measures."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from docsis_experiments.acceptance import cases, closed_loop, figures, margins, sources
from docsis_experiments.acceptance import values as of_runs
from docsis_experiments.acceptance.collect import Stages, Wanted
from docsis_experiments.runs import sources as code
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import NoVerdict, TestbedError

WHOLE = Wanted(margins.MININET_RUNS, margins.SEEDS)
MANAGERS = ("tail", "pie")
STEADY: Mapping[str, float | None] = {
    "goodput_mbps": 19.0,
    "p50_ms": 10.0,
    "p90_ms": 20.0,
    "p99_ms": 30.0,
    "jain": 0.9,
    "loss_percent": 1.0,
    "retransmissions": None,
}


class ToldCase:
    """Writes what it is told to, in the place where a job would."""

    name = "told"
    managers = MANAGERS

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {"traffic": "some"}
        self.played: list[str] = []
        self.refused: list[str] = []
        self.offset: Callable[[str, int], float] = lambda stage, number: 0.01 * (number % 3)
        self.why: Iterator[str] = iter(())
        self.fails_at = -1
        self.lacks = ("", "")
        """The stage and the quantity of which the second run there has no value."""

    def admit(self, stage: Any) -> None:
        if stage.marks["stage"] in self.refused:
            raise TestbedError(f"no {stage.marks['stage']} here; install it")

    def play(self, stage: Any, console: Console, results: Path) -> None:
        where = stage.marks["stage"]
        number = len(self.played)
        if number == self.fails_at:
            raise TestbedError("a switch died")
        self.played.append(where)
        folder = results / "20260101-000000-told"
        folder.mkdir()
        why = next(self.why, "") if where == "mininet" else ""
        offset = self.offset(where, number)
        measured = {name: None if v is None else v + offset for name, v in STEADY.items()}
        if where == self.lacks[0] and self.played.count(where) == 2:
            measured[self.lacks[1]] = None
        content = {
            "no_verdict": [why] if why else [],
            "runs": dict.fromkeys(MANAGERS, measured),
        }
        (folder / "summary.json").write_text(json.dumps(content))
        console.print("played")
        if number % 2:
            raise TestbedError("1 of 1 measured values are not within their tolerance")

    def values(self, folder: Path, manager: str) -> of_runs.Values:
        found: of_runs.Values = of_runs.document(folder, "summary.json")["runs"][manager]
        return found


class RealTime(VirtualStage):
    """Stands where Mininet is, and starts none."""

    @property
    def marks(self) -> Mapping[str, Any]:
        return {"stage": "mininet"}


def run(case: cases.Case, wanted: Wanted, results: Path, said: io.StringIO) -> None:
    closed_loop.run(
        [case],
        stages=Stages(RealTime, VirtualStage),
        wanted=wanted,
        console=Console(file=said, width=80),
        results=results,
    )


def accepted(case: cases.Case, wanted: Wanted, results: Path) -> tuple[dict[str, Any], str]:
    """The document, and how the command ended: "" where all is equivalent."""
    said, why = io.StringIO(), ""
    try:
        run(case, wanted, results, said)
    except NoVerdict as error:
        why = f"no verdict: {error}"
    except TestbedError as error:
        why = str(error)
    document: dict[str, Any] = json.loads((results / "closed-loop.json").read_text())
    assert document["cases"][0]["name"] in said.getvalue()
    return document, f"{why}\n{said.getvalue()}"


def verdicts(document: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for comparison in document["cases"][0]["comparisons"]:
        found.setdefault(comparison["quantity"], set()).add(comparison["verdict"])
    return found


def test_what_is_the_same_is_equivalent(tmp_path: Path) -> None:
    case = ToldCase()
    document, why = accepted(case, WHOLE, tmp_path)
    assert why.startswith("\n")
    assert document["equivalent"] is True
    assert {name: found.pop() for name, found in verdicts(document).items()} == {
        name: "not measured" if name == "retransmissions" else "equivalent" for name in STEADY
    }
    assert "retransmissions" in why.splitlines()[-2]
    assert case.played.count("mininet") == 10
    assert case.played.count("virtual") == 30
    [said] = {path.read_text() for path in tmp_path.rglob("said.txt")}
    assert said == "played\n"


def test_what_is_different_is_told_and_written(tmp_path: Path) -> None:
    case = ToldCase()
    # 2.2 ms are beyond the margin of p50, 1 ms, and of p90, 2 ms, and within that of p99, 6 ms.
    case.offset = lambda stage, number: 2.2 * (stage == "virtual") + 0.01 * (number % 3)
    document, why = accepted(case, WHOLE, tmp_path)
    assert document["equivalent"] is False
    found = verdicts(document)
    assert found["p50_ms"] == found["p90_ms"] == found["jain"] == {"different"}
    assert found["p99_ms"] == {"equivalent"}
    assert why.startswith("10 of 12 comparisons are not equivalent: 10 different, 0 not shown")


@pytest.mark.parametrize("stage", ["mininet", "virtual"])
def test_a_run_without_a_value_fails(stage: str, tmp_path: Path) -> None:
    """In its second run nothing of the call arrived."""
    case = ToldCase()
    case.lacks = (stage, "p50_ms")
    document, why = accepted(case, Wanted(margins.MININET_RUNS, margins.SEEDS), tmp_path)
    assert document["equivalent"] is False
    assert verdicts(document)["p50_ms"] == {"values missing"}
    assert why.startswith(
        "2 of 12 comparisons are not equivalent: 0 different, 0 not shown, 2 where some runs have "
        "no value\n"
    )
    assert "fails, as some runs of a stage have no value: latency p50, ms." in why


def test_what_varies_too_much_is_not_shown(tmp_path: Path) -> None:
    case = ToldCase()
    case.offset = lambda stage, number: 3.0 * (number % 3) if stage == "mininet" else 3.0
    document, why = accepted(case, WHOLE, tmp_path)
    assert verdicts(document)["p50_ms"] == {"not shown"}
    assert "comparisons are not equivalent" in why


def test_too_few_runs_are_no_verdict(tmp_path: Path) -> None:
    document, why = accepted(ToldCase(), Wanted(9, 30), tmp_path)
    assert why.startswith("no verdict: 12 of 12 comparisons have too few runs")
    assert document["equivalent"] is False
    assert verdicts(document)["p50_ms"] == {"too few runs"}
    [first] = [c for c in document["cases"][0]["comparisons"] if c["quantity"] == "p50_ms"][:1]
    assert first["difference"] == pytest.approx(0, abs=0.02)
    assert first["interval"] is not None


def test_runs_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    case = ToldCase()
    first, _ = accepted(case, Wanted(2, 3), tmp_path)
    assert sorted(case.played) == ["mininet"] * 2 + ["virtual"] * 3
    # A machine without Mininet may compare.
    case.refused = ["mininet", "virtual"]
    again, _ = accepted(case, Wanted(2, 3), tmp_path)
    assert again == first
    assert len(case.played) == 5
    case.refused = []
    more, _ = accepted(case, Wanted(4, 4), tmp_path)
    assert sorted(case.played) == ["mininet"] * 4 + ["virtual"] * 4
    assert [run.split("/")[0] for run in more["cases"][0]["runs"]["mininet"]["counted"]] == [
        f"run-00{number}" for number in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("changed", ["inputs", "commit", "code"])
def test_runs_of_something_else_are_kept_and_not_compared(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = ToldCase()
    accepted(case, Wanted(1, 2), tmp_path)
    match changed:
        case "inputs":
            case.inputs["traffic"] = "more"
        case "commit":
            monkeypatch.setattr(sources, "commit", lambda root: "0123456789")
        case "code":
            for name in ("parts", "parts_now"):
                monkeypatch.setattr(code, name, lambda stage: {"code": "another"})
    document, why = accepted(case, Wanted(1, 2), tmp_path)
    assert len(case.played) == 6
    runs = document["cases"][0]["runs"]
    assert (len(runs["mininet"]["counted"]), runs["mininet"]["of_other_sources"]) == (1, 1)
    assert (len(runs["virtual"]["counted"]), runs["virtual"]["of_other_sources"]) == (2, 2)
    assert "told, virtual: 2 runs are of another commit" in why


def test_a_run_that_another_version_made_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch is built again while a run goes on."""
    case, parts = ToldCase(), code.parts("mininet")

    def now(stage: code.StageName) -> Mapping[str, str]:
        changed = {} if len(case.played) < 2 else {"switch": "another"}
        return {**parts, **changed}

    monkeypatch.setattr(code, "parts", lambda stage: parts)
    monkeypatch.setattr(code, "parts_now", now)
    with pytest.raises(TestbedError, match="was changed while runs went on"):
        run(case, Wanted(3, 0), tmp_path, io.StringIO())
    assert case.played == ["mininet"] * 2
    assert len(list(tmp_path.rglob("run.json"))) == 1


def test_a_late_run_is_made_again_and_told(tmp_path: Path) -> None:
    case = ToldCase()
    case.why = iter(["tail: cm1 was late", "", "pie: cm1 was late"])
    document, why = accepted(case, Wanted(3, 0), tmp_path)
    runs = document["cases"][0]["runs"]["mininet"]
    assert len(runs["counted"]) == 3
    assert [run["why"] for run in runs["not_counted"]] == [
        "tail: cm1 was late",
        "pie: cm1 was late",
    ]
    assert len(case.played) == 5
    assert "told, Mininet: 2 runs do not count" in why


def test_a_machine_that_is_never_quiet_has_an_end(tmp_path: Path) -> None:
    case = ToldCase()
    case.why = iter(["tail: cm1 was late"] * 1000)
    document, why = accepted(case, Wanted(3, 0), tmp_path)
    assert len(case.played) == 3
    assert document["cases"][0]["runs"]["mininet"]["counted"] == []
    assert why.startswith("no verdict: ")


def test_a_run_that_fails_ends_it_and_keeps_those_before(tmp_path: Path) -> None:
    case = ToldCase()
    case.fails_at = 2
    with pytest.raises(TestbedError, match="^a switch died$"):
        run(case, Wanted(0, 4), tmp_path, io.StringIO())
    case.fails_at = -1
    document, _ = accepted(case, Wanted(0, 4), tmp_path)
    assert len(case.played) == 4
    assert len(document["cases"][0]["runs"]["virtual"]["counted"]) == 4


def test_what_cannot_be_played_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    case = ToldCase()
    case.refused = ["mininet"]
    with pytest.raises(TestbedError, match="^no mininet here; install it$"):
        run(case, Wanted(1, 5), tmp_path, io.StringIO())
    assert case.played == []
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    case = ToldCase()
    accepted(case, Wanted(0, 1), tmp_path)
    [record] = tmp_path.rglob("run.json")
    whole = json.loads(record.read_text())
    damaged: list[tuple[str | bytes, str]] = [
        ("{}", 'has no "folder"'),
        ("{", "cannot be read"),
        (b"\xff", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "is no mapping"),
        (json.dumps({**whole, "counts": "false"}), "counts: 'false' is not what a record has"),
        (json.dumps({**whole, "folder": "../seed-2"}), "is no folder of a run beside it"),
        (json.dumps({**whole, "folder": "gone"}), "is no folder of a run beside it"),
    ]
    for content, words in damaged:
        record.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(TestbedError, match=f"run.json: .*{words}.*; remove the run's folder"):
            run(case, Wanted(0, 1), tmp_path, io.StringIO())


def test_a_folder_that_somebody_made_is_no_run(tmp_path: Path) -> None:
    case = ToldCase()
    accepted(case, Wanted(1, 0), tmp_path)
    [record] = tmp_path.rglob("run.json")
    (record.parent.parent / "run-old").mkdir()
    accepted(case, Wanted(2, 0), tmp_path)
    assert len(list(tmp_path.rglob("run-002/run.json"))) == 1


def test_a_document_is_replaced_at_once_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = ToldCase()
    accepted(case, Wanted(0, 1), tmp_path)
    before = (tmp_path / "closed-loop.json").read_bytes()

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TestbedError, match="closed-loop.json: cannot be written"):
        run(case, Wanted(0, 1), tmp_path, io.StringIO())
    assert (tmp_path / "closed-loop.json").read_bytes() == before


def test_an_interrupted_run_is_made_again(tmp_path: Path) -> None:
    case = ToldCase()
    accepted(case, Wanted(0, 1), tmp_path)
    [record] = tmp_path.rglob("run.json")
    record.unlink()
    [folder] = record.parent.glob("*-told")
    folder.rename(folder.with_name(f"{folder.name}.partial"))
    document, _ = accepted(case, Wanted(0, 1), tmp_path)
    assert len(case.played) == 2
    assert document["cases"][0]["runs"]["virtual"]["counted"] == [f"seed-1/{folder.name}"]


def test_the_schema_describes_itself() -> None:
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(figures.schema())
