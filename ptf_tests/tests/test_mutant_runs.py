# SPDX-License-Identifier: Apache-2.0
"""A run of mutants in a tiny project: outcomes, resumption, redrawing, and what is left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from docsis_mutants import draw, listing, processes, record, report
from docsis_mutants.areas import Area
from docsis_mutants.record import Outcome, RecordError, Tried
from docsis_mutants.runner import Runner, Trial, caught
from docsis_mutants.site import Site
from docsis_mutants.steps import Failure
from docsis_mutants.tree import Tree, TreeError

LAW = "control_plane/docsis_control/law/double.py"
SOURCE = """\
def double(value):
    if value < 0:
        return 0
    return 2 * value


def unused(value):
    return value - 1
"""
TEST = """\
from double import double
assert double(3) == 6
assert double(-1) == 0
assert double(0) == 0
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a law, its test, and what set-up would have built."""
    root = tmp_path / "clone"
    for name, text in (
        (LAW, SOURCE),
        ("test_double.py", TEST),
        ("control_plane/docsis_control/gen/stub.py", ""),
        ("switch/target/release/docsis-switch", ""),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "init", "--quiet")
    git(root, "add", LAW, "test_double.py")
    git(root, "commit", "--quiet", "-m", "a law")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return root


class Script:
    """A step: the project's own test, in a process."""

    name = "test_double.py"

    def __init__(self) -> None:
        self.mutants: list[str] = []

    def baseline(self, tree: Tree) -> Failure | None:
        return self._run(tree)

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        self.mutants.append(site.key)
        return self._run(tree)

    def _run(self, tree: Tree) -> Failure | None:
        arguments = [str(tree.python), "test_double.py"]
        environment = {"PYTHONPATH": str((tree.root / LAW).parent), "PYTHONDONTWRITEBYTECODE": "1"}
        log = tree.folder("logs") / "last.log"
        ended = processes.run(arguments, tree.root, environment, log, 60)
        return None if ended.status == 0 else Failure("test_double", ended.output.strip()[-80:])


class Compiler:
    """Refuses a text with a word in it, as if it did not compile."""

    def __init__(self, word: str = "no such word") -> None:
        self.word = word
        self.restored = 0

    def refused(self, tree: Tree, text: str) -> str | None:
        return "refused" if self.word in text else None

    def restore(self, tree: Tree) -> None:
        self.restored += 1


Started = Callable[[Script, Compiler], Runner]


@pytest.fixture
def started(clone: Path, tmp_path: Path) -> Started:
    """Makes a runner in a new folder, as a new process would."""
    begun = iter(range(9))

    def start(step: Script, compiler: Compiler) -> Runner:
        tree = Tree(clone, tmp_path / f"work{next(begun)}")
        sites = listing.made_from(clone).sites
        trials = {Area.LAWS: Trial(compiler, (step,))}
        return Runner(tree, sites, trials, tmp_path / "kept.jsonl", lambda line: None)

    return start


def kept(tmp_path: Path) -> list[Tried]:
    return record.read(tmp_path / "kept.jsonl")


def test_mutants_are_caught_or_survive(clone: Path, tmp_path: Path, started: Started) -> None:
    whole = len(list(draw.order(listing.made_from(clone).sites, Area.LAWS, 1)))
    started(Script(), Compiler()).run(1, {Area.LAWS: whole})
    found = kept(tmp_path)
    assert len(found) == whole > 5
    survivors = {each.site.line for each in found if each.outcome is Outcome.SURVIVED}
    # Nothing looks at unused(); and 0 is doubled to what a negative number gives.
    assert survivors == {2, 8}
    assert all(each.words for each in found if each.outcome is Outcome.CAUGHT)
    number, compiled = caught(found)
    assert (number, compiled) == (sum(each.outcome is Outcome.CAUGHT for each in found), whole)
    assert f"{number} of {whole}" in report.verdict(found)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, started: Started) -> None:
    first = Script()
    started(first, Compiler()).run(1, {Area.LAWS: 2})
    path = tmp_path / "kept.jsonl"
    # The machine stopped in the middle of a line.
    path.write_text(path.read_text() + '{"site": {"file"')
    second = Script()
    started(second, Compiler()).run(1, {Area.LAWS: 4})
    assert len(first.mutants) == len(second.mutants) == 2
    assert [each.site.key for each in kept(tmp_path)] == [*first.mutants, *second.mutants]


