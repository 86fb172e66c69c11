# SPDX-License-Identifier: Apache-2.0
"""Topologies of many modems: short forms, configuration files, and what they turn into."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from docsis_control.config import ConfigError
from docsis_control.modem_config import from_yaml, to_bytes
from docsis_control.plan import Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.tables import TableEntry
from docsis_control.topology import Topology, load_topology
from docsis_control.topology.document import write_topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"

HOME = """\
upstream_classifiers:
  - {classifier_reference: 1, service_flow_reference: 2, ip: {protocol: udp}}
upstream_service_flows:
  - {service_flow_reference: 1, qos_parameter_set_type: 7,
     maximum_sustained_traffic_rate: 20 Mbps, minimum_reserved_traffic_rate: 2 Mbps}
  - {service_flow_reference: 2, qos_parameter_set_type: 7, traffic_priority: 5}
downstream_service_flows:
  - {service_flow_reference: 3, qos_parameter_set_type: 7,
     maximum_sustained_traffic_rate: 100 Mbps, peak_traffic_rate: 150 Mbps}
"""
STREET = """\
name: street
channel: {upstream: 10 Mbps, downstream: 300 Mbps}
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
modems:
  - {name: home, count: 3, configuration: home.yaml, hosts: 2}
  - name: shop
    configuration: home.cfg
    hosts:
      - {name: till, ip: 10.0.0.5/16, mac: "02:00:00:00:00:05"}
servers:
  - {name: server1, ip: 10.0.0.101/16, mac: "02:00:00:00:02:01"}
"""

Write = Callable[..., Path]
MAC_OF_SERVER = 'mac: "02:00:00:00:02:01"'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the street with pieces of its files replaced."""

    def replace(text: str, old: str, new: str) -> str:
        assert text.count(old) == 1 or not old, f"{old!r} is there {text.count(old)} times"
        return text.replace(old, new) if old else text

    def write_files(street: tuple[str, str] = ("", ""), home: tuple[str, str] = ("", "")) -> Path:
        (tmp_path / "home.yaml").write_text(replace(HOME, *home))
        binary = to_bytes(from_yaml(HOME, Path("home.yaml")), Path("home.yaml"))
        (tmp_path / "home.cfg").write_bytes(binary)
        file = tmp_path / "street.yaml"
        file.write_text(replace(STREET, *street))
        return file

    return write_files


@pytest.fixture
def street(write: Write) -> Topology:
    return load_topology(write())


def entries(tables: tuple[TableEntry, ...], table: str) -> list[TableEntry]:
    return [entry for entry in tables if entry.table.endswith(f".{table}")]


def test_a_damaged_binary_file_is_refused_as_a_modem_refuses_it(
    write: Write, tmp_path: Path
) -> None:
    file = write()
    binary = tmp_path / "home.cfg"
    content = binary.read_bytes()
    rate = (20_000_000).to_bytes(4, "big")
    assert content.count(rate) == 1
    # One bit: still a file in order, whose upstream rate is another one.
    binary.write_bytes(content.replace(rate, (20_000_000 ^ 1 << 24).to_bytes(4, "big")))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key) == (file, 8, "modems.1.configuration")
    assert problem.message.startswith(f"{binary} is damaged or was changed: the CM MIC, TLV 6, ")
    assert "encode it again" in problem.message


def test_a_binary_file_needs_no_cm_mic(write: Write, tmp_path: Path) -> None:
    file = write()
    without = from_yaml(HOME + "cm_mic: none\n", Path("home.yaml"))
    (tmp_path / "home.cfg").write_bytes(to_bytes(without, Path("home.yaml")))
    assert load_topology(file).modems[3].configuration == without


def test_short_forms_are_written_out(street: Topology) -> None:
    assert [modem.name for modem in street.modems] == ["home1", "home2", "home3", "shop"]
    assert [host.name for host in street.modems[1].hosts] == ["home2h1", "home2h2"]
    assert str(street.modems[1].hosts[1].ip) == "10.0.2.2/16"
    assert street.modems[2].hosts[0].mac == "02:00:01:00:03:01"
    # One is from YAML, the other from the binary file that was made of it.
    assert street.modems[0].configuration is not None
    assert street.modems[3].configuration is not None
    yaml, binary = street.modems[0].configuration, street.modems[3].configuration
    assert yaml.upstream_service_flows == binary.upstream_service_flows


def test_a_record_can_be_read_again(street: Topology, tmp_path: Path) -> None:
    again = tmp_path / "again.yaml"
    with again.open("w") as stream:
        YAML(typ="safe", pure=True).dump(street.model_dump(mode="json", exclude_none=True), stream)
    assert load_topology(again) == street


