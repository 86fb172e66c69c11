# SPDX-License-Identifier: Apache-2.0
"""Scenario files: the good ones, and ways to get one wrong."""

from __future__ import annotations

import functools
from itertools import product
from pathlib import Path

import pytest
import scenario_files
from command_line import docsis_p4
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from docsis_cli.options import DEFAULT_TOPOLOGY
from docsis_control.config.errors import ConfigError
from docsis_experiments.experiment import plan, resolve
from docsis_experiments.experiment.channel import TRANSITIONS
from docsis_experiments.experiment.chosen import chosen_runs
from docsis_experiments.experiment.document import SCENARIO_FILE, write_scenario
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.experiment.schema import json_schema
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_experiments.traffic.kinds.transfer import Transfers
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT, TOPOLOGIES

SHIPPED = sorted((TOPOLOGIES / "scenarios").glob("*.yaml"))
SHAPE = Draft202012Validator(json_schema())


USUAL = (65, 6.5 * 60)
_LOADS_OF_000 = (130, 3 * 60)
_RAMPED = (70, 6.5 * 60)
LONGER = {
    "adaptive-video": (225, 12 * 60),
    "referee-loaded": _RAMPED,
    "referee-udp": _RAMPED,
    "referee-load-2": _LOADS_OF_000,
    "referee-load-2-2014": _LOADS_OF_000,
    "referee-load-3": _LOADS_OF_000,
    "referee-load-3-2014": _LOADS_OF_000,
}
"""Seconds of a run, and of all with their building. A player falls, and comes back, over a buffer
of 30 s each; 000's loads take 120 s, and these files are played in virtual time alone."""


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_shipped_scenario_is_valid_and_short_enough(file: Path) -> None:
    loaded = load(file)
    SHAPE.validate(YAML(typ="safe", pure=True).load(file.read_text()))
    seconds = plan_for(loaded.scenario, loaded.topology).seconds
    of_one, of_all = LONGER.get(file.stem, USUAL)
    assert 15 <= seconds <= of_one
    assert len(loaded.scenario.all_runs) * (seconds + MininetStage.build_seconds) <= of_all
    # What is published is held against it; what is configured has to hold in every run.
    published = [one for one in loaded.scenario.expectations if not one.every_run]
    assert bool(published) == (loaded.scenario.source is not None)


def test_all_twelve_transitions_are_in_the_order() -> None:
    pairs = list(zip(TRANSITIONS, (*TRANSITIONS[1:], TRANSITIONS[0]), strict=True))
    assert sorted(pairs) == sorted({(a, b) for a in range(1, 5) for b in range(1, 5) if a != b})


def test_manager_is_a_name_or_a_mapping(tmp_path: Path) -> None:
    tail, codel = scenario_files.loaded(tmp_path).scenario.all_runs
    assert str(tail.managed.management.buffer) == "100 ms"
    assert codel.managed.as_written()["target"] == "5 ms"
    assert tail.managed.name == "drop-tail"


def test_grid_is_every_manager_with_every_buffer(tmp_path: Path) -> None:
    new, old = scenario_files.GRID
    scenario = scenario_files.loaded(
        tmp_path,
        (old, new),
        ("runs: [tail]", "runs: [codel]"),
        ("[codel, tail]", "[codel 50 ms, drop-tail]"),
    ).scenario
    assert [run.label for run in scenario.all_runs][2:4] == ["drop-tail 200 ms", "codel 50 ms"]
    assert scenario.labels("codel") == ("codel 50 ms", "codel 100 ms", "codel 200 ms")
    assert scenario.labels("codel 50 ms") == ("codel 50 ms",)


