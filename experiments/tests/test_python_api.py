# SPDX-License-Identifier: Apache-2.0
"""The package docsis_p4: networks that a program builds and runs, and what it reads of them."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docsis_p4 import Error, Mininet, Network, NoVerdict, Results, Traffic, Virtual, read

PRESETS = ("drop-tail-250ms", "docsis-pie")


def street(**keys: Any) -> Network:
    """Two hosts, a server, a game and four uploads."""
    network = Network("street", tier="cable-20", **keys)
    network.add_host("laptop")
    network.add_host("console")
    network.add_server("near", round_trip_time="20 ms")
    network.add_traffic("game", "voip", hosts=["console"])
    network.add_traffic("uploads", "transfer", hosts=["laptop"], count=4)
    return network


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What two queue managers did."""
    folder = tmp_path_factory.mktemp("results")
    return street().run(PRESETS, seconds=2, ramp_up="1 s", on=Virtual(seed=7), results=folder)


def test_results_are_those_of_the_folder(found: Results) -> None:
    assert [run.name for run in found] == ["Drop tail, 250 ms", "DOCSIS-PIE"]
    assert found["docsis-pie"] is found["DOCSIS-PIE"]
    assert found.conditions["stage"] == "virtual time"
    assert found.report.is_file()
    summary = json.loads((found.folder / "summary.json").read_text())
    assert summary["seed"] == 7
    for run, told in zip(found, summary["runs"], strict=True):
        assert run["uploads"]["goodput"] == told["groups"]["uploads"]["goodput_mbps"]
        assert run["game"]["latency p90"] == told["groups"]["game"]["latency_ms"]["p90"]
        latency = run["game"].latency
        assert latency.runs == 1
        assert latency.p90 == pytest.approx(run["game"]["latency p90"])
        assert np.all(np.diff(latency.quantiles) >= 0)
        assert latency.probabilities.shape == latency.quantiles.shape
        assert latency.quantile(0) <= latency.median <= latency.p99 <= latency.quantile(1)
        assert run["uploads"].estimate("goodput").interval is None
    again = read(found.folder)
    assert again["docsis-pie"]["game"].by_run == found["docsis-pie"]["game"].by_run


def test_equal_seeds_give_equal_results(found: Results, tmp_path: Path) -> None:
    again = street().run(seconds=2, ramp_up="1 s", on=Virtual(seed=7), results=tmp_path)
    assert again["docsis-pie"]["game"].by_run == found["docsis-pie"]["game"].by_run


def test_several_seeds_give_bands_and_medians_over_runs(tmp_path: Path) -> None:
    found = street().run(
        "docsis-pie", seconds=1, ramp_up="0 s", on=Virtual(seeds=2), results=tmp_path
    )
    game = found["docsis-pie"]["game"]
    assert sorted(game.by_run) == [1, 2]
    assert game["latency p50"] == np.median([game.by_run[n]["latency p50"] for n in (1, 2)])
    latency = game.latency
    assert latency.runs == 2
    assert np.all(latency.low <= latency.quantiles)
    assert np.all(latency.quantiles <= latency.high)


def test_queue_managers_are_presets_files_and_mappings(tmp_path: Path) -> None:
    file = tmp_path / "gentle.yaml"
    file.write_text("algorithm: docsis-pie\nlatency_target: 20 ms\n")
    found = street().run(
        {"stern": {"algorithm": "docsis-pie", "latency_target": "5 ms"}, "gentle": file},
        seconds=1, ramp_up="0 s", results=tmp_path,
    )  # fmt: skip
    assert [run.name for run in found] == ["stern", "gentle"]


def test_modems_have_tiers_and_hosts_of_their_own() -> None:
    network = Network("street", tier="cable-20")
    network.add_modem("fast", tier="cable-2018")
    network.add_modem("slow")
    network.add_host("f1", modem="fast")
    network.add_host("s1", modem="slow")
    network.add_host("s2", modem="slow")
    network.add_server("near")
    built = network.topology()
    tiers = [tier.name for modem in built.modems if (tier := built.tier_of(modem))]
    assert tiers == ["cable-2018", "cable-20"]
    assert [str(host.ip) for host in built.nodes] == [
        "10.0.1.1/16", "10.0.2.1/16", "10.0.2.2/16", "10.0.0.1/16",
    ]  # fmt: skip


