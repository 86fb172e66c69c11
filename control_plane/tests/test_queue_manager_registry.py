# SPDX-License-Identifier: Apache-2.0
"""The registry of queue managers, and what follows from it without being listed again."""

import json
import re
from pathlib import Path

import pytest

from docsis_control.queue_managers import benchmarks, managers, registration
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.queue_managers.registry import ALGORITHMS, DESCRIBED, MODELS, registered
from docsis_control.queue_managers.tables import TABLES, with_tables
from docsis_control.tables import TableEntry

ROOT = Path(__file__).resolve().parents[2]
P4 = ROOT / "p4src" / "include" / "queue_managers.p4"
PAGES = ("docs/queue-managers.md", "docs/p4-contract.md")


def test_every_manager_has_a_module_and_every_module_a_manager() -> None:
    (folder,) = managers.__path__
    modules = {path.stem for path in Path(folder).glob("*.py")} - {"__init__"}
    assert modules == {manager.name.lower() for manager in QueueManager}
    for manager, model in MODELS.items():
        assert model().queue_manager is manager
        assert ALGORITHMS[manager.label] is model


def test_a_manager_without_a_module_and_a_module_without_a_manager_are_told() -> None:
    there = dict(managers.modules())
    with pytest.raises(ImportError, match=r"managers/step\.py belongs to no queue manager"):
        registered({**there, "step": there["codel"]})
    with pytest.raises(ImportError, match=r"the queue manager codel .* has no module"):
        registered({name: module for name, module in there.items() if name != "codel"})


def test_names_are_those_that_p4_and_the_modules_have() -> None:
    assert registration.text(P4) == registration.NAMES.read_text("utf-8"), "run `make tables`"


def test_a_new_manager_and_its_presets_come_behind_the_others() -> None:
    names = registration.NAMES.read_text("utf-8")
    numbers = {**registration.numbers(P4.read_text("utf-8")), "STEP": 10}
    there = [preset.name for preset in Preset]
    made = registration.with_members(names, numbers, ["STEP", "STEP_50MS", *reversed(there)])
    assert "    DOCSIS_PIE_2014 = 9\n    STEP = 10\n\n    @property" in made
    assert made.count("    STEP = ") == 2
    assert '"sfq-lred"\n    STEP = "step"\n    STEP_50MS = "step-50ms"\n\n    @property' in made
    assert registration.with_members(made, numbers, there) == names.replace(
        "PIE_2014 = 9\n", "PIE_2014 = 9\n    STEP = 10\n"
    )


@pytest.mark.parametrize(
    ("p4", "said"),
    [
        ("", r"each queue manager needs a line `const queue_manager_t NAME"),
        ("const queue_manager_t A = 1;\nconst queue_manager_t B = 1;\n", "a number of its own"),
        ("const queue_manager_t A = 1;\nconst queue_manager_t A = 2;\n", "a name and a number"),
    ],
)
def test_numbers_that_name_nothing_or_two_are_refused(p4: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        registration.numbers(p4)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("MODEL = 1", "there is no dictionary PRESETS"),
        ("PRESETS: dict = {'step': 1}", "is `Preset.NAME` in capitals, not 'step'"),
        ("PRESETS: dict = {Preset.step: 1}", "not Preset.step"),
        ("PRESETS: dict = {**others}", r"not \*\*"),
    ],
)
def test_presets_that_cannot_be_read_are_refused(module: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        registration.presets(module)


def test_a_manager_without_parameters_is_told_with_its_file(tmp_path: Path) -> None:
    p4 = tmp_path / "queue_managers.p4"
    p4.write_text("const queue_manager_t STEP = 10;\n")
    with pytest.raises(
        ValueError, match=r"queue_managers\.p4: STEP needs its parameters in .*step"
    ):
        registration.text(p4)


def test_every_preset_is_some_managers() -> None:
    assert list(DESCRIBED) == list(Preset)


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_the_tables_that_managers_make(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert re.search(r"<!-- table: [a-z-]+ -->", text)
    assert with_tables(text) == text, "run `make tables`"


def test_the_benchmark_s_file_has_what_managers_make() -> None:
    text = (ROOT / "p4src" / "queue_managers.json").read_text("utf-8")
    assert text == benchmarks.text(), "run `make tables`"


def test_the_benchmark_measures_every_manager_and_compares_with_drop_tail() -> None:
    measured = json.loads(benchmarks.text())["managers"]
    assert {manager["number"] for manager in measured} == {
        manager.value for manager in QueueManager
    }
    names = [manager["name"] for manager in measured]
    assert names[0] == "drop-tail"
    assert len(set(names)) == len(names)
    # Their buffers alone differ, and the benchmark fills none.
    assert "drop-tail-250ms" not in names


def test_an_entry_that_is_not_of_a_service_flow_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    other = TableEntry("other", {"queue": 1}, "set", {})
    monkeypatch.setattr(MODELS[QueueManager.CODEL], "entries", lambda *_: iter([other]))
    with pytest.raises(ValueError, match=r"entry of other \{'queue': 1\} of codel is not keyed by"):
        benchmarks.document()


def test_every_table_is_on_a_page() -> None:
    named = {name for page in PAGES for name in _tables((ROOT / page).read_text("utf-8"))}
    assert named == set(TABLES)


def test_a_table_that_is_not_there_is_told() -> None:
    with pytest.raises(ValueError, match='no table "other"; there are presets, algorithms'):
        with_tables("<!-- table: other -->\n\n| a |\n\n<!-- end -->\n")


def _tables(text: str) -> list[str]:
    return re.findall(r"<!-- table: ([a-z-]+) -->", text)
