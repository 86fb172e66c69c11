# SPDX-License-Identifier: Apache-2.0
"""Topologies and tiers: the good ones, and every way to get one wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from docsis_control.app import main
from docsis_control.config import ConfigError
from docsis_control.topology import json_schemas, load_tier, load_topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"

TIER = """\
name: gold
upstream:
  maximum_sustained_traffic_rate: 20 Mbps
  peak_traffic_rate: 25 Mbps
  maximum_traffic_burst: 500 KB
  buffer: 250 ms
  aqm: {enabled: true, latency_target: 10 ms}
downstream:
  maximum_sustained_traffic_rate: 100 Mbps
  peak_traffic_rate: 150 Mbps
  maximum_traffic_burst: 33 MB
"""
TOPOLOGY = """\
name: home
tier: gold
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
hosts:
  - {name: cpe1, ip: 10.0.0.11/24, mac: "02:00:00:00:01:01"}
servers:
  - name: server1
    ip: 10.0.0.101/24
    mac: "02:00:00:00:02:01"
    round_trip_time: 20 ms
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes topology and tier with one piece of one of them replaced."""

    def replace(text: str, old: str, new: str) -> str:
        assert text.count(old) == 1 or not old, f"{old!r} is there {text.count(old)} times"
        return text.replace(old, new) if old else text

    def write_files(topology: tuple[str, str] = ("", ""), tier: tuple[str, str] = ("", "")) -> Path:
        (tmp_path / "tiers").mkdir()
        (tmp_path / "tiers" / "gold.yaml").write_text(replace(TIER, *tier))
        file = tmp_path / "home.yaml"
        file.write_text(replace(TOPOLOGY, *topology))
        return file

    return write_files


def test_reads_what_is_good(write: Write) -> None:
    topology = load_topology(write())
    assert topology.tier is not None
    assert topology.tier.upstream.maximum_sustained_traffic_rate == 20_000_000
    assert topology.tier.upstream.buffer_bytes == 625_000
    assert topology.tier.downstream.buffer_bytes == 3_125_000
    assert topology.tier.upstream.aqm.latency_target == 10_000_000
    assert topology.servers[0].round_trip_time == 20_000_000
    assert topology.cable_modem.server_port == 50051
    assert topology.node("cpe1").mac == "02:00:00:00:01:01"
    with pytest.raises(KeyError, match='no host "cpe9"; it has cpe1, server1'):
        topology.node("cpe9")


@pytest.mark.parametrize("file", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda file: file.stem)
@pytest.mark.parametrize("tier", [None, "cable-20", "cable-2018"])
def test_the_repository_s_own(file: Path, tier: str | None) -> None:
    topology = load_topology(file, tier)
    assert tier is None or (topology.tier is not None and topology.tier.name == tier)


def test_a_record_s_topology_can_be_read_again(write: Write, tmp_path: Path) -> None:
    topology = load_topology(write())
    again = tmp_path / "resolved.yaml"
    with again.open("w") as stream:
        YAML().dump(topology.model_dump(mode="json"), stream)
    assert load_topology(again) == topology


# What is replaced, by what, and the line, the key and the words of the error.
TIER_ERRORS = {
    "unknown key": ("peak_traffic_rate: 25", "peak_rate: 25", 4, "upstream.peak_rate",
                    'unknown key; did you mean "peak_traffic_rate"'),
    "missing key": ("  maximum_traffic_burst: 500 KB\n", "", 2, "upstream.maximum_traffic_burst",
                    "is missing"),
    "wrong unit": ("rate: 20 Mbps", "rate: 20 ms", 3, "upstream.maximum_sustained_traffic_rate",
                   '"ms" is not a unit of a data rate'),
    "no unit": ("rate: 20 Mbps", "rate: 20", 3, "upstream.maximum_sustained_traffic_rate",
                "20 has no unit"),
    "rate of 0": ("rate: 20 Mbps", "rate: 0 Mbps", 3, "upstream.maximum_sustained_traffic_rate",
                  "above 0"),
    "rate beyond the pipeline": ("rate: 150 Mbps", "rate: 20 Gbps", 10,
                                 "downstream.peak_traffic_rate", "at most 17179869183 bps"),
    "peak below sustained": ("25 Mbps", "15 Mbps", 4, "upstream.peak_traffic_rate", "is below"),
    "burst below 1522": ("500 KB", "1521 B", 5, "upstream.maximum_traffic_burst",
                         "at least 1522 B"),
    "burst beyond the pipeline": ("33 MB", "5 GB", 11, "downstream.maximum_traffic_burst",
                                  "at most"),
    "buffer smaller than a packet": ("250 ms", "1521 B", 6, "upstream.buffer", "at least 1522 B"),
    "buffer time shorter than a packet": ("250 ms", "0.5 ms", 6, "upstream.buffer",
                                          "buffer of 1250 bytes"),
    "buffer beyond the pipeline": ("250 ms", "3 GB", 6, "upstream.buffer", "at most"),
    "more tokens than burst": ("  buffer: 250 ms", "  initial_tokens: 501 KB", 6,
                               "upstream.initial_tokens", "do not fit"),
    "latency target of 0": ("10 ms", "0 ms", 7, "upstream.aqm.latency_target", "1 ms to 255 ms"),
    "latency target in between": ("10 ms", "10.5 ms", 7, "upstream.aqm.latency_target", "whole"),
    "not a boolean": ("enabled: true", "enabled: 1", 7, "upstream.aqm.enabled", "true or false"),
    "not a mapping": ("{enabled: true, latency_target: 10 ms}", "on", 7, "upstream.aqm",
                      'must be a mapping of keys to values, not "on"'),
    "another name": ("name: gold", "name: silver", 1, "name", 'must be the file\'s name, "gold"'),
    "key given twice": ("name: gold\n", "name: gold\nname: gold\n", 2, "name", "twice"),
    "empty": (TIER, "", 1, "", "must be a mapping"),
    "not YAML": ("name: gold", "name: [gold", 2, "", "is not YAML"),
    "not what its tag says": ("name: gold", "name: !!int gold", 0, "", "a value that is no YAML"),
    "a number without end": ("name: gold", f"name: {'9' * 6000}", 0, "", "a value that is no YAML"),
    "deep": ("name: gold", f"name: {'[' * 30_000}", 1, "", "more than 50 brackets are open here"),
    "half a character": ("name: gold", 'name: "\\ud800"', 1, "name", "has half of a character"),
    "half a character as a key": ("name: gold", '"\\ud800": gold', 1, "",
                                  "has half of a character"),
    "large": ("name: gold", f"name: gold\n#{'x' * 64 * 300_000}", 0, "", "has more than"),
    "in itself": ("name: gold", "name: &a [*a, *a]", 1, "name", "must be a text"),
    "a bomb": ("name: gold\n", "".join(f"x{i}: &a{i} [{f'*a{i - 1}, ' * 9 if i else 'x'}]\n"
                                       for i in range(9)), 0, "", "has more than 300,000 values"),
    "too deep": ("name: gold", "name:" + "".join(f"\n{' ' * n}a:" for n in range(1, 61)), 1, "name",
                 "more than 50 levels"),
    "a tag of a text": ("name: gold", "name: !foo gold", 1, "name", "has a tag, !foo, which"),
    "a tag of a list": ("name: gold", "name: !foo [1]", 1, "name", "has a tag, !foo, which"),
    "a tag of a mapping": ("aqm: {", "aqm: !foo {", 7, "upstream.aqm", "has a tag, !foo, which"),
    "a tag of it all": ("name: gold", "--- !foo\nname: gold", 1, "", "has a tag, !foo, which"),
    "an item of an ordered mapping": ("name: gold", "name: !!omap [x: !foo 1]", 1, "name.x",
                                      "has a tag, !foo, which"),
}  # fmt: skip


@pytest.mark.parametrize("case", TIER_ERRORS)
def test_refuses_a_tier(write: Write, case: str) -> None:
    old, new, line, key, words = TIER_ERRORS[case]
    file = write(tier=(old, new))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    expect_problem(caught.value, file.parent / "tiers" / "gold.yaml", line, key, words)


# What `<<` brings into the queue manager's mapping, and the key and the words of the error.
MERGED_ERRORS = {
    "wrong value": ("{latency_target: 0 ms}", "latency_target", "1 ms to 255 ms"),
    "unknown key": ("{latency: 0 ms}", "latency", 'did you mean "latency_target"'),
    "no text": ('{latency_target: "\\ud800"}', "latency_target", "has half of a character"),
    "tag": ("{latency_target: !foo 9 ms}", "latency_target", "has a tag, !foo, which"),
    "tag of a list": ("{latency_target: !foo [9]}", "latency_target", "has a tag, !foo, which"),
    "nested": ("{latency_target: {a: [0]}}", "latency_target", "not a duration"),
    "second of two": ("[{enabled: true}, {latency_target: 0 ms}]", "latency_target", "1 ms to"),
}


@pytest.mark.parametrize("case", MERGED_ERRORS)
def test_refuses_what_is_merged_into_a_tier(write: Write, case: str) -> None:
    merged, key, words = MERGED_ERRORS[case]
    file = write(tier=("latency_target: 10 ms}", f"<<: {merged}}}"))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    # A merged key has no line of its own: the mapping's is the nearest.
    place = file.parent / "tiers" / "gold.yaml"
    expect_problem(caught.value, place, 7, f"upstream.aqm.{key}", words)


def test_what_is_merged_is_read(write: Write) -> None:
    topology = load_topology(write(tier=("aqm: {enabled: true, ", "aqm: {<<: {enabled: true}, ")))
    assert topology.tier is not None
    assert topology.tier.upstream.aqm.enabled


TOPOLOGY_ERRORS = {
    "unknown key": ("device_id: 1}", "device_id: 1, x: 1}", 3, "cable_modem.x",
                    "known here: name, device_id, grpc_port"),
    "link between switches": ("device_id: 1}", "device_id: 1, link: {loss: 1 %}}", 3,
                              "cable_modem.link", "only links of hosts and servers have loss and"),
    "lossy channel": ("name: home", "name: home\nchannel: {downstream: 1 Gbps, loss: 1 %}", 2,
                      "channel.loss", "the link between modems and CMTS has neither"),
    "unknown key at the top": ("name: home", "name: home\nmodem: 3", 2, "modem",
                               'did you mean "modems"?'),
    "hosts beside modems": ("name: home", "name: home\nmodems: 3", 6, "hosts", "beside modems"),
    "missing hosts": ('hosts:\n  - {name: cpe1, ip: 10.0.0.11/24, mac: "02:00:00:00:01:01"}\n', "",
                      1, "modems", "is missing: The modems"),
    "no host": ('\n  - {name: cpe1, ip: 10.0.0.11/24, mac: "02:00:00:00:01:01"}\n', " []\n", 5,
                "hosts", "at least one"),
    "missing address": ("ip: 10.0.0.11/24, ", "", 6, "hosts.0.ip", "is missing"),
    "wrong unit": ("20 ms", "20 KB", 11, "servers.0.round_trip_time", '"KB" is not a unit'),
    "too far away": ("20 ms", "11 s", 11, "servers.0.round_trip_time", "at most 10 s"),
    "no prefix": ("10.0.0.11/24", "10.0.0.11", 6, "hosts.0.ip", "with its prefix"),
    "the network's address": ("10.0.0.11/24", "10.0.0.0/24", 6, "hosts.0.ip", "of a network"),
    "another network": ("10.0.0.101/24", "10.0.1.101/24", 9, "servers.0.ip", "is not in"),
    "address twice": ("10.0.0.101/24", "10.0.0.11/24", 9, "servers.0.ip",
                      "already taken by the host cpe1"),
    "name twice": ("name: server1", "name: cpe1", 8, "servers.0.name",
                   "already taken by the host cpe1"),
    "MAC twice": ("02:00:00:00:02:01", "02:00:00:00:01:01", 10, "servers.0.mac",
                  "already taken by the host cpe1"),
    "multicast MAC": ("02:00:00:00:02:01", "03:00:00:00:02:01", 10, "servers.0.mac", "multicast"),
    "not a MAC": ("02:00:00:00:02:01", "02:00:00", 10, "servers.0.mac", "not a MAC"),
    "device id twice": ("device_id: 2", "device_id: 1", 4, "cmts.device_id", "already taken"),
    "port twice": ("device_id: 2", "device_id: 2, grpc_port: 50051", 4, "cmts.grpc_port",
                   "already taken"),
    "negative device id": ("device_id: 2", "device_id: -2", 4, "cmts.device_id",
                           "greater than or equal to 0"),
    "device id as text": ("device_id: 2", 'device_id: "2"', 4, "cmts.device_id", "whole number"),
    "long name": ("name: cpe1", "name: a-very-long-name", 6, "hosts.0.name", "node name"),
    "shell in a name": ("name: cpe1", 'name: "x;rm"', 6, "hosts.0.name", "node name"),
    "unknown tier": ("tier: gold", "tier: lead", 2, "tier",
                     'no service tier "lead": '),
    "tier as path": ("tier: gold", "tier: ../gold", 2, "tier", "no service tier"),
    "missing tier": ("tier: gold\n", "", 1, "tier", "is missing, and the modem cm1"),
    "a list of modems": ("{name: cm1, device_id: 1}", "[]", 3, "cable_modem", "mapping"),
    "null in a file's name": ("name: home", 'name: home\nservice_classes: "a\\0b"', 2,
                              "service_classes", "has a null character"),
    "null in a modem's file": ("hosts:", 'modems: [{name: m1, configuration: "a\\0b"}]\nhosts:',
                               5, "modems.0.configuration", "has a null character"),
    "null in a key": ("name: home", 'name: home\n"a\\0b": 1', 1, "", "has a null character"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOPOLOGY_ERRORS)
def test_refuses_a_topology(write: Write, case: str) -> None:
    old, new, line, key, words = TOPOLOGY_ERRORS[case]
    file = write(topology=(old, new))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    expect_problem(caught.value, file, line, key, words)


def expect_problem(error: ConfigError, file: Path, line: int, key: str, words: str) -> None:
    problem = error.problems[0]
    assert (problem.file, problem.line, problem.key) == (file, line, key)
    assert words in problem.message
    assert "\n" not in str(error)
    assert str(error).startswith(f"{file}:{line}: {key}" if line else f"{file}: {key}")


def test_refuses_files_that_are_not_there(write: Write, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: there is no such file"):
        load_topology(tmp_path / "nowhere.yaml")
    with pytest.raises(ConfigError, match=r'home\.yaml: tier: there is no service tier "lead"'):
        load_topology(write(), tier="lead")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml:1: cannot be read: byte 0xff is no UTF-8"):
        load_tier(binary)
    with pytest.raises(ConfigError, match="is a folder; give a file"):
        load_tier(tmp_path)
    with pytest.raises(ConfigError, match=r"^a\\0b: has a null character, which no text and no na"):
        load_tier(Path("a\0b"))
    with pytest.raises(ConfigError, match="/dev/zero: has more than 19,200,000 bytes, which is"):
        load_tier(Path("/dev/zero"))


def test_a_topology_elsewhere_may_name_the_projects_tiers(write: Write) -> None:
    file = write(topology=("tier: gold", "tier: cable-20"))
    assert load_topology(file).tier == load_tier(TOPOLOGIES / "tiers" / "cable-20.yaml")
    # What lies beside the file comes first.
    nearer = file.parent / "tiers" / "cable-20.yaml"
    nearer.write_text(TIER.replace("gold", "cable-20"))
    assert load_topology(file).tier == load_tier(nearer)
    assert load_tier(nearer) != load_tier(TOPOLOGIES / "tiers" / "cable-20.yaml")


def test_a_tier_that_is_nowhere_is_told_with_the_places(write: Write) -> None:
    file = write(topology=("tier: gold", "tier: lead"))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    message = caught.value.problems[0].message
    assert f"{file.parent / 'tiers'} has gold; " in message
    assert "topologies/tiers has cable-20, cable-2018" in message
    own = TOPOLOGIES / "residential.yaml"
    with pytest.raises(ConfigError) as caught:
        load_topology(own, "lead")
    assert caught.value.problems[0].message.count("tiers has") == 1


def test_the_command_says_it_in_one_line(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tier=("rate: 20 Mbps", "rate: 0 Mbps"))
    assert main(["--topology", str(file)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "tiers/gold.yaml:3: upstream.maximum_sustained_traffic_rate: " in error


def test_finds_all_problems(write: Write) -> None:
    file = write(topology=('name: cpe1, ip: 10.0.0.11/24, mac: "02:00:00:00:01:01"', "x: 1"))
    with pytest.raises(ConfigError) as caught:
        load_topology(file)
    assert {problem.key for problem in caught.value.problems} == {
        "hosts.0.x",
        "hosts.0.name",
        "hosts.0.ip",
        "hosts.0.mac",
    }


def test_schemas_describe_the_repository_s_files() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = json_schemas()
    json.dumps(schemas)
    for kind, pattern in (("topology", "*.yaml"), ("tier", "tiers/*.yaml")):
        validator = jsonschema.Draft202012Validator(schemas[kind])
        validator.check_schema(schemas[kind])
        for file in sorted(TOPOLOGIES.glob(pattern)):
            document = YAML(typ="safe").load(file.read_text())
            validator.validate(document)
            document["surprise"] = 1
            assert not validator.is_valid(document)