def test_a_run_is_not_called_as_a_manager_of_the_grid(tmp_path: Path) -> None:
    new, old = scenario_files.GRID
    file = scenario_files.write(tmp_path, (old, old + new), ("label: codel", "label: drop-tail"))
    with pytest.raises(ConfigError, match='runs: "drop-tail" is a queue manager of the grid'):
        load(file)


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "words"),
    [
        ("title: A small one\n", "", 1, "title", "is missing"),
        ("ramp_up: 2 s", "rampup: 2 s", 7, "rampup", 'did you mean "ramp_up"'),
        ("ramp_up: 2 s", "ramp_up: soon", 7, "ramp_up", '"soon" is not a duration'),
        ("ramp_up: 2 s", "ramp_up: 3601 s", 7, "ramp_up", "an hour at most"),
        ("ramp_up: 2 s", "ramp_up: 2 s\nidle: 3601 s", 8, "idle", "an hour at most"),
        ("count: 3", "count: 3, mesh: true", 14, "traffic.1.count", "stands beside mesh"),
        ("count: 3", "stagger: 5", 14, "traffic.1.stagger", "has no unit"),
        ("measured: 10 s", "measured: 10", 8, "measured", "has no unit"),
        ("manager: drop-tail", "manager: drop-tale", 10, "runs.0.manager", "drop-tail-250ms"),
        ("target: 5 ms", "target: 5 s", 11, "runs.1.manager.target", "above the interval"),
        ("measured: 10 s", "measured: 10 s\ntcp: {initial_window: 0}", 9, "tcp.initial_window",
         "1 to 64"),
        ("measured: 10 s", "measured: 10 s\ntcp: {segment: 1461 B}", 9, "tcp.segment",
         "100 B to 1460 B"),
        ("measured: 10 s", "measured: 10 s\ntcp: {least_timeout: 9 ms}", 9, "tcp.least_timeout",
         "10 ms to a minute"),
        ("measured: 10 s", "measured: 10 s\ntcp: {profile: bsd}", 9, "tcp.profile", "linux"),
        ("measured: 10 s", "measured: 10 s\ntcp: {acks: delayed}", 9, "tcp.acks", "known here"),
        ("label: codel", "label: tail", 9, "runs", 'two runs are called "tail"'),
        ("label: codel", "label: Tail!", 9, "runs", '"tail" and "Tail!" are the same folder'),
        ("label: codel", "label: '?!'", 11, "runs.1.label", "no letter or digit"),
        ("kind: voip", "kind: voice", 13, "traffic.0.kind", "browsing, burst, cbr"),
        ("count: 3", "count: 0", 14, "traffic.1.count", "not possible"),
        ("count: 3", "sizes: 3 MB", 14, "traffic.1.sizes", 'did you mean "size"'),
        ("count: 3", "pause: 3 s", 14, "traffic.1.pause", "endless"),
        ("count: 3", "connection: kept", 14, "traffic.1.connection", "give a size"),
        ("count: 3", "rate: 0 Mbps", 14, "traffic.1.rate", "above 0"),
        ("count: 3", "start_spread: 1 s, stagger: 1 s", 14, "traffic.1.stagger", "leave one out"),
        ("kind: voip", "kind: voip, start_spread: 1 s", 13, "traffic.0.start_spread", "whole run"),
        ("end: 4 s", "end: 4 s, start_spread: 2 s", 16, "traffic.3.end", "the last start at 4 s"),
        ("name: game", "name: ftp", 15, "traffic.2.name", "ftp: another group"),
        ("name: game", "name: ftp-2", 15, "traffic.2.name", "ftp-2: another group or flow"),
        ("end: 4 s", "end: 1 s", 16, "traffic.3.end", "not after the start"),
        ("start: 2 s, end: 4 s", "start: 11 s", 16, "traffic.3.start", "after the measured"),
        ("frame: 500 B", "frame: 117 B", 16, "traffic.3.frame", "118 B to 1518 B"),
        ("frame: 500 B", "frame: 1519 B", 16, "traffic.3.frame", "118 B to 1518 B"),
        ("server2", "server9", 14, "traffic.1.servers.1", "server1, server2"),
        ("check: value", "check: worth", 18, "expectations.0.check", "value, ratio, slope, order"),
        ("statistic: p90", "statistic: p95", 19, "expectations.0.quantity.statistic", "p95"),
        ("[call], statistic", "[cal], statistic", 19, "expectations.0.quantity.of.0", "ftp"),
        ("runs: [tail]", "runs: [tails]", 20, "expectations.0.runs.0", "there are tail, codel"),
        ("at_least: 40", "at_least: 90", 21, "expectations.0.published.at_most", "below 90"),
        ("    tolerance: 5\n", "", 18, "expectations.0.tolerance", "is missing"),
        ("    reason: a guess\n", "", 18, "expectations.0.reason", "is missing"),
        ("[codel, tail]", "[codel]", 27, "expectations.1.runs", "two at least"),
        ("name: small", "name: large", 1, "name", "must be the file's name"),
    ],
)  # fmt: skip
def test_error_names_file_line_and_key(
    old: str, new: str, line: int, key: str, words: str, tmp_path: Path
) -> None:
    file = scenario_files.write(tmp_path, (old, new))
    with pytest.raises(ConfigError) as raised:
        load(file)
    problem = raised.value.problems[0]
    assert (problem.file, problem.line, problem.key) == (file, line, key)
    assert words in problem.message