def test_the_hosts_of_one_modem_are_the_short_form_of_a_list(write: Write, tmp_path: Path) -> None:
    write()
    file = tmp_path / "single.yaml"
    modems = STREET[STREET.index("modems:") : STREET.index("servers:")]
    host = "{name: a, ip: 10.0.0.5/16, mac: '02:00:00:00:00:05'}"
    single = f"configuration: home.yaml\nhosts:\n  - {host}\n"
    file.write_text(STREET.replace(modems, single))
    topology = load_topology(file)
    assert [modem.name for modem in topology.modems] == ["cm1"]
    assert topology.modems[0].configuration is not None


def test_each_modem_has_numbers_of_its_own(street: Topology) -> None:
    deployment = deploy(street, Preset.DOCSIS_PIE)
    up = deployment.device(Role.CABLE_MODEM).service_flows
    down = deployment.device(Role.CMTS).service_flows
    assert [(flow.modem, flow.reference) for flow in up] == [
        (modem, reference) for modem in (1, 2, 3, 4) for reference in (1, 2)
    ]
    assert [flow.index for flow in up] == list(range(1, 9))
    # One each, and the group's.
    assert [(flow.modem, flow.primary) for flow in down] == [
        (1, True), (2, True), (3, True), (4, True), (0, True),
    ]  # fmt: skip
    sfids = [flow.sfid for flow in (*up, *down)]
    assert sorted(sfids) == list(range(1, 14))


def test_a_flow_without_a_rate_has_the_channel(street: Topology) -> None:
    modem = deploy(street, Preset.DOCSIS_PIE).device(Role.CABLE_MODEM)
    flow = modem.service_flows[1]
    assert (flow.max_sustained_rate, flow.peak_rate) == (0, 0)
    assert (flow.drain_rate, flow.burst_rate) == (10_000_000, 10_000_000)
    # 250 ms of it, and no bucket to follow.
    assert flow.buffer_size == 312_500
    assert {"service_flow": flow.index} not in [
        entry.match for entry in entries(modem.tables, "msr_bucket")
    ]
    assert modem.ports[0].rate == 10_000_000


def test_modems_are_bridges_of_their_own(street: Topology) -> None:
    deployment = deploy(street, Preset.DOCSIS_PIE)
    modem, cmts = deployment.device(Role.CABLE_MODEM), deployment.device(Role.CMTS)
    groups = {group.group_id: group.ports for group in modem.groups}
    # Two homes' ports are 2, 3 and 4, 5.
    assert groups[4] == (1, 5)
    assert groups[1] == tuple(range(2, 9))
    interfaces = {e.match["port"]: e.params for e in entries(modem.tables, "interface") if e.match}
    assert interfaces[4] == {"flood_group": 4, "to_rf": 1, "modem": 2}
    assert interfaces[1] == {"flood_group": 1, "to_rf": 0, "modem": 0}
    till = {"modem": 0, "address": 0x020000000005}
    found = next(e for e in entries(cmts.tables, "station") if e.match == till)
    assert found.params == {"port": 1, "to_rf": 1, "modem": 4}
    primary = {e.match["modem"]: e.params for e in entries(cmts.tables, "primary") if e.match}
    assert primary[4] == {"service_flow": 4}
    assert primary[0] == {"service_flow": 5}


def test_barred_hosts_have_no_interface(write: Write) -> None:
    file = write(home=("upstream_classifiers:", "network_access: false\nupstream_classifiers:"))
    modem = deploy(load_topology(file), Preset.DOCSIS_PIE).device(Role.CABLE_MODEM)
    ports = [entry.match["port"] for entry in entries(modem.tables, "interface") if entry.match]
    # The homes are barred; the shop has another file.
    assert ports == [1, 8]


def test_many_modems_share_a_channel(write: Write) -> None:
    file = write(street=("upstream: 10 Mbps", "upstream: 7 Mbps"))
    with pytest.raises(
        ConfigError,
        match=r"street\.yaml:7: modems\.1: shop brings the sum of the upstream Minimum Reserved "
        r"Traffic Rates to 8 Mbps, above the channel's 7 Mbps",
    ):
        load_topology(file)


def test_what_is_admitted_is_reserved_although_it_is_not_active(write: Write) -> None:
    old = "qos_parameter_set_type: 7, traffic_priority: 5"
    for kinds in (1, 3):
        new = f"qos_parameter_set_type: {kinds}, minimum_reserved_traffic_rate: 3 Mbps"
        file = write(home=(old, new))
        if kinds == 1:
            load_topology(file)
        else:
            with pytest.raises(ConfigError, match=r"home3 brings the sum .* to 15 Mbps"):
                load_topology(file)


