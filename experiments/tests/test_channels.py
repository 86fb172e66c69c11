# SPDX-License-Identifier: Apache-2.0
"""The testbed's own channels to the switches, beside the controller's."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from finsy.proto import p4r

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.plan import Role
from docsis_control.topology import load_topology
from docsis_experiments.stages.mininet.counters import CounterReader, counters
from docsis_experiments.stages.mininet.rf import RfPort
from docsis_testbed.errors import TestbedError

TOPOLOGY = Path(__file__).resolve().parents[2] / "topologies" / "residential.yaml"
PACKETS, BYTES = 7, 700


def _read(request: Any, context: Any) -> Iterator[Any]:
    for entity in request.entities:
        entity.counter_entry.data.packet_count = PACKETS
        entity.counter_entry.data.byte_count = BYTES
    yield p4r.ReadResponse(entities=request.entities)


@pytest.fixture
def asked() -> list[Any]:
    return []


@pytest.fixture
def port(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """That of a switch, on a machine whose way to the Internet is a proxy that is down."""
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "no_grpc_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def configure(request: Any, context: Any) -> Any:
        asked.append(request)
        return tm.ConfigureResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    read = grpc.unary_stream_rpc_method_handler(
        _read, p4r.ReadRequest.FromString, p4r.ReadResponse.SerializeToString
    )
    configured = grpc.unary_unary_rpc_method_handler(
        configure, tm.ConfigureRequest.FromString, tm.ConfigureResponse.SerializeToString
    )
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler("p4.v1.P4Runtime", {"Read": read}),
            grpc.method_handlers_generic_handler(
                "docsis.tm.v1.TrafficManager", {"Configure": configured}
            ),
        )
    )
    found = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield found
    server.stop(None).wait()


def test_counters_are_not_asked_through_a_proxy(port: int) -> None:
    reader = CounterReader(f"127.0.0.1:{port}", 1, Role.CABLE_MODEM)
    assert reader.packets(3, ["sf_forwarded"]) == {"sf_forwarded": PACKETS}
    # With the FCS, which the pipeline leaves out.
    assert reader.counts([3], ["sf_forwarded"])[3]["sf_forwarded"].octets == BYTES + 4 * PACKETS


def test_the_rf_port_is_not_told_through_a_proxy(port: int, asked: list[Any]) -> None:
    device = load_topology(TOPOLOGY).cable_modem.model_copy(update={"grpc_port": port})
    RfPort(device).carry(8_000_000)
    assert [request.ports[0].rate for request in asked] == [8_000_000]


def test_switch_that_is_not_there() -> None:
    """Each failure says what did not work, and why."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        free = listening.getsockname()[1]
    modem = load_topology(TOPOLOGY).cable_modem
    gone = modem.model_copy(update={"grpc_port": free})
    with pytest.raises(TestbedError, match="counters are not told: no way to .*refused.*log"):
        counters(gone, Role.CABLE_MODEM).packets(3)
    with pytest.raises(TestbedError, match="cm1 cannot be made slower .*refused.*docsis.tm.v1"):
        RfPort(gone).carry(1)