def test_quantities_fit_their_traffic(tmp_path: Path) -> None:
    for old, new, words in (
        ("metric: latency, of: [call], s", "metric: mos, of: [ftp], s", "kind voip"),
        ("metric: latency, of: [call], s", "metric: goodput, of: [call], s", "call is none"),
        ("metric: latency, of: [call], s", "metric: recovery, of: [call], s", "needs it"),
        ("metric: latency, of: [call], s", "metric: induced-latency, of: [call], s", "idle time"),
        ("metric: latency, of: [call], s", "metric: induced-latency, of: [ftp], s", "kind voip"),
        (
            "metric: latency, of: [call], statistic: p90",
            "metric: retransmissions, of: [call]",
            "of the kind downloads or game or ledbat or transfer; call is none",
        ),
        (
            "metric: latency, of: [call], statistic: p90",
            "metric: retransmissions, of: [ftp], during: {start: 1 s, end: 2 s}",
            "of the whole run",
        ),
        (
            "of: [call], statistic: p90",
            "of: [call], during: {start: 2 s, end: 11 s}",
            "after the measured time",
        ),
    ):
        with pytest.raises(ConfigError, match=words):
            scenario_files.loaded(tmp_path, (old, new))


def test_idle_time_needs_a_call(tmp_path: Path) -> None:
    idle = ("ramp_up: 2 s", "ramp_up: 2 s\nidle: 3 s")
    assert scenario_files.loaded(tmp_path, idle).scenario.idle == 3_000_000_000
    other = ("name: call, kind: voip", "name: call, kind: cbr, rate: 1 Mbps")
    with pytest.raises(ConfigError, match="idle: needs a group of the kind .*response or voip"):
        scenario_files.loaded(tmp_path, idle, other)


