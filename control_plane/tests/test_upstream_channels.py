# SPDX-License-Identifier: Apache-2.0
"""Upstream channels of a topology: short forms, numbers, what is refused, and the plan."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import channel_homes
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from ruamel.yaml import YAML

from docsis_control.config import ConfigError
from docsis_control.config.models import KeyedError, Model
from docsis_control.dynamic.change import Action, Change, Kind
from docsis_control.dynamic.change import changed as with_changes
from docsis_control.mac.flow_check import check_flow, promised
from docsis_control.mac.plan import UpstreamChannelPlan
from docsis_control.mac.planning import refuse_channels, upstream_channels
from docsis_control.mac.profile import numbers as profile_numbers
from docsis_control.mac.profile import overrides
from docsis_control.mac.profiles import NAMES, NONE, named
from docsis_control.modem_config.scheduling import BEST_EFFORT, Scheduling, SchedulingType
from docsis_control.plan import Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import Topology, json_schemas, load_topology
from docsis_control.topology.channel_numbers import (
    BackoffNumbers,
    CapacityNumbers,
    PhyNumbers,
    TimingNumbers,
)
from docsis_control.topology.upstream_channels import UpstreamChannel

HOME = f"""\
upstream_classifiers:
  - {{classifier_reference: 1, service_flow_reference: 2, ip: {{protocol: udp}}}}
{channel_homes.HOME}"""
STREET = """\
name: street
upstream_channel: docsis-3.1
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
modems:
  - {name: home, count: 3, configuration: home.yaml}
  - {name: shop, configuration: home.yaml}
servers:
  - {name: server1, ip: 10.0.0.101/16, mac: "02:00:00:00:02:01"}
