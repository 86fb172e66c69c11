# SPDX-License-Identifier: Apache-2.0
"""PTF empties the folder of its logs, so it is given one in which nobody has anything else."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from docsis_ptf import log_folder, preflight, runner
from docsis_ptf.found import Found
from docsis_ptf.options import Options

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")})


class Ptf:
    """PTF, as far as it removes and makes the folder of its logs."""

    began = 0

    def __init__(self, arguments: Sequence[str], **_: Any) -> None:
        Ptf.began += 1
        logs = Path(arguments[arguments.index("--log-dir") + 1])
        if logs.exists():
            shutil.rmtree(logs)
        logs.mkdir(parents=True)
        (logs / "main.log").touch()

    def wait(self) -> int:
        """Returns the exit status."""
        return 0

    def poll(self) -> int:
        """Returns the exit status."""
        return 0


@pytest.fixture(autouse=True)
def _no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ptf, "began", 0)
    monkeypatch.setattr(subprocess, "Popen", Ptf)
    monkeypatch.setattr(runner, "_keep_lateness", lambda folder: "")
    monkeypatch.setattr(preflight, "check_wiring", lambda target, ports: None)
    monkeypatch.setattr(preflight, "examine", lambda params, ports: ((), Found(None)))


def run(results: Path) -> int:
    """Runs one test on a target that is not there."""
    return runner.run(Options("192.0.2.7:9559", ["CF-1"], results=results))


def test_what_a_user_keeps_beside_the_results_stays(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "mine.py").write_text("mine")
    for _ in range(2):
        run(tmp_path)
    assert Ptf.began == 2
    assert (tmp_path / "tests" / "mine.py").read_text() == "mine"
    assert (tmp_path / log_folder.NAME / "main.log").exists()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["main.log", "mine.py"], "mine.py in it is not one of PTF's logs"),
        (["main.log", "more.log/mine.py"], "more.log in it is not one of PTF's logs"),
        (["mine.log"], "there is no main.log"),
    ],
)
def test_what_ptf_has_not_written_is_not_removed(
    files: Sequence[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / log_folder.NAME
    verdicts = tmp_path / "verdicts.jsonl"
    for path in (verdicts, *(logs / name for name in files)):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    assert run(tmp_path) == runner.FAILED
    assert Ptf.began == 0
    assert all((logs / name).exists() for name in files)
    # An earlier run's results are still there, too.
    assert verdicts.exists()
    said = capsys.readouterr().err
    assert said.startswith(f"ptf: {logs}: PTF empties this folder, and ")
    assert words in said
    assert said.count("\n") == 1


def test_a_link_is_no_folder_to_empty(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / log_folder.NAME).symlink_to(tmp_path / "mine")
    with pytest.raises(ValueError, match="need a folder of this name, and this is none"):
        log_folder.of(tmp_path)


def test_an_earlier_runs_logs_and_an_empty_folder_are_in_order(tmp_path: Path) -> None:
    assert log_folder.of(tmp_path) == tmp_path / "ptf-logs"
    (tmp_path / "ptf-logs").mkdir()
    log_folder.of(tmp_path)
    for name in ("main.log", "forwarding.Runt.log"):
        (tmp_path / "ptf-logs" / name).touch()
    log_folder.of(tmp_path)


def test_no_page_has_ptf_empty_a_folder_of_the_system() -> None:
    found = [
        (page.name, Path(folder))
        for page in PAGES
        for folder in re.findall(r"--log-dir[ =](\S+)", page.read_text("utf-8"))
    ]
    assert found
    for page, folder in found:
        assert not folder.is_absolute(), f"{page}: --log-dir {folder}"
        # What is in results is made by runs; all else in a clone is somebody's work.
        assert folder.parts[0] == "results", f"{page}: --log-dir {folder}"
