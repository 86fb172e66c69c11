# SPDX-License-Identifier: Apache-2.0
"""An outcome depends on what is imported to make it, and on nothing else."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from outcome_files import quick

from docsis_control.queue_managers.names import QueueManager
from docsis_experiments.runs import closure, files, loaded_code, sources
from docsis_experiments.runs.play import play
from docsis_experiments.runs.unit import Unit
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT

PLAY = "docsis_experiments.runs.play"

_PLAYED = """
import json, sys
from pathlib import Path
from docsis_experiments.runs.play import play
from docsis_experiments.runs.unit import Unit
play(Unit.from_json(Path(sys.argv[1]).read_text()))
print(json.dumps([getattr(m, "__file__", None) for m in list(sys.modules.values())]))
"""


def test_what_is_there_after_a_run_is_in_the_closure(tmp_path: Path) -> None:
    found = quick(tmp_path)
    text = tmp_path / "unit.json"
    text.write_text(Unit.of(found, found.scenario.all_runs[1], 1).as_json())
    ended = subprocess.run(
        [sys.executable, "-c", _PLAYED, text], capture_output=True, check=True, text=True
    )
    files = {Path(name) for name in json.loads(ended.stdout) if name}
    ours = {file for file in files if any(file.is_relative_to(x) for x in folders())}
    assert ours
    assert ours <= set(closure.closure(PLAY).values())


_LOADED = """
import sys
from docsis_experiments.runs import closure, loaded_code, sources
loaded_code.parts()
print(*(name for name in closure.closure(*sources.roots("virtual")) if name not in sys.modules))
"""


def test_nothing_of_the_closure_is_loaded_later() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, check=True, text=True
    )
    assert ended.stdout.split() == []


_CHANGED_MEANWHILE = """
import sys
from pathlib import Path
from docsis_control.project_files import ROOT
from docsis_experiments.runs import pool
first, second, law, made = map(Path, sys.argv[1:])
assert law.is_relative_to(ROOT)
pool.answer(first.read_bytes())
law.write_text(law.read_text() + "raise RuntimeError('this law was changed')\\n")
made.write_bytes(pool.answer(second.read_bytes()))
"""


def test_a_law_that_is_changed_between_two_units_of_a_worker_is_that_of_before(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "copy"
    for place in ("cli", "control_plane", "experiments", "mininet", "ptf_tests", "p4src/build"):
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(ROOT / place, copy / place, ignore=ignored)
    places = [
        copy / name for name in ("cli", "control_plane", "experiments", "mininet", "ptf_tests")
    ]
    places.append(copy / "control_plane" / "docsis_control" / "gen")
    found = quick(tmp_path, ("{algorithm: codel, target: 5 ms}", "pie-002"))
    units = [Unit.of(found, run, 1) for run in found.scenario.all_runs]
    texts = [tmp_path / "first.json", tmp_path / "second.json"]
    for text, unit in zip(texts, units, strict=True):
        text.write_text(unit.as_json())
    law, made = copy / "control_plane" / "docsis_control" / "law" / "pie_002.py", tmp_path / "made"
    subprocess.run(
        [sys.executable, "-B", "-c", _CHANGED_MEANWHILE, *texts, law, made],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
    )
    assert "this law was changed" in law.read_text()
    [outcome] = files.decode(made.read_bytes(), "it")
    assert outcome.digest == play(units[1]).digest


def test_what_is_changed_before_it_is_loaded_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "parts", lambda stage: {"code": "of before"})
    with pytest.raises(TestbedError, match="was changed while runs went on"):
        loaded_code.parts.__wrapped__()
    monkeypatch.setattr(sources, "code", lambda module: "of before")
    with pytest.raises(TestbedError, match="was changed while runs went on"):
        loaded_code.of.__wrapped__("docsis_testbed.switch_report")


def folders() -> list[Path]:
    return list(closure.PACKAGES.values())


@pytest.mark.parametrize(
    "part",
    [
        "acceptance", "bench", "comparison", "figures", "repetition", "reports", "reproduction",
        "sweeps", "judging.judge", "judging.parts", "judging.repeated",
    ],
)  # fmt: skip
def test_what_judges_and_shows_is_not_in_it(part: str) -> None:
    name = f"docsis_experiments.{part}"
    found = closure.closure(PLAY)
    assert not [one for one in found if one == name or one.startswith(f"{name}.")]
    assert not [one for one in found if one.startswith("docsis_cli")]


@pytest.mark.parametrize(
    "name",
    [
        "docsis_control.law.docsis_pie",
        "docsis_control.queue_managers.managers.docsis_pie",
        "docsis_experiments.measurement.metrics.latency",
        "docsis_experiments.traffic.kinds.transfer",
        "docsis_experiments.stages.virtual.run",
        "docsis_experiments.stages",
    ],
)
def test_what_makes_an_outcome_is(name: str) -> None:
    assert name in closure.closure(PLAY)


@pytest.mark.parametrize("manager", QueueManager)
def test_each_queue_manager_is(manager: QueueManager) -> None:
    name = f"docsis_control.queue_managers.managers.{manager.name.lower()}"
    assert name in closure.closure(PLAY)


def test_nothing_in_it_imports_in_a_way_that_is_not_seen() -> None:
    """But where packages say by their `__path__` that all of their modules may be imported, and
    where all that is in it is imported."""
    seen = {
        "docsis_control.queue_managers.managers",
        "docsis_experiments.declared",
        "docsis_experiments.runs.closure",
    }
    for name, file in closure.closure(PLAY).items():
        if name in seen:
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            used = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
            assert used not in {"__import__", "import_module", "exec", "eval"}, name


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "made"
    for name, text in {
        "__init__.py": "",
        "start.py": "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import made.typed\n"
        "from made import used\nfrom .near import name\n"
        "def late():\n    import made.late\n",
        "used.py": "import made.kinds\n",
        "near.py": "name = 1\n",
        "late.py": "",
        "typed.py": "",
        "alone.py": "",
        "kinds/__init__.py": "found = list(declared(__name__, __path__, 'KIND'))\n",
        "kinds/one.py": "",
        "kinds/deep/__init__.py": "",
        "broken.py": "def\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(closure, "PACKAGES", {"made": folder})
    monkeypatch.setattr(closure, "_file", closure._file.__wrapped__)
    closure.closure.cache_clear()
    return folder


def test_imports_are_followed(package: Path) -> None:
    assert list(closure.closure("made.start")) == [
        "made", "made.kinds", "made.kinds.deep", "made.kinds.one", "made.late", "made.near",
        "made.start", "made.used",
    ]  # fmt: skip
    assert "made.kinds.one" in closure.modules("made")
    assert "made.kinds" in closure.modules("made")


def test_what_cannot_be_read_is_told(package: Path) -> None:
    with pytest.raises(TestbedError, match=r"made\.none: is no module of this project"):
        closure.closure("made.none")
    with pytest.raises(TestbedError, match="broken.py: is no Python"):
        closure.closure("made.broken")


def test_a_hash_is_of_what_the_files_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    monkeypatch.setattr(closure, "closure", lambda *roots: {"a": file})
    file.write_text("x = 1\n")
    before = sources.code_now("a")
    file.write_text("x = 2\n")
    assert sources.code_now("a") != before
    assert tmp_path != ROOT
