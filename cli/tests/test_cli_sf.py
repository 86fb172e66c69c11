# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sf` says which numbers what was added got, so that the next command can use them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from docsis_cli import app
from docsis_cli.sf import _values
from docsis_control.config.yaml_file import plain
from docsis_control.dynamic import client
from docsis_control.dynamic.change import Change, changed
from docsis_control.dynamic.messages import FlowNumbers, Response
from docsis_control.modem_config import from_yaml
from docsis_control.modem_config.file import to_plain
from docsis_control.queue_managers.names import QueueManager
from docsis_testbed.errors import TestbedError

HOME = """\
upstream_service_flows:
  - service_flow_reference: 1
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 20 Mbps
downstream_service_flows:
  - service_flow_reference: 2
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 100 Mbps
"""


@pytest.fixture
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that changes a modem's configuration as the real one does, without devices."""
    configuration = from_yaml(HOME, Path("home.yaml"))

    def apply(_modem: str, changes: Sequence[Change], *_: Any) -> Response:
        nonlocal configuration
        configuration = changed(configuration, changes)
        content = plain(to_plain(configuration))
        assert isinstance(content, dict)
        flows = [
            FlowNumbers(direction, f["service_flow_reference"], 100 + f["service_flow_reference"],
                        0, QueueManager.DOCSIS_PIE, {})
            for direction in ("upstream", "downstream")
            for f in content.get(f"{direction}_service_flows", ())
            if f["qos_parameter_set_type"] & 4
        ]  # fmt: skip
        return Response("", "", content, flows, 1.5)

    monkeypatch.setattr(client, "apply", apply)


def sf(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["sf", *arguments])
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


@pytest.mark.usefixtures("_home")
def test_what_is_added_has_a_number() -> None:
    assert sf("add", "home1", "upstream", "traffic_priority=4")[0] == (
        "home1: add upstream service flow 3 (SFID 103)"
    )
    # It can be used at once.
    assert sf("set", "home1", "upstream", "3", "traffic_priority=5")[0] == (
        "home1: set upstream service flow 3 (SFID 103)"
    )
    assert sf("add", "home1", "upstream-classifier", "service_flow_reference=3",
              "ip.protocol=udp")[0] == "home1: add upstream classifier 1"  # fmt: skip
    assert sf("delete", "home1", "upstream", "3")[0] == "home1: delete upstream service flow 3"


@pytest.mark.usefixtures("_home")
def test_one_that_is_not_active_has_no_sfid() -> None:
    assert sf("add", "home1", "upstream", "qos_parameter_set_type=1")[0] == (
        "home1: add upstream service flow 3"
    )


@pytest.mark.usefixtures("_home")
def test_everything_of_a_file_has_a_number(tmp_path: Path) -> None:
    file = tmp_path / "telephone.yaml"
    file.write_text(
        "upstream_service_flows: [{traffic_priority: 5}, {service_flow_reference: 9}]\n"
        "upstream_classifiers:\n"
        "  - {service_flow_reference: 9, ip: {protocol: udp}}\n"
        "  - {service_flow_reference: 9, ip: {protocol: tcp}}\n"
        "downstream_service_flows: [{traffic_priority: 5}]\n"
    )
    assert sf("add", "home1", "--file", str(file))[:-1] == [
        "home1: add upstream service flow 3 (SFID 103)",
        "home1: add upstream service flow 9 (SFID 109)",
        "home1: add upstream classifier 1",
        "home1: add upstream classifier 2",
        "home1: add downstream service flow 4 (SFID 104)",
    ]


@pytest.mark.usefixtures("_home")
def test_the_same_as_json() -> None:
    (line,) = sf("add", "home1", "downstream", "traffic_priority=4", "--json")
    said = json.loads(line)
    assert said["changes"] == [
        {"action": "add", "kind": "downstream service flow", "reference": 3, "sfid": 103}
    ]
    assert said["milliseconds"] == 1.5
    assert [flow["service_flow_reference"] for flow in said["service_flows"]] == [1, 2, 3]


@pytest.mark.parametrize("text", ["2020-99-99", "[" * 3000, "{", "!!int x", "]", "!x 5", "[!x 5]"])
def test_what_is_no_value_is_told(text: str) -> None:
    with pytest.raises(TestbedError, match="what stands behind = is no YAML value"):
        _values([f"parameter={text}"])


@given(
    value=st.recursive(
        st.integers(-(2**40), 2**40) | st.booleans() | st.none() | st.text("a: #'\"\n-,[]{}%&*!"),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_any_value_arrives_as_it_is(value: Any) -> None:
    """Nothing that stands in a value, lines of its own included, becomes another key."""
    assert _values([f"one.two={json.dumps(value)}", "three="]) == {
        "one": {"two": value}, "three": None,
    }  # fmt: skip
    block = "\n- 1\nother: 5"
    with pytest.raises(TestbedError, match="is no YAML value"):
        _values([f"one={block}"])
