# SPDX-License-Identifier: Apache-2.0
"""docs/test-plan.md against the suite: no test without a requirement, nor the other way round."""

import ast
import re
from pathlib import Path

import pytest

from docsis_control.p4rt.pipeline import load_pipeline

ROOT = Path(__file__).resolve().parents[2]
PLAN = ROOT / "docs" / "test-plan.md"
COLUMNS = 4
SHAPING = {
    "shaping_test.ShapingTest",
    "load_test.LoadTest",
    "sharing_test.SharingTest",
    "flow_queue_test.FlowQueueTest",
}
# Not provisioned by a requirement: where the queue is, and the keys that the bridge gives.
PLUMBING = {"modem", "port", "queue_id"}


def rows() -> dict[str, tuple[str, ...]]:
    """The plan's rows by their ids."""
    found: dict[str, tuple[str, ...]] = {}
    for line in PLAN.read_text().splitlines():
        # "\|" is no end of a cell.
        cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        if not cells or not re.fullmatch(r"[A-Z]{2}-\d+", cells[0]):
            continue
        assert len(cells) == COLUMNS, line
        assert cells[0] not in found, f"{cells[0]} is there twice"
        assert all(cells), line
        found[cells[0]] = cells
    return found


def named_by(cell: str) -> list[str]:
    """What a row's third cell names."""
    names = re.findall(r"`([^`]+)`", cell)
    assert names, cell
    assert all(re.fullmatch(r"[a-z_0-9]+\.[A-Za-z]+", name) for name in names), cell
    return names


def suite() -> dict[str, set[str]]:
    """Every PTF test and what it needs of a target: shaping, registers.

    A test is a class of a module that has a base class for tests, or another test's.
    """
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "ptf_tests" / "suite").glob("*.py")):
        own: set[str] = set()
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ClassDef):
                continue
            bases = [ast.unparse(base) for base in node.bases]
            if any(base in own or base.endswith("Test") for base in bases):
                own.add(node.name)
                found[f"{path.stem}.{node.name}"] = needs_of(node, bases)
    return found


def needs_of(node: ast.ClassDef, bases: list[str]) -> set[str]:
    """From the class itself, or from its base class."""
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == "needs":
            assert line.value is not None
            return set(ast.literal_eval(line.value))
    return {"shaping"} if SHAPING.intersection(bases) else set()


def test_every_row_names_tests_that_exist() -> None:
    known = suite()
    for name, cells in rows().items():
        missing = [test for test in named_by(cells[2]) if test not in known]
        assert not missing, f"{name} names {missing}, which the suite does not have"


def test_every_test_is_in_a_row() -> None:
    named = {test for cells in rows().values() for test in named_by(cells[2])}
    assert set(suite()) - named == set()


def test_ids_count_up_without_gaps() -> None:
    numbers: dict[str, list[int]] = {}
    for name in rows():
        group, number = name.split("-")
        numbers.setdefault(group, []).append(int(number))
    for group, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), group


@pytest.mark.parametrize("program", ["cm", "cmts"])
def test_every_field_and_parameter_has_a_requirement(program: str) -> None:
    requirements = " ".join(cells[1] for cells in rows().values())
    tables = load_pipeline(program).schema.tables
    fields = {f.alias for f in tables["FrameIngress.classifier.classifier"].match_fields}
    queue = tables["FrameIngress.service_flow_queue.service_flow"].actions["set_queue"]
    parameters = {parameter.name for parameter in queue.params}
    for name in (fields | parameters) - PLUMBING:
        assert f"`{name}`" in requirements, f"{name} has no requirement in the plan"


def test_the_plan_says_what_a_test_needs() -> None:
    """The row does, or the text above its table."""
    text, needs = PLAN.read_text(), suite()
    for name, cells in rows().items():
        section = text[: text.index(f"| {name} |")].rpartition("\n## ")[2].partition("\n| ")[0]
        said = set(re.findall(r"\*(\w+)\*", section + cells[3]))
        assert said == set().union(*(needs[test] for test in named_by(cells[2]))), name
