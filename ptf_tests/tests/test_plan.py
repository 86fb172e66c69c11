# SPDX-License-Identifier: Apache-2.0
"""docs/test-plan.md against the suite: no test without a requirement, nor the other way round."""

import re
from pathlib import Path

import pytest

from docsis_control.p4rt.pipeline import load_pipeline
from docsis_ptf import catalogue, plan

# Not provisioned by a requirement: where the queue is, and the keys that the bridge gives.
PLUMBING = {"modem", "port", "queue_id"}
TESTS = {test.key: test for test in catalogue.load()}
REQUIREMENTS = {requirement.key: requirement for requirement in plan.load()}


def test_every_row_names_tests_that_exist() -> None:
    for name, requirement in REQUIREMENTS.items():
        missing = [test for test in requirement.tests if test not in TESTS]
        assert not missing, f"{name} names {missing}, which the suite does not have"


def test_every_test_is_in_a_row() -> None:
    named = {test for requirement in REQUIREMENTS.values() for test in requirement.tests}
    assert TESTS.keys() - named == set()


def test_ids_count_up_without_gaps() -> None:
    numbers: dict[str, list[int]] = {}
    for name in REQUIREMENTS:
        group, number = name.split("-")
        numbers.setdefault(group, []).append(int(number))
    for group, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), group


@pytest.mark.parametrize("program", ["cm", "cmts"])
def test_every_field_and_parameter_has_a_requirement(program: str) -> None:
    requirements = " ".join(requirement.text for requirement in REQUIREMENTS.values())
    tables = load_pipeline(program).schema.tables
    fields = {f.alias for f in tables["FrameIngress.classifier.classifier"].match_fields}
    queue = tables["FrameIngress.service_flow_queue.service_flow"].actions["set_queue"]
    parameters = {parameter.name for parameter in queue.params}
    for name in (fields | parameters) - PLUMBING:
        assert f"`{name}`" in requirements, f"{name} has no requirement in the plan"


def test_the_plan_says_what_a_test_needs() -> None:
    """The row does, or the text above its table."""
    text = plan.PLAN.read_text()
    known = {need for test in TESTS.values() for need in test.needs}
    for name, requirement in REQUIREMENTS.items():
        section = text[: text.index(f"| {name} |")].rpartition("\n## ")[2].partition("\n| ")[0]
        said = set(re.findall(r"\*([\w-]+)\*", section + requirement.expected))
        assert said <= known, name
        assert said == set().union(*(TESTS[test].needs for test in requirement.tests)), name


def test_a_malformed_plan_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    with pytest.raises(plan.PlanError, match="plan.md: No such file or directory; the requirem"):
        plan.load(path)
    row = "| CF-1 | text | `a.B` | all |\n"
    for text, message in (
        (row + row, "CF-1 is there twice"),
        ("| CF-1 | text | `a.B` |\n", "CF-1: a row has 4 cells"),
        ("| CF-1 | text | `nothing` | all |\n", "CF-1: the third cell names tests"),
    ):
        path.write_text(text)
        with pytest.raises(plan.PlanError, match=message):
            plan.load(path)
    path.write_text("## One\n\n| id |\n|---|\n" + row.replace("text", r"a \| b"))
    assert plan.load(path) == (plan.Requirement("CF-1", "One", r"a \| b", ("a.B",), "all"),)