def test_hosts_of_a_modem_may_be_given_or_counted() -> None:
    network = Network("street", tier="cable-20")
    hosts = [{"name": "tv", "ip": "10.0.1.1/16", "mac": "02:00:01:00:01:01"}]
    network.add_modem("own", hosts=hosts)
    network.add_host("radio", modem="own")
    network.add_modem("many", count=3, hosts=2)
    network.add_server("near")
    built = network.topology()
    assert [len(modem.hosts) for modem in built.modems] == [2, 2, 2, 2]
    assert [host.name for host in built.modems[0].hosts] == ["tv", "radio"]
    assert len(hosts) == 1
    with pytest.raises(Error, match='there is a host "tv" already'):
        network.add_host("tv", modem="own")
    with pytest.raises(Error, match='the hosts of the modem "many" are only counted'):
        network.add_host("other", modem="many")


def test_a_shipped_topology_can_be_added_to() -> None:
    network = Network.load("residential", tier="cable-2018")
    network.add_host("tv", ip="10.0.0.13/24", mac="02:00:00:00:01:03")
    built = network.topology()
    assert [host.name for host in built.hosts] == ["cpe1", "cpe2", "tv"]
    assert built.services == "cable-2018"


REFUSED: list[tuple[Callable[[Network], object], str]] = [
    (lambda net: net.add_host("laptop"), 'network street: there is a host "laptop" already'),
    (lambda net: net.add_host("near"), 'there is a server "near" already; give another name'),
    (lambda net: net.add_server("laptop"), 'there is a host "laptop" already; give another name'),
    (lambda net: net.add_server("cmts"), 'there is a CMTS "cmts" already'),
    (lambda net: net.add_host("cm"), 'there is a switch of the modems "cm" already'),
    (lambda net: net.add_modem("cm1"), 'there is a modem "cm1" already'),
    (lambda net: net.add_traffic("game", "voip"), 'there is traffic "game" already'),
    (lambda net: net.add_host("tv", modem="cm7"), 'there is no modem "cm7"; there are cm1'),
    (lambda net: net.run("red"), 'aqm: there is no queue manager "red"; there are '),
    (lambda net: net.run(["docsis-pie"] * 2), 'aqm: "docsis-pie" is there twice'),
    (lambda net: net.run([]), "aqm: is empty"),
    (lambda net: net.run({"x": {"algorithm": "docsis-pie", "a": 1}}), "aqm: a: unknown key"),
    (lambda net: net.run("nowhere.yaml"), "nowhere.yaml: there is no such file"),
    (lambda net: net.run(seconds=0.5), "measured: must be 1 s at least"),
    (lambda net: net.run(seconds=math.nan), "seconds: nan is no length of time"),
    (lambda net: net.run(seconds=math.inf), "seconds: inf is no length of time"),
    (lambda net: net.run(ramp_up="soon"), "network street: ramp_up: "),
    (lambda net: net.run(direction="sideways"), "network street: direction: "),  # type: ignore[arg-type]
    (lambda net: net.run(colour="red"), "network street: colour: unknown key"),
    (lambda net: net.run(tier="cable-20"), "tier: has no place here; give it to Network"),
    (lambda net: net.run(topology="two-tiers"), "topology: has no place here; the network is the"),
    (lambda net: net.run(measured="10 s"), "measured: has no place here; give seconds"),
    (lambda net: net.run(runs=[]), "runs: has no place here; give aqm"),
    (lambda net: net.run(traffic=[]), "traffic: has no place here; use add_traffic"),
    (
        lambda net: net.run(on=Mininet(target="bmv2", repeat=5)),
        "repeat has no place beside target bmv2",
    ),
    (lambda net: net.run(tcp={1j: 2}), "has a value that no file could have"),
    (lambda net: net.run(on=Virtual(seed=-1)), "seed -1: a seed is a number from 0 to 2^64-1"),
    (lambda net: net.run(on=Virtual(seeds=0)), "seeds 0: must be a number from 1 to 10000"),
    (lambda net: net.run(on=Virtual(seeds=2, jobs=0)), "jobs 0: must be a number from 1 to 256"),
    (lambda net: net.run(on=Mininet(repeat=0)), "repeat 0: must be a number from 1 to 1000"),
    (lambda net: net.run(on=Virtual(seed="a")), "seed: 'a' is no whole number; give one"),  # type: ignore[arg-type]
    (lambda net: net.run(on=Mininet(repeat=True)), "repeat: True is no whole number"),
    (lambda net: net.run(on="virtual"), "on: 'virtual' is nowhere to run; give Virtual"),  # type: ignore[arg-type]
    (lambda _: Network(None), '"None" is no name for a network'),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("act", "sentence"), REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(
    act: Callable[[Network], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error) as refused:
        act(street())
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "--" not in str(refused.value)


def test_what_files_refuse_is_refused_with_the_same_sentence() -> None:
    with pytest.raises(Error, match='network street: tier: there is no service tier "cable-1"'):
        Network("street", tier="cable-1").topology()
    network = street()
    network.add_host("tv", mac="02:00:01:00:01:01")
    with pytest.raises(Error, match=r"modems.0.hosts.2.mac: .* is already taken by the host lap"):
        network.topology()
    network = street()
    network.add_traffic("films", "transfer", hosts=["tv"])
    with pytest.raises(Error, match=r'traffic.2.hosts.0: street has no "tv"; it has laptop, con'):
        network.run()
    with pytest.raises(Error, match='"My street" is no name for a network'):
        Network("My street")
    with pytest.raises(Error, match=r"nowhere: there is no such file"):
        Network.load("nowhere")
    with pytest.raises(Error, match="jobs has no place here"):
        Virtual(jobs=2)
    with pytest.raises(Error, match="seed has no place beside seeds"):
        Virtual(seed=1, seeds=2)
    assert issubclass(NoVerdict, Error)


def test_results_say_what_there_is(found: Results, tmp_path: Path) -> None:
    with pytest.raises(Error, match='there is no run "codel"; there are Drop tail, 250 ms, DOCS'):
        found["codel"]
    with pytest.raises(Error, match='DOCSIS-PIE has no traffic "films"; there are game, uploads'):
        found["docsis-pie"]["films"]
    with pytest.raises(Error, match='game has no metric "speed"; it has latency mean, latency p50'):
        found["docsis-pie"]["game"]["speed"]
    with pytest.raises(Error, match="films has no distribution of latency"):
        _ = Traffic("films", {1: {"goodput": 1.0}}, ((),)).latency
    with pytest.raises(Error, match="a quantile's probability is from 0 to 1, not 50"):
        found["docsis-pie"]["game"].latency.quantile(50)
    with pytest.raises(Error, match="there is no such folder"):
        read(tmp_path / "nothing")


def test_a_program_that_a_worker_imports_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What multiprocessing sets in a new process while it imports the program that started it.
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(Error, match='put what runs it behind if __name__ == "__main__":'):
        street().run(on=Virtual(seeds=2), results=tmp_path)


@pytest.mark.root
@pytest.mark.end_to_end
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_the_same_network_is_run_in_mininet(tmp_path: Path) -> None:
    # Nothing of a run in which time jumped is given back; its folder has what it did all the same.
    with suppress(NoVerdict):
        found = street().run(seconds=2, ramp_up="1 s", on=Mininet(), results=tmp_path)
        assert found.conditions["stage"] == "Mininet"
        assert found["docsis-pie"]["game"].latency.median > 0
    [folder] = tmp_path.iterdir()
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["stage"] == "mininet"
    [run] = figures["runs"]
    assert run["groups"]["uploads"]["goodput_mbps"] > 5