"""
SHORT = "upstream_channel: docsis-3.1"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the street with other channels, and pieces of its files replaced."""

    def replaced(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
        for old, new in pairs:
            assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
            text = text.replace(old, new)
        return text

    def write_files(
        channels: str = SHORT,
        *street: tuple[str, str],
        home: tuple[tuple[str, str], ...] = (),
    ) -> Path:
        (tmp_path / "home.yaml").write_text(replaced(HOME, home))
        file = tmp_path / "street.yaml"
        file.write_text(replaced(STREET, ((SHORT, channels), *street)))
        return file

    return write_files


def plans(topology: Topology) -> tuple[UpstreamChannelPlan, ...]:
    return upstream_channels(deploy(topology, Preset.DOCSIS_PIE))


def test_a_name_is_a_channel(write: Write) -> None:
    (channel,) = load_topology(write()).upstream_channels or ()
    assert (channel.name, channel.numbers) == ("us1", named("docsis-3.1"))


@pytest.mark.parametrize("channels", ["upstream_channel: none", "description: none"])
def test_none_is_what_nothing_says(write: Write, channels: str) -> None:
    file = write(f"{channels}\nchannel: {{upstream: 20 Mbps, downstream: 300 Mbps}}")
    topology = load_topology(file)
    assert topology.upstream_channels is None
    assert plans(topology) == ()
    assert "upstream_channels" not in topology.model_dump(mode="json", exclude_none=True)
    assert deploy(topology, Preset.DOCSIS_PIE).device(Role.CABLE_MODEM).ports[0].rate == 20_000_000
    refuse_channels(topology, "anything")


def test_numbers_are_given_with_their_units(write: Write) -> None:
    file = write(
        "upstream_channel:\n"
        "  profile: docsis-1.1-004\n"
        "  map_time: 5 ms\n"
        "  line_rate: 10240 kbps\n"
        "  contention_minislots: 20\n"
        "  backoff: {start: 4}\n"
        "  header: 10 B\n"
        "  timing: {delivery: 40 us}\n",
        home=(("2 Mbps", "1 Mbps"),),
    )
    (plan,) = plans(load_topology(file))
    assert plan.overrides == {
        "map_minislots": 200,
        "phy.minislot_bytes": 32,
        "contention_minislots": 20,
        "backoff.start": 4,
        "header": 10,
        "timing.delivery": 40_000,
        # A MAP is made when the one before it begins.
        "timing.map_ahead": 5_000_000,
        "timing.ack_before_start": 5_000_000,
    }
    assert plan.profile.name == "docsis-1.1-004"


def test_frames_of_ofdma_and_a_shorter_map(write: Write) -> None:
    file = write(
        "upstream_channel: {profile: docsis-3.1, map_time: 945 us, capacity: {rate: 100 Mbps}}"
    )
    (plan,) = plans(load_topology(file))
    # mac.md, vector B: 7 frames.
    assert plan.overrides == {
        "map_minislots": 7 * 235,
        "capacity.rate": 100_000_000,
        "capacity.variation_percent": 0,
    }
    assert plan.profile.data_rate == 100_000_000


def test_minislots_of_another_length_keep_the_time_of_a_map(write: Write) -> None:
    file = write(
        "upstream_channel: {profile: docsis-3.0, minislot_time: 25 us, line_rate: 30720 kbps}"
    )
    (plan,) = plans(load_topology(file))
    assert plan.overrides == {
        "clock.frame_ps": 25_000_000,
        "map_minislots": 80,
        "phy.minislot_bits": 768,
    }


def test_modems_are_spread_evenly(write: Write) -> None:
    several = "upstream_channels:\n  - docsis-3.0\n  - {name: fast, profile: docsis-3.1}"
    topology = load_topology(write(several))
    assert {name: on.name for name, on in topology.channel_of.items()} == {
        "home1": "us1", "home2": "fast", "home3": "us1", "shop": "fast",
    }  # fmt: skip


def test_modems_that_name_their_channel_have_it(write: Write) -> None:
    several = "upstream_channels:\n  - docsis-3.0\n  - {name: fast, profile: docsis-3.1}"
    file = write(several, ("name: shop,", "name: shop, upstream_channel: us1,"))
    topology = load_topology(file)
    assert {name: on.name for name, on in topology.channel_of.items()} == {
        "home1": "fast", "home2": "us1", "home3": "fast", "shop": "us1",
    }  # fmt: skip


def test_the_plan_has_what_scheduler_and_modem_are_told(write: Write) -> None:
    several = "upstream_channels:\n  - docsis-3.0\n  - {name: fast, profile: docsis-3.1}"
    deployment = deploy(load_topology(write(several)), Preset.DOCSIS_PIE)
    first, second = upstream_channels(deployment)
    assert (first.name, first.number, first.device, first.port) == ("us1", 1, "cm1", 1)
    assert (second.name, second.number, second.device, second.port) == ("fast", 2, "cm1", 1)
    assert [(flow.sid, flow.modem, flow.reference) for flow in first.flows] == [
        (1, 1, 1), (2, 1, 2), (5, 3, 1), (6, 3, 2),
    ]  # fmt: skip
    assert [flow.sid for flow in second.flows] == [3, 4, 7, 8]
    best, call = first.flows[:2]
    assert (best.scheduling.type, best.min_reserved_rate) == (SchedulingType.BEST_EFFORT, 2_000_000)
    assert call.scheduling == Scheduling(
        SchedulingType.UGS, 0x17F,
        grant_size=214, grant_interval=20_000_000, grant_jitter=1_000_000, grants_per_interval=1,
    )  # fmt: skip
    assert (call.max_sustained_rate, call.max_burst) == (1_000_000, 3044)
    # Grants let frames go, not the port's rate.
    assert deployment.device(Role.CABLE_MODEM).ports[0].rate == 0
    # A SID is the queue's index.
    assert {flow.sid: flow.sfid for flow in (*first.flows, *second.flows)} == {
        flow.index: flow.sfid for flow in deployment.device(Role.CABLE_MODEM).service_flows
    }


def test_sids_stay_when_service_flows_come_and_go(write: Write) -> None:
    topology = load_topology(write())
    before = deploy(topology, Preset.DOCSIS_PIE)
    home1 = before.modems[0].configuration
    delete = Change(Action.DELETE, Kind.UPSTREAM_SERVICE_FLOW, 2)
    after = deploy(
        topology, Preset.DOCSIS_PIE, changed={"home1": with_changes(home1, [delete])}, before=before
    )
    (was,), (now,) = upstream_channels(before), upstream_channels(after)
    assert [flow.sid for flow in was.flows] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [flow for flow in was.flows if flow.sid != 2] == list(now.flows)


def test_a_dynamic_change_is_checked_on_the_channel(write: Write) -> None:
    topology = load_topology(write())
    before = deploy(topology, Preset.DOCSIS_PIE)
    home1 = before.modems[0].configuration
    values = {"request_transmission_policy": 1}
    change = Change(Action.SET, Kind.UPSTREAM_SERVICE_FLOW, 1, values)
    with pytest.raises(KeyedError, match="no way to ask"):
        deploy(
            topology,
            Preset.DOCSIS_PIE,
            changed={"home1": with_changes(home1, [change])},
            before=before,
        )


def test_a_flow_without_a_rate_has_its_channel(write: Write) -> None:
    deployment = deploy(load_topology(write()), Preset.DOCSIS_PIE)
    flow = deployment.device(Role.CABLE_MODEM).service_flows[0]
    assert flow.max_sustained_rate == 0
    assert flow.drain_rate == named("docsis-3.1").data_rate


def test_a_record_can_be_read_again(write: Write, tmp_path: Path) -> None:
    several = (
        "upstream_channels:\n  - docsis-3.0\n"
        "  - {name: fast, profile: docsis-3.1, map_time: 945 us, backoff: {start: 1}}\n"
        "channel: {downstream: 300 Mbps}"
    )
    street = load_topology(write(several))
    again = tmp_path / "again.yaml"
    with again.open("w") as stream:
        YAML(typ="safe", pure=True).dump(street.model_dump(mode="json", exclude_none=True), stream)
    assert load_topology(again) == street


def test_what_has_no_mac_refuses_by_name(write: Write) -> None:
    with pytest.raises(KeyedError) as caught:
        refuse_channels(load_topology(write()), "BMv2")
    assert str(caught.value) == (
        "topology street has the upstream channel us1 (docsis-3.1), and BMv2 has no request/grant "
        "MAC; leave upstream_channel out, or make it none"
    )


def test_the_documentation_names_every_key() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "service-flows.md").read_text()
    section = text.partition("\n## Upstream channels\n")[2].partition("\n## ")[0]
    parts: tuple[type[Model], ...] = (PhyNumbers, TimingNumbers)
    keys = set(UpstreamChannel.model_fields) - {"name", "profile"} - {"backoff", "capacity"}
    keys |= {key for part in parts for key in part.model_fields}
    keys |= {f"backoff.{key}" for key in BackoffNumbers.model_fields}
    keys |= {f"capacity.{key}" for key in CapacityNumbers.model_fields}
    assert [key for key in sorted(keys) if f"`{key}`" not in section] == []
    assert [name for name in (NONE, *NAMES) if f"| `{name}` |" not in section] == []


