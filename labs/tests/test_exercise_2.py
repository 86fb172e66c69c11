# SPDX-License-Identifier: Apache-2.0
"""Exercise 2: a classifier that takes more than its packets misses its criterion."""

from __future__ import annotations

from pathlib import Path

import pytest

from docsis_labs.exercises import exercise
from docsis_labs.grading.judge import judge

_SOLUTION = (exercise(2).path / "solution" / "modem.yaml").read_text()
_TOS = "{low: 0xb8, high: 0xb8, mask: 0xfc}"
_GAMES = "protocol: udp"
_OUR_NET = "destination_address: 10.0.0.0\n      destination_mask: 255.0.0.0"
_OUR_NET_INLINE = _OUR_NET.replace("\n     ", ",")


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
        (_TOS, f"{_TOS}\n      source_port_start: 40000", "voice", "voice from port 30000"),
        (_TOS, f"{_TOS}\n      destination_port_end: 5060", "voice", "voice to port 16384"),
        (_TOS, f"{_TOS}\n      {_OUR_NET}", "voice", "voice to 192.168.7.102"),
        (_GAMES, f"{_GAMES}, tos: {{low: 0, high: 0, mask: 3}}", "games", "UDP to 3075 with ECN"),
        (_GAMES, f"{_GAMES}, tos: {{low: 0, high: 45, mask: 0xfc}}", "games", "UDP to 3075 with D"),
        (_GAMES, f"{_GAMES}, source_port_start: 50000", "games", "UDP from 40000 to 3075"),
        (_GAMES, f"{_GAMES}, {_OUR_NET_INLINE}", "games", "UDP to 3075 of 192.168.7.102"),
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


_RULE = "  - {{classifier_reference: {}, service_flow_reference: {}, rule_priority: {}, ip: {}}}"
_GAME_PORTS = [
    f"{{protocol: udp, destination_port_start: {n}, destination_port_end: {n}}}"
    for n in (3074, 3075, 3076)
]


@pytest.mark.parametrize(
    ("priorities", "equal"),
    [((9, 9, 9, 9), True), ((9, 1, 9, 1), True), ((9, 9, 8, 9), False), ((9, 0, 0, 0), False)],
)
def test_only_a_classifier_that_takes_the_chat_may_not_have_voice_s_priority(
    priorities: tuple[int, ...], equal: bool, tmp_path: Path
) -> None:
    rules = [(2, f"{{tos: {_TOS}}}"), *((3, ports) for ports in _GAME_PORTS)]
    lines = [
        _RULE.format(number, flow, priority, conditions)
        for number, ((flow, conditions), priority) in enumerate(
            zip(rules, priorities, strict=True), start=1
        )
    ]
    backup = _SOLUTION.index("  - classifier_reference: 3")
    text = "\n".join(["upstream_classifiers:", *lines, _SOLUTION[backup:]])
    (tmp_path / "modem.yaml").write_text(
        text.replace("reference: 3\n    service", "reference: 9\n    service")
    )
    result = judge(exercise(2), tmp_path)
    assert [one.mistake for one in result.criteria if not one.points] == (
        ["priorities-equal"] if equal else []
    )


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