def test_what_is_left_to_the_topology_is_resolved(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(
        tmp_path,
        ("ramp_up: 2 s", "ramp_up: auto"),
        ("count: 3, servers: [server1, server2]", "mesh: true, servers: [server2]"),
    )
    [ftp] = (group for group in loaded.scenario.traffic if group.name == "ftp")
    assert (ftp.count, ftp.hosts, ftp.servers) == (2, ("cpe1", "cpe2"), ("server2",))
    # 3 MB of burst at 25 less 20 Mbit/s, and then two transfers at 100 ms.
    assert 4.8 + 2 < loaded.scenario.ramp_up_seconds < 4.8 + 2 + 2 * 5
    # Once it is resolved nothing changes any more.
    assert resolved(loaded.scenario, loaded.topology) == loaded.scenario


def test_every_flow_of_a_group_begins_before_the_group_ends(tmp_path: Path) -> None:
    """Two seconds of ramp-up, and three flows: the last begins 6 s after the first."""
    one = "count: 3, servers: [server1, server2]"
    for end, begins in (("4 s", False), ("4001 ms", True)):
        late = (one, f"{one}, stagger: 3 s, end: {end}")
        if begins:
            scenario_files.loaded(tmp_path, late)
        else:
            words = r"traffic\.1\.end: 4 s is not after the last flow's start at 4 s"
            with pytest.raises(ConfigError, match=words):
                scenario_files.loaded(tmp_path, late)


@functools.cache
def any_loaded() -> Loaded:
    return load(SHIPPED[0])


@given(hosts=st.integers(1, 7), servers=st.integers(1, 7), down=st.booleans())
def test_mesh_is_every_pair_once(hosts: int, servers: int, down: bool) -> None:
    scenario, topology = any_loaded().scenario, any_loaded().topology
    scenario = scenario.model_copy(update={"direction": "downstream" if down else "upstream"})
    near = tuple(f"h{n}" for n in range(hosts))
    far = tuple(f"s{n}" for n in range(servers))
    mesh = Transfers(name="mesh", mesh=True, hosts=near, servers=far)
    group = resolve._spread(mesh, topology, "traffic.0")
    pairs = plan._pairs(group, scenario, topology)
    assert len(pairs) == hosts * servers
    assert set(pairs) == set(product(far, near) if down else product(near, far))


def test_mesh_may_not_have_too_many_calls_or_flows(tmp_path: Path) -> None:
    names = ", ".join(["cpe1"] * 9)
    with pytest.raises(ConfigError, match=r"traffic\.0\.mesh: home makes 9 pairs of call"):
        scenario_files.loaded(
            tmp_path,
            ("kind: voip", f"kind: voip, mesh: true, servers: [server1], hosts: [{names}]"),
        )
    names = ", ".join(["cpe1"] * 201)
    with pytest.raises(
        ConfigError, match=r"traffic\.1\.mesh: home makes 402 pairs of ftp; there may be 200"
    ):
        scenario_files.loaded(
            tmp_path,
            ("count: 3, servers: [server1, server2]", f"mesh: true, hosts: [{names}]"),
        )


def test_channel_needs_four_levels_or_a_sequence(tmp_path: Path) -> None:
    for channel, words in (
        ("{levels: [1 Mbps, 2 Mbps, 3 Mbps], step: 1 s}", "4 different rates"),
        ("{step: 1 s}", "either levels or a sequence"),
        ("{sequence: [1 Mbps], step: 1 ms}", "100 ms at least"),
    ):
        with pytest.raises(ConfigError, match=words):
            scenario_files.loaded(
                tmp_path, ("measured: 10 s", f"measured: 10 s\nchannel: {channel}")
            )


def test_topology_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="topology: .*no such file"):
        scenario_files.loaded(tmp_path, (str(scenario_files.NETWORK), "nowhere.yaml"))


def test_record_of_a_run_can_be_read_again(tmp_path: Path) -> None:
    before = scenario_files.loaded(tmp_path).scenario
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "topology.yaml").write_text(scenario_files.NETWORK.read_text())
    (inputs / "tiers").symlink_to(scenario_files.NETWORK.parent / "tiers")
    write_scenario(before, inputs / SCENARIO_FILE)
    again = load(inputs / SCENARIO_FILE).scenario
    assert again.model_copy(update={"topology": before.topology}) == before


def test_only_chooses_runs_by_label(tmp_path: Path) -> None:
    scenario = scenario_files.loaded(tmp_path).scenario
    assert [run.label for run in chosen_runs(scenario, ["codel"])] == ["codel"]
    assert len(chosen_runs(scenario, [])) == 2
    with pytest.raises(TestbedError, match='has no run "pie"; it has tail, codel'):
        chosen_runs(scenario, ["pie"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.yaml"], "there is no such file"),
        ([str(SHIPPED[0]), "--aqm", "pie"], "--aqm has no place here"),
        (["--only", "pie", "--topology", str(DEFAULT_TOPOLOGY)], "--only has no place here"),
    ],
)
def test_command_line_says_what_is_wrong(words: list[str], message: str) -> None:
    result = docsis_p4("run", *words)
    assert result.returncode == 1
    assert message in result.stderr


def test_example_of_the_documentation_is_a_scenario(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text()
    example = text.split("```yaml\n")[1].split("```")[0]
    example = example.replace("networks/home.yaml", str(scenario_files.NETWORK))
    (tmp_path / "mine.yaml").write_text(example)
    scenario = load(tmp_path / "mine.yaml").scenario
    assert len(scenario.all_runs) == 3 + 2 * 3
    assert {group.kind for group in scenario.traffic} == {
        "voip", "transfer", "game", "web", "adaptive-video", "ledbat", "cbr", "burst",
        "request-response",
    }  # fmt: skip


def test_documentation_lists_what_is_shipped() -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text()
    table = text.split("## What is shipped")[1].split("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    listed = {row[1].strip(" `"): int(row[4]) for row in rows}
    assert listed == {file.stem: len(load(file).scenario.all_runs) for file in SHIPPED}
