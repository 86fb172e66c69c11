# SPDX-License-Identifier: Apache-2.0
"""Exercise 2: a classifier that takes more than its packets misses its criterion."""

from __future__ import annotations

from pathlib import Path

import pytest

from docsis_labs.exercises import exercise
from docsis_labs.grading.judge import judge

_SOLUTION = (exercise(2).path / "solution" / "modem.yaml").read_text()
_TOS = "{low: 0xb8, high: 0xb8, mask: 0xfc}"


@pytest.mark.parametrize(
    ("right", "wrong", "criterion", "packet"),
    [
        (_TOS, "{low: 0xb8, high: 0xff, mask: 0xfc}", "voice", "DSCP 47"),
        (_TOS, "{low: 0xc0, high: 0xff, mask: 0xfc}", "voice", "voice"),
        (_TOS, "{low: 0xb8, high: 0xf8, mask: 0xf8}", "voice", "DSCP 47"),
        (_TOS, "{low: 0xb4, high: 0xb8, mask: 0xfc}", "voice", "DSCP 45"),
        (_TOS, "{low: 0x2c, high: 0xb8, mask: 0xfc}", "voice", "a ToS byte of 46"),
        (_TOS, "{low: 0xb8, high: 0xb8, mask: 0xfd}", "voice", "voice with ECN 01"),
        (_TOS, "{low: 0xb8, high: 0xb8, mask: 0xfe}", "voice", "voice with ECN 10"),
        (_TOS, "{low: 0xb8, high: 0xba, mask: 0xff}", "voice", "voice with ECN 11"),
        ("port_end: 873", "port_end: 49999", "backup", "TCP to 874"),
        ("port_start: 873", "port_start: 100", "backup", "TCP to 872"),
        ("255.255.255.255", "255.255.255.254", "backup", "TCP to 873 of 10.0.0.103"),
    ],
)
def test_it_misses(right: str, wrong: str, criterion: str, packet: str, tmp_path: Path) -> None:
    assert right in _SOLUTION
    (tmp_path / "modem.yaml").write_text(_SOLUTION.replace(right, wrong))
    result = judge(exercise(2), tmp_path)
    missed = {one.id: one.text for one in result.criteria if not one.points}
    assert f"A packet ({packet}" in missed[criterion]


def test_a_backup_of_any_port_costs_the_backup_s_points_alone(tmp_path: Path) -> None:
    ports = "      destination_port_start: 873\n      destination_port_end: 873\n"
    assert ports in _SOLUTION
    (tmp_path / "modem.yaml").write_text(_SOLUTION.replace(ports, ""))
    result = judge(exercise(2), tmp_path)
    assert result.points == 75
    assert [one.id for one in result.criteria if not one.points] == ["backup"]


@pytest.mark.parametrize("flow", [2, 3, 4])
def test_a_modem_that_boots_has_that_criterion_s_points_whatever_it_takes(
    flow: int, tmp_path: Path
) -> None:
    everything = f"""\
upstream_classifiers:
  - {{classifier_reference: 1, service_flow_reference: {flow}, rule_priority: 9}}
"""
    flows = _SOLUTION[_SOLUTION.index("upstream_service_flows") :]
    (tmp_path / "modem.yaml").write_text(everything + flows)
    result = judge(exercise(2), tmp_path)
    assert [one.id for one in result.criteria if one.points] == ["boots"]


@pytest.mark.parametrize("text", ["[" * 30_000, "a: " + "{a: " * 10_000])
def test_nesting_that_would_take_the_parser_long_is_refused_at_once(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "modem.yaml").write_text(text)
    result = judge(exercise(2), tmp_path)
    assert not result.by_hand
    assert result.points == 0
    assert (
        "modem.yaml:1: is not YAML: more than 50 brackets are open here" in result.criteria[0].text
    )