ERRORS = {
    "count of 0": ("count: 3", "count: 0", 6, "modems.0.count", "1 to 508"),
    "count of text": ("count: 3", "count: x", 6, "modems.0.count", "1 to 508"),
    "no hosts": ("hosts: 2", "hosts: 0", 6, "modems.0.hosts", "1 to 254"),
    "hosts beside a count": (
        "hosts: 2", "hosts: []", 6, "modems.0.hosts", "must be a number beside count",
    ),
    "too many": ("count: 3", "count: 254", 5, "modems", "a device has ports for"),
    "a small network": (
        "10.0.0.101/16", "10.0.0.101/24", 6, "modems.0.hosts", "has no addresses",
    ),
    "a name twice": ("name: shop", "name: home2", 7, "modems.1.name", "another modem has"),
    "no such file": ("home.cfg", "none.cfg", 8, "modems.1.configuration", "cannot be read"),
    "no known kind": ("home.cfg", "street.txt", 8, "modems.1.configuration", "cannot be read"),
    "two services": (
        "configuration: home.cfg", "configuration: home.cfg\n    tier: cable-20", 9,
        "modems.1.tier", "beside a configuration",
    ),
    "no channel": (
        "channel: {upstream: 10 Mbps, downstream: 300 Mbps}\n", "", 5, "modems.0.configuration",
        "give one of the two",
    ),
    "a channel of 0": ("upstream: 10 Mbps", "upstream: 0 Mbps", 2, "channel.upstream", "above 0"),
    "room for nothing": (
        "configuration: home.cfg", "configuration: home.cfg\n    service_flows: 64", 9,
        "modems.1.service_flows", "less than or equal to 63",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_refuses(write: Write, case: str) -> None:
    old, new, line, key, words = ERRORS[case]
    file = write(street=(old, new))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    problem = caught.value.problems[0]
    assert words in problem.message, str(problem)
    assert (problem.file, problem.line, problem.key) == (file, line, key)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("qos_parameter_set_type: 7, traffic_priority: 5", "traffic_priority: 5", "is missing"),
        ("service_flow_reference: 2, ip", "service_flow_reference: 4, ip", "no upstream service"),
    ],
)
def test_a_configuration_s_errors_are_its_own(write: Write, old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_topology(write(home=(old, new)))
    assert caught.value.problems[0].file.name == "home.yaml"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("maximum_sustained_traffic_rate: 30 Gbps", "more than the pipeline counts"),
        ("aqm: {algorithm: immediate}", "immediate is not implemented"),
    ],
)
def test_refuses_what_the_pipeline_does_not_have(write: Write, change: str, words: str) -> None:
    file = write(home=("traffic_priority: 5", f"traffic_priority: 5, {change}"))
    with pytest.raises(ConfigError, match=words):
        load_topology(file)


def test_the_repository_s_binary_file_is_that_of_its_yaml() -> None:
    text = TOPOLOGIES / "modems" / "silver.yaml"
    binary = to_bytes(from_yaml(text.read_text(), text), text)
    assert text.with_suffix(".cfg").read_bytes() == binary


def test_a_link_has_loss_and_jitter_and_is_kept(write: Write, tmp_path: Path) -> None:
    link = "link: {loss: 0.5 %, jitter: 3 ms}"
    topology = load_topology(write(street=(MAC_OF_SERVER, f"{MAC_OF_SERVER}, {link}")))
    [server] = topology.servers
    assert server.link is not None
    assert (server.link.loss, server.link.jitter) == (5_000, 3_000_000)
    assert all(host.link is None for host in topology.hosts)
    write_topology(topology, tmp_path / "kept.yaml")
    assert load_topology(tmp_path / "kept.yaml") == topology


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("{loss: 101 %}", r'servers\.0\.link\.loss: "101 %" is more than 100 %'),
        ("{loss: 0.5}", r"servers\.0\.link\.loss: 0\.5 has no unit"),
        ("{jitter: 11 s}", r"servers\.0\.link\.jitter: a jitter must be at most 10 s"),
        ("{jitter: -1 ms}", r"servers\.0\.link\.jitter: "),
        ("{delay: 5 ms}", r"servers\.0\.link\.delay: unknown key"),
        ("5 ms", r"servers\.0\.link: "),
    ],
)
def test_what_no_link_can_be_is_refused(write: Write, link: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_topology(write(street=(MAC_OF_SERVER, f"{MAC_OF_SERVER}, link: {link}")))
