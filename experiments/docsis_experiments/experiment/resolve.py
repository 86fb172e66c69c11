# SPDX-License-Identifier: Apache-2.0
"""Fills in what a scenario leaves to its topology: flows of a mesh, automatic ramp-up. Pure."""

from __future__ import annotations

import math

from docsis_control.config.models import MAX_RATE, KeyedError
from docsis_control.config.units import format_duration
from docsis_control.modem_config.provisioned import Direction
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import AUTO, LONGEST, Scenario, check_groups
from docsis_experiments.experiment.plan import load_of, service_flow, sustained_rate
from docsis_experiments.experiment.ramp_up import ramp_up_seconds
from docsis_experiments.experiment.videos import check_playable
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import (
    AdaptiveVideo,
    LedbatTransfers,
    Sent,
    ServiceFlowStreams,
    TcpTransfers,
)
from docsis_testbed.errors import TestbedError


def resolved(scenario: Scenario, topology: Topology) -> Scenario:
    """The same scenario with nothing left to the topology.

    Raises:
        KeyedError: The topology has no host or server of a name, or makes too many flows or too
            long a ramp-up; the key is the scenario's.
    """
    _check_names(scenario, topology)
    traffic = tuple(
        _spread(group, topology, f"traffic.{index}") for index, group in enumerate(scenario.traffic)
    )
    check_groups(traffic, "traffic")
    _check_round_trips(traffic, topology)
    _check_loads(scenario, topology)
    _check_videos(traffic, topology)
    changes: dict[str, object] = {"traffic": traffic}
    if scenario.ramp_up == AUTO:
        changes["ramp_up"] = _ramp_up(scenario, traffic, topology)
    found = scenario.model_copy(update=changes)
    _check_ends(found)
    return found


def _check_names(scenario: Scenario, topology: Topology) -> None:
    hosts = [host.name for host in topology.hosts]
    servers = [server.name for server in topology.servers]
    for index, group in enumerate(scenario.traffic):
        for key, known in (("hosts", hosts), ("servers", servers)):
            for place, name in enumerate(getattr(group, key)):
                if name not in known:
                    raise KeyedError(
                        f"traffic.{index}.{key}.{place}",
                        f'{topology.name} has no "{name}"; it has {", ".join(known)}',
                    )


def _check_round_trips(traffic: tuple[Group, ...], topology: Topology) -> None:
    own = {server.name: server.round_trip_time for server in topology.servers}
    for index, group in enumerate(traffic):
        for _, _, sent in group.flows():
            if not isinstance(sent.sender, LedbatTransfers) or sent.sender.round_trip_ns is None:
                continue
            for name in group.servers or (topology.servers[0].name,):
                if own[name] > sent.sender.round_trip_ns[0]:
                    raise KeyedError(
                        f"traffic.{index}.round_trip.at_least",
                        f"{name} has {format_duration(own[name])} already",
                    )


def _check_loads(scenario: Scenario, topology: Topology) -> None:
    for index, group in enumerate(scenario.traffic):
        for _, _, sent in group.flows():
            if isinstance(sent.sender, ServiceFlowStreams):
                try:
                    for direction in scenario.directions:
                        load_of(sent.sender, topology, direction)
                except TestbedError as error:
                    raise KeyedError(f"traffic.{index}.kind", str(error)) from None


def _check_videos(traffic: tuple[Group, ...], topology: Topology) -> None:
    downstream = sustained_rate(topology, "downstream")
    for index, group in enumerate(traffic):
        for sender in {sent.sender for _, _, sent in group.flows()}:
            if isinstance(sender, AdaptiveVideo):
                try:
                    check_playable(group, sender, downstream)
                except KeyedError as error:
                    raise KeyedError(f"traffic.{index}.{error.key}", str(error)) from None


def _check_ends(scenario: Scenario) -> None:
    """Flows of a group may begin one after the other, and each begins before the group's end."""
    for index, group in enumerate(scenario.traffic):
        if group.end is None:
            continue
        begun = -scenario.ramp_up_seconds * 1e9 if group.start is None else group.start
        delay = max(sent.delay for _, _, sent in group.flows()) * 1e9
        last = round(begun + (group.start_spread or 0) + delay)
        if group.end <= last:
            raise KeyedError(
                f"traffic.{index}.end",
                f"{format_duration(group.end)} is not after the last flow's start at "
                f"{format_duration(last)}",
            )


def _spread(group: Group, topology: Topology, key: str) -> Group:
    """A mesh as flows in turns; any other group as it is."""
    if not group.mesh:
        return group
    hosts = group.hosts or tuple(host.name for host in topology.modems[0].hosts)
    servers = group.servers or tuple(server.name for server in topology.servers)
    count = len(hosts) * len(servers)
    if count > group.most:
        raise KeyedError(
            f"{key}.mesh",
            f"{topology.name} makes {count} pairs of {group.name}; there may be {group.most}",
        )
    # Each host once for each server, so that taking turns gives every pair.
    each = tuple(host for host in hosts for _ in servers)
    return group.model_copy(
        update={"mesh": False, "hosts": each, "servers": servers, "count": count}
    )


def _steady_after(sent: Sent, transfers: int, topology: Topology, direction: Direction) -> float:
    """Seconds after its start."""
    if isinstance(sent.sender, ServiceFlowStreams):
        return math.ceil(load_of(sent.sender, topology, direction).settle_seconds)
    return ramp_up_seconds(
        service_flow(topology, direction),
        topology.channel_rate(direction, topology.modems[0].name) or MAX_RATE,
        transfers,
        max(server.round_trip_time for server in topology.servers) / 1e9,
    )


def _ramp_up(scenario: Scenario, traffic: tuple[Group, ...], topology: Topology) -> int:
    """Nanoseconds: as long as the slowest traffic needs in the slowest direction."""
    every = [sent for group in traffic for _, _, sent in group.flows()]
    transfers = max(1, sum(isinstance(sent.sender, TcpTransfers) for sent in every))
    seconds = max(
        _steady_after(sent, transfers, topology, direction)
        for sent in dict.fromkeys(every)
        for direction in scenario.directions
    )
    if seconds * 1e9 > LONGEST:
        raise KeyedError(
            "ramp_up",
            f"would be {seconds:g} s with {topology.name}, and may be an hour at most; give it",
        )
    return round(seconds * 1e9)