def test_one_that_does_not_compile_is_drawn_again(tmp_path: Path, started: Started) -> None:
    step = Script()
    started(step, Compiler("2 / value")).run(1, {Area.LAWS: 5})
    outcomes = [each.outcome for each in kept(tmp_path)]
    assert len(step.mutants) == 5
    assert outcomes.count(Outcome.NOT_COMPILED) == 1
    assert caught(kept(tmp_path))[1] == 5


def test_survivors_are_tried_again_and_both_outcomes_stay(
    clone: Path, tmp_path: Path, started: Started
) -> None:
    whole = len(list(draw.order(listing.made_from(clone).sites, Area.LAWS, 1)))
    started(Script(), Compiler()).run(1, {Area.LAWS: whole})
    before = kept(tmp_path)
    (clone / "test_double.py").write_text(
        f"{TEST}from double import unused\nassert unused(2) == 1\n"
    )
    git(clone, "commit", "--quiet", "-a", "-m", "another test")
    step = Script()
    started(step, Compiler()).run(1, {Area.LAWS: whole}, survivors=True)
    survived = [each.site.key for each in before if each.outcome is Outcome.SURVIVED]
    assert step.mutants == survived
    found = kept(tmp_path)
    assert found[: len(before)] == before
    latest = record.latest(found, 1)
    assert {latest[key].site.line for key in survived if latest[key].step} == {8}


def test_a_test_that_fails_anyway_ends_the_run(
    clone: Path, tmp_path: Path, started: Started
) -> None:
    (clone / "test_double.py").write_text("assert False\n")
    git(clone, "commit", "--quiet", "-a", "-m", "broken")
    with pytest.raises(TreeError, match="unchanged tree"):
        started(Script(), Compiler()).run(1, {Area.LAWS: 2})
    assert kept(tmp_path) == []


def test_what_is_being_edited_is_neither_mutated_nor_touched(
    clone: Path, tmp_path: Path, started: Started
) -> None:
    edited = f"{SOURCE}# being edited\n"
    runner = started(Script(), Compiler())
    (clone / LAW).write_text(edited)
    runner.run(1, {Area.LAWS: 2})
    assert (clone / LAW).read_text() == edited
    assert (tmp_path / "work0" / "tree" / LAW).read_text() == SOURCE
    assert [each.commit for each in kept(tmp_path)] == [runner.commit] * 2


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"no": "record"}\n')
    with pytest.raises(RecordError, match=r"kept\.jsonl:1"):
        record.read(path)


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    code = "import os\nprint(os.getpid(), flush=True)\nwhile True: pass"
    ended = processes.run([sys.executable, "-c", code], tmp_path, {}, tmp_path / "log", 1.0)
    assert ended.status is None
    assert not ended.stopped
    assert not Path("/proc", ended.output.split()[0]).exists()


def test_a_program_is_ended_when_there_is_enough(tmp_path: Path) -> None:
    code = "print('failed', flush=True)\nwhile True: pass"
    log = tmp_path / "log"
    ended = processes.run(
        [sys.executable, "-c", code], tmp_path, {}, log, 60, lambda: b"failed" in log.read_bytes()
    )
    assert ended.stopped


def test_a_program_that_takes_all_memory_is_ended(tmp_path: Path) -> None:
    code = f"b'x' * {2 * processes.MEMORY_BYTES}"
    ended = processes.run([sys.executable, "-c", code], tmp_path, {}, tmp_path / "log", 60)
    assert ended.status
    assert "MemoryError" in ended.output


def test_the_draws_first_mutants_are_those_tried(
    clone: Path, tmp_path: Path, started: Started
) -> None:
    step = Script()
    started(step, Compiler()).run(5, {Area.LAWS: 3})
    order = draw.order(listing.made_from(clone).sites, Area.LAWS, 5)
    assert step.mutants == [site.key for site in islice(order, 3)]
