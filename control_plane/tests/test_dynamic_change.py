# SPDX-License-Identifier: Apache-2.0
"""Changes to a modem's configuration: what comes of them, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.config.models import KeyedError
from docsis_control.dynamic.change import Action, Change, Kind, changed
from docsis_control.modem_config import ModemConfiguration, check, from_yaml, to_yaml

FLOW, CLASSIFIER = Kind.UPSTREAM_SERVICE_FLOW, Kind.UPSTREAM_CLASSIFIER
HOME = Path("home.yaml")
TEXT = """\
upstream_classifiers:
  - classifier_reference: 1
    service_flow_reference: 2
    rule_priority: 64
    ip: {protocol: udp, destination_port_start: 5060, destination_port_end: 5061}
upstream_service_flows:
  - service_flow_reference: 1
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 20 Mbps
  - service_flow_reference: 2
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 1 Mbps
    aqm: {latency_target: 20 ms}
downstream_service_flows:
  - service_flow_reference: 3
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 100 Mbps
"""


@pytest.fixture
def home() -> ModemConfiguration:
    return from_yaml(TEXT, HOME)


def add(kind: Kind, **values: Any) -> Change:
    return Change(Action.ADD, kind, values=values)


def test_what_is_added_gets_what_it_needs(home: ModemConfiguration) -> None:
    after = changed(home, [add(FLOW, maximum_sustained_traffic_rate="5 Mbps")])
    flow = after.upstream_service_flows[2]
    # References are of both directions, so 3 is taken.
    assert (flow.service_flow_reference, flow.qos_parameter_set_type) == (4, 7)
    assert flow.maximum_sustained_traffic_rate == 5_000_000
    assert after.upstream_service_flows[:2] == home.upstream_service_flows
    assert after.downstream_service_flows == home.downstream_service_flows


def test_changes_are_made_one_after_the_other(home: ModemConfiguration) -> None:
    after = changed(
        home,
        [
            add(FLOW, service_flow_reference=9, service_class_name="voice"),
            add(CLASSIFIER, service_flow_reference=9, rule_priority=7),
            Change(Action.SET, FLOW, 9, {"service_class_name": None, "traffic_priority": 5}),
        ],
    )
    assert after.upstream_service_flows[2].traffic_priority == 5
    assert after.upstream_service_flows[2].service_class_name is None
    assert after.upstream_classifiers[1].classifier_reference == 2


def test_what_is_set_keeps_the_rest(home: ModemConfiguration) -> None:
    change = Change(Action.SET, FLOW, 2, {"aqm": {"disable": True}, "traffic_priority": 3})
    before, after = (
        home.upstream_service_flows[1],
        changed(home, [change]).upstream_service_flows[1],
    )
    assert after.aqm is not None
    assert before.aqm is not None
    assert (after.aqm.disable, after.aqm.latency_target) == (True, before.aqm.latency_target)
    assert after.traffic_priority == 3
    assert after.maximum_sustained_traffic_rate == before.maximum_sustained_traffic_rate


def test_a_service_flow_takes_its_classifiers_with_it(home: ModemConfiguration) -> None:
    after = changed(home, [Change(Action.DELETE, FLOW, 2)])
    assert [flow.service_flow_reference for flow in after.upstream_service_flows] == [1]
    assert after.upstream_classifiers == ()


def test_a_classifier_goes_alone(home: ModemConfiguration) -> None:
    after = changed(home, [Change(Action.DELETE, CLASSIFIER, 1)])
    assert after.upstream_classifiers == ()
    assert after.upstream_service_flows == home.upstream_service_flows


def test_a_file_in_its_own_order_can_be_changed() -> None:
    home = from_yaml(TEXT + "tlv_order: [24, 24, 22, 25, 6]\n", HOME)
    after = changed(home, [add(FLOW, maximum_sustained_traffic_rate="5 Mbps")])
    assert len(after.upstream_service_flows) == 3
    assert after.tlv_order is None


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (Change(Action.SET, FLOW, 7, {}), "upstream_service_flows", "no upstream service flow 7"),
        (Change(Action.DELETE, FLOW, 3), "upstream_service_flows", "there are 1, 2"),
        (Change(Action.DELETE, CLASSIFIER, 2), "upstream_classifiers", "there are 1"),
        (Change(Action.DELETE, FLOW, 1), "upstream_service_flows.0", "the primary one"),
        (
            Change(Action.SET, FLOW, 2, {"service_flow_reference": 5}),
            "upstream_service_flows.1.service_flow_reference",
            "cannot be changed",
        ),
        (
            Change(Action.SET, FLOW, 2, {"traffic_priority": 8}),
            "upstream_service_flows.1.traffic_priority",
            "less than or equal to 7",
        ),
        (add(FLOW, traffic_prio=1), "upstream_service_flows.2.traffic_prio", "did you mean"),
        (
            add(CLASSIFIER, service_flow_reference=2, ip="all"),
            "upstream_classifiers.1.ip",
            "must be a mapping",
        ),
        (
            Change(Action.SET, FLOW, 2, {"other_tlvs": [{"type": 43, "value": "0x" + 250 * "00"}]}),
            "upstream_service_flows.1",
            "a TLV holds at most 255; leave something out",
        ),
    ],
)
def test_refuses(home: ModemConfiguration, change: Change, key: str, words: str) -> None:
    with pytest.raises(KeyedError, match=words) as caught:
        changed(home, [change])
    assert caught.value.key == key


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    (
        *("service_flow_reference", "classifier_reference", "service_flow_id", "aqm", "ip"),
        *("other_tlvs", "tlv_order", "rule_priority", "maximum_sustained_traffic_rate"),
    )
)
CHANGES = st.lists(
    st.builds(
        Change,
        st.sampled_from(Action),
        st.sampled_from(Kind),
        st.none() | st.integers(0, 4),
        st.dictionaries(KEYS, JSON, max_size=3),
    ),
    max_size=4,
)


@given(CHANGES)
def test_whatever_is_asked_is_done_or_refused_in_a_sentence(changes: list[Change]) -> None:
    home = from_yaml(TEXT, HOME)
    try:
        after = changed(home, changes)
    except KeyedError as refused:
        key, words, after = refused.key, str(refused), home
    else:
        key = words = "done"
    assert key
    assert words
    # A configuration that breaks another rule is refused later, when it is provisioned.
    if not check(after):
        assert from_yaml(to_yaml(after), HOME) == after


def test_a_reference_of_another_kind_is_refused_and_no_crash(home: ModemConfiguration) -> None:
    with pytest.raises(KeyedError) as caught:
        changed(home, [add(FLOW, service_flow_reference=[1]), add(FLOW)])
    assert caught.value.key == "upstream_service_flows.2.service_flow_reference"