REFUSED: dict[str, tuple[str, tuple[tuple[str, str], ...], int, str, str]] = {
    "no such profile": (
        "upstream_channel: docsis-3.2", (), 2, "upstream_channel", "there are cablelabs-2014"),
    "none among several": (
        "upstream_channels: [none]", (), 2, "upstream_channels.0", 'no profile "none"'),
    "no channels": ("upstream_channels: []", (), 2, "upstream_channels", "1 to 255"),
    "both forms": (
        f"upstream_channels: [docsis-3.0]\n{SHORT}", (), 3, "upstream_channel", "stands beside"),
    "a name twice": (
        "upstream_channels:\n  - docsis-3.0\n  - {name: us1, profile: docsis-3.1}", (),
        4, "upstream_channels.1.name", "another channel has that name"),
    "no profile": (
        "upstream_channel: {map_time: 2 ms}", (), 2, "upstream_channel.profile", "is missing"),
    "a misspelt key": (
        "upstream_channel:\n  profile: docsis-3.1\n  map_tme: 2 ms", (),
        4, "upstream_channel.map_tme", 'did you mean "map_time"'),
    "a misspelt key of its timing": (
        "upstream_channel:\n  profile: docsis-3.1\n  timing: {map_ahed: 2 ms}", (),
        4, "upstream_channel.timing.map_ahed", 'did you mean "map_ahead"'),
    "a time without a unit": (
        "upstream_channel: {profile: docsis-3.1, map_time: 2}", (),
        2, "upstream_channel.map_time", "2 has no unit"),
    "MAPs shorter than their lead time": (
        "upstream_channel:\n  profile: docsis-3.1\n  timing:\n    map_ahead: 500 us", (),
        5, "upstream_channel.timing.map_ahead", "modems need 1110 us"),
    "contention that fills the MAPs": (
        "upstream_channel:\n  profile: docsis-1.1-004\n  contention_minislots: 77", (),
        4, "upstream_channel.contention_minislots", "fills a MAP of 80"),
    "backoff start above its end": (
        "upstream_channel:\n  profile: docsis-1.1-004\n  backoff: {start: 8}", (),
        4, "upstream_channel.backoff.start", "above backoff.end, 7"),
    "backoff start above its end, of several": (
        "upstream_channels:\n  - docsis-3.0\n  - profile: docsis-3.0\n    backoff: {end: 1}", (),
        5, "upstream_channels.1.backoff.start", "above backoff.end, 1"),
    "half a minislot": (
        "upstream_channel: {profile: docsis-1.1-004, map_time: 5010 us}", (),
        2, "upstream_channel.map_time", "use 5000 us or 5025 us"),
    "half a byte in a minislot": (
        "upstream_channel: {profile: docsis-1.1-004, line_rate: 2561 kbps}", (),
        2, "upstream_channel.line_rate", "no whole number of bytes a minislot"),
    "two sizes of a minislot": (
        "upstream_channel: {profile: docsis-1.1-004, line_rate: 2560 kbps, "
        "phy: {minislot_bytes: 8}}", (), 2, "upstream_channel.phy.minislot_bytes", "keep one"),
    "a line that does not divide": (
        "upstream_channel: {profile: cablelabs-2014, line_rate: 20100 kbps}", (),
        2, "upstream_channel.line_rate", "multiple of 400000"),
    "minislots of another kind of channel": (
        "upstream_channel: {profile: docsis-3.1, minislot_time: 25 us}", (),
        2, "upstream_channel.minislot_time", "which has a frame_time"),
    "code words of another kind of channel": (
        "upstream_channel: {profile: docsis-3.1, phy: {codeword_data: 223 B}}", (),
        2, "upstream_channel.phy.codeword_data", "which has minislot_bytes"),
    "frames without a length": (
        "upstream_channel: {profile: docsis-3.1, frame_time: 0 us}", (),
        2, "upstream_channel.frame_time", "is 0"),
    "frames without minislots": (
        "upstream_channel: {profile: docsis-3.1, minislots_per_frame: 0}", (),
        2, "upstream_channel.minislots_per_frame", "at least one"),
    "minislots that carry nothing": (
        "upstream_channel: {profile: docsis-3.1, phy: {minislot_bytes: 0}}", (),
        2, "upstream_channel.phy.minislot_bytes", "carries something"),
    "requests of no minislots": (
        "upstream_channel: {profile: docsis-3.1, request_minislots: 0}", (),
        2, "upstream_channel.request_minislots", "1 to 4096"),
    "a capacity without a rate": (
        "upstream_channel: {profile: docsis-3.1, capacity: {variation_percent: 20}}", (),
        2, "upstream_channel.capacity.rate", "is missing"),
    "a rate of the channel beside": (
        f"{SHORT}\nchannel: {{upstream: 20 Mbps, downstream: 300 Mbps}}", (),
        3, "channel.upstream", "have rates of their own"),
    "no rate of the channel": (
        "channel: {downstream: 300 Mbps}", (), 2, "channel.upstream", "is missing"),
    "a channel that is not there": (
        SHORT, (("name: shop,", "name: shop, upstream_channel: us2,"),),
        7, "modems.1.upstream_channel", 'no upstream channel "us2"; there are us1'),
    "a channel where there is none": (
        "channel: {upstream: 20 Mbps, downstream: 300 Mbps}",
        (("name: shop,", "name: shop, upstream_channel: us1,"),),
        7, "modems.1.upstream_channel", "there are none"),
    "reserved rates beyond the channel": (
        "upstream_channel: docsis-1.1-004", (),
        6, "modems.0", "home3 brings the sum of the upstream Minimum Reserved Traffic Rates to "
        "6 Mbps, above us1's 4120 kbps"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(write: Write, case: str) -> None:
    channels, street, line, key, words = REFUSED[case]
    file = write(channels, *street)
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    problem = caught.value.problems[0]
    assert words in problem.message, str(problem)
    assert (problem.file, problem.line, problem.key) == (file, line, key)


FLOWS_REFUSED: dict[str, tuple[tuple[str, str], str]] = {
    "a grant interval below a MAP": (
        ("nominal_grant_interval: 20 ms", "nominal_grant_interval: 2 ms"),
        "upstream_service_flows.1.nominal_grant_interval: is 2 ms, less than a MAP of 2025 us; "
        "lengthen it, or shorten the MAPs (TLV 24.20)"),
    "a policy that leaves no way to ask": (
        ("minimum_reserved_traffic_rate: 2 Mbps", "request_transmission_policy: 0x1f"),
        "upstream_service_flows.0.request_transmission_policy: is 0x1f, which forbids broadcast "
        "requests (bit 0): a best-effort flow then has no way to ask; clear the bit, or have the "
        "flow polled (TLV 24.16)"),
    "grants that do not fit": (
        ("unsolicited_grant_size: 214 B", "unsolicited_grant_size: 0 B"),
        "upstream_service_flows.1.unsolicited_grant_size: is 0; say how much each grant holds "
        "(TLV 24.19)"),
}  # fmt: skip


@pytest.mark.parametrize("case", FLOWS_REFUSED)
def test_refuses_service_flows(write: Write, case: str) -> None:
    change, message = FLOWS_REFUSED[case]
    file = write(home=(change,))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    assert str(caught.value) == f"{file}:6: modems.0.configuration: {message}"
    # What a channel makes impossible can be where there is none.
    assert load_topology(write("channel: {upstream: 20 Mbps, downstream: 9 Mbps}", home=(change,)))


def test_unsolicited_grants_beyond_the_channel_are_refused(write: Write) -> None:
    # 214 and 10 bytes are 14 minislots; 15 such grants every 10 ms are 42 of each MAP's 65.
    many = ("grants_per_interval: 1", "grants_per_interval: 15")
    faster = ("nominal_grant_interval: 20 ms", "nominal_grant_interval: 10 ms")
    small = ("minimum_reserved_traffic_rate: 2 Mbps", "traffic_priority: 1")
    file = write("upstream_channel: docsis-1.1-004", home=(many, faster, small))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    assert str(caught.value) == (
        f"{file}:6: modems.0: upstream service flow 2 of home2 (ugs) brings unsolicited "
        "grants, polls and reserved rates to 84 minislots a MAP, and us1 may promise 58; give them "
        "longer intervals or less, or fewer modems to the channel"
    )
    # Over four channels they fit.
    names = ", ".join(["docsis-1.1-004"] * 4)
    assert load_topology(write(f"upstream_channels: [{names}]", home=(many, faster, small)))


@pytest.mark.parametrize(
    ("channels", "valid"),
    [
        (SHORT, True),
        ("upstream_channel: none", True),
        ("upstream_channel: {profile: docsis-3.1, map_time: 945 us}", True),
        ("upstream_channels: [docsis-3.0, {profile: docsis-3.1, timing: {delivery: 1 ms}}]", True),
        ("upstream_channel: docsis-3.2", False),
        ("upstream_channel: {map_time: 945 us}", False),
        ("upstream_channel: {profile: docsis-3.1, map_time: 945}", False),
        ("upstream_channels: [none]", False),
        ("upstream_channels: []", False),
    ],
)
def test_the_schema_knows_the_forms(write: Write, channels: str, valid: bool) -> None:
    data = YAML(typ="safe", pure=True).load(write(channels).read_text())
    validator = jsonschema.Draft202012Validator(json_schemas()["topology"])
    assert validator.is_valid(data) is valid


_COUNTS = st.one_of(st.integers(0, 300), st.integers(0, 2**33))


def _with_unit(unit: str) -> st.SearchStrategy[str]:
    return _COUNTS.map(lambda count: f"{count} {unit}")


def _some(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


_TIMES = {key: _with_unit("us") for key in TimingNumbers.model_fields if key[-8:] != "previous"}
CHANNELS = st.builds(
    lambda profile, numbers: {"name": "us1", "profile": profile, **numbers},
    st.sampled_from(NAMES),
    _some(
        map_time=st.one_of(_with_unit("us"), st.sampled_from(("2 ms", "5 ms", "1350 us"))),
        line_rate=_with_unit("kbps"),
        minislot_time=_with_unit("ns"),
        frame_time=_with_unit("us"),
        minislots_per_frame=_COUNTS,
        phy=_some(
            minislot_bytes=_COUNTS,
            overhead=_with_unit("B"),
            minislot_bits=_COUNTS,
            preamble_bits=_COUNTS,
            guard_bits=_COUNTS,
            codeword_data=_with_unit("B"),
            codeword_parity=_with_unit("B"),
        ),
        stretch=st.booleans(),
        contention_minislots=_COUNTS,
        maintenance_minislots=_COUNTS,
        request_minislots=_COUNTS,
        contention_place=st.sampled_from(("head", "random-frame")),
        capacity=_some(rate=_with_unit("bps"), variation_percent=_COUNTS),
        backoff=_some(start=st.integers(0, 20), end=st.integers(0, 20)),
        tries=_COUNTS,
        idle_proactive_grants=st.integers(0, 70_000).map("{} grants".format),
        asking=st.sampled_from(("one-burst", "queue-depth")),
        packing=st.sampled_from(("single", "concatenated", "continuous")),
        concatenated_frames=_COUNTS,
        fragmentation=st.booleans(),
        header=_with_unit("B"),
        segment_header=_with_unit("B"),
        timing=_some(map_with_previous=st.booleans(), **_TIMES),
    ),
)


@given(CHANNELS)
def test_whatever_numbers_say_a_channel_is_one_or_is_refused(written: dict[str, Any]) -> None:
    try:
        channel = UpstreamChannel.model_validate(written)
    except ValidationError:
        return
    profile = channel.numbers
    # What is accepted can be computed with.
    assert profile.data_rate > 0
    assert 0 < profile.data_minislots < 4097
    assert profile.map_length > 0
    assert profile.timing.ack_before_start >= profile.timing.map_ahead
    for flow in (BEST_EFFORT, Scheduling(SchedulingType.PGS, guaranteed_grant_rate=10**6)):
        with contextlib.suppress(KeyedError):
            check_flow(flow, profile)
            assert promised(flow, profile) >= 0
    # And it says as much when it is read again.
    again = UpstreamChannel.model_validate(channel.model_dump(mode="json", exclude_none=True))
    assert again.numbers == profile
    assert set(overrides(profile, named(channel.profile))) <= set(profile_numbers(profile))
