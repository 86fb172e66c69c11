# SPDX-License-Identifier: Apache-2.0
"""Traffic managers behind one interface: docsis.tm.v1, BMv2's Thrift, one's own."""

from __future__ import annotations

import json
import sys
import unittest
from dataclasses import asdict
from pathlib import Path
from typing import Any

import grpc
import pytest

from docsis_control.bmv2.client import PROGRAM
from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as pb
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_ptf import runner, switches
from docsis_ptf.bmv2_shaper import Bmv2Thrift
from docsis_ptf.client import Client
from docsis_ptf.options import Options
from docsis_ptf.params import CONTROL_HEADER, TestParams
from docsis_ptf.shaper import FLOW_QUEUES, PACKET_RATE, SHAPING, Amount, QueueConfig, Shaper
from docsis_ptf.shapers import check, make
from docsis_ptf.tm_shaper import TrafficManager

QUEUE = QueueConfig(1, 7, 20_000_000, 100_000, 25_000_000, traffic_priority=3, sub_queues=16)


class Server:
    """The service's answers, by method."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, bytes]] = []

    def __call__(self, doing: str, method: str, request: bytes) -> bytes:
        name = method.rpartition("/")[2]
        self.asked.append((name, request))
        answer = self.answers.get(name)
        if answer is None:
            raise P4RuntimeError(f"{doing} failed", grpc.StatusCode.UNIMPLEMENTED)
        return bytes(answer.SerializeToString())


@pytest.mark.parametrize("device_id", [0, 1, 127, 128, 300, (1 << 64) - 1])
def test_a_device_is_asked_for_as_the_messages_would(device_id: int) -> None:
    server = Server(Get=pb.GetResponse())
    assert TrafficManager(server, device_id).lacks(SHAPING) is None
    assert server.asked == [("Get", pb.GetRequest(device_id=device_id).SerializeToString())]


def test_a_target_without_the_service_says_so() -> None:
    manager = TrafficManager(Server(), 1)
    assert "no service docsis.tm.v1" in str(manager.lacks(SHAPING))
    assert "no flow queues" in str(manager.lacks(FLOW_QUEUES))
    assert manager.lateness() is None


def test_any_other_failure_is_no_answer() -> None:
    def call(doing: str, method: str, request: bytes) -> bytes:
        raise P4RuntimeError("no such device", grpc.StatusCode.NOT_FOUND)

    with pytest.raises(P4RuntimeError, match="no such device"):
        TrafficManager(call, 1).lacks(SHAPING)


def test_what_is_configured_is_what_is_read() -> None:
    server = Server(Configure=pb.ConfigureResponse())
    TrafficManager(server, 2).configure([QUEUE])
    ((_, sent),) = server.asked
    request = pb.ConfigureRequest.FromString(sent)
    assert request.device_id == 2
    (config,) = request.service_flows
    assert not config.HasField("initial_tokens")
    amount = pb.Traffic(frames=2, bytes=300)
    flow = pb.ServiceFlowState(config=config, queued=amount, sustained_tokens=8)
    server = Server(Get=pb.GetResponse(now_ns=5, service_flows=[flow]))
    states = TrafficManager(server, 2).states()
    state = states.queues[1, 7]
    assert (states.now_ns, state.config, state.sustained_tokens) == (5, QUEUE, 8)
    assert (state.queued, state.dequeued) == (Amount(2, 300), Amount(0, 0))


def test_a_packet_rate_is_one_of_full_frames() -> None:
    server = Server(Configure=pb.ConfigureResponse())
    TrafficManager(server, 1).set_packet_rate((1, 7), 1646, 64, 1518)
    (config,) = pb.ConfigureRequest.FromString(server.asked[0][1]).service_flows
    assert config.max_sustained_rate == 1646 * 1518 * 8
    # A frame, and less than a second one: nothing but the first leaves at once.
    assert 1518 <= config.initial_tokens == config.max_burst < 2 * 1518


@pytest.fixture
def thrift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """BMv2's client, as far as it shows: a prompt for each command; returns what it is told."""
    told = tmp_path / "told"
    program = tmp_path / PROGRAM
    program.write_text(
        "import sys\n"
        "lines = sys.stdin.read().splitlines()\n"
        f"open({str(told)!r}, 'a').write('\\n'.join([' '.join(sys.argv[1:]), *lines]) + '\\n')\n"
        "print('Control utility', *['RuntimeCmd: ' for _ in lines], 'RuntimeCmd: ')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return told


def test_bmv2_has_a_packet_rate_and_nothing_else(thrift: Path) -> None:
    bmv2 = Bmv2Thrift("127.0.0.1:9090")
    assert bmv2.lacks(PACKET_RATE) is None
    assert "nothing is shaped in bytes" in str(bmv2.lacks(SHAPING))
    assert "takes no turns" in str(bmv2.lacks(FLOW_QUEUES))
    with pytest.raises(OSError, match="nothing is shaped in bytes"):
        bmv2.configure([QUEUE])
    thrift.unlink()
    bmv2.set_packet_rate((1, 7), 1646, 64, 1518)
    bmv2.remove([(1, 7)])
    address = "--thrift-ip 127.0.0.1 --thrift-port 9090"
    assert thrift.read_text().splitlines() == [
        *(address, "set_queue_depth 64 1", "set_queue_rate 1646 1"),
        *(address, "set_queue_depth 64 1", "set_queue_rate 0 1"),
    ]


def test_bmv2_without_its_client_lacks_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"{PROGRAM} is not on PATH" in str(Bmv2Thrift("127.0.0.1:9090").lacks(PACKET_RATE))


OWN = """
class Own:
    def __init__(self, argument):
        self.argument = argument
    def lacks(self, need): return f"{self.argument} has no {need}"
    def configure(self, queues): ...
    def set_packet_rate(self, key, frames_per_second, frames, length): ...
    def limit_port(self, port, rate): ...
    def remove(self, keys): ...
    def states(self): ...
    def lateness(self): ...

class Half:
    def __init__(self, argument): ...
    def lacks(self, need): ...
    def configure(self, queues): ...

class Refused:
    def __init__(self, argument):
        raise ConnectionRefusedError(f"nothing answers\\nat {argument}")
"""
BROKEN = {
    "syntax_shaper": "class Own:\n    def lacks(self\n",
    "running_shaper": "\n1 / 0\n",
}


def test_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_shaper.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    own = make("own_shaper:Own=192.0.2.7:1234", Server(), 1)
    assert isinstance(own, Shaper)
    assert own.lacks(SHAPING) == "192.0.2.7:1234 has no shaping"
    sys.modules.pop("own_shaper")


def test_the_example_in_the_documentation_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "targets.md").read_text()
    code = text.partition("```python\n")[2].partition("```")[0]
    namespace: dict[str, Any] = {}
    exec(compile(code, "targets.md", "exec"), namespace)  # our own documentation
    asked: list[tuple[str, str, Any]] = []
    amounts = {name: [1, 64] for name in ("queued", "delayed", "dequeued", "overflow")}
    state = {"port": 1, "queue_id": 7, "millionths_of_a_bit": 8, **amounts}

    def call(self: object, method: str, what: str, body: Any = None) -> Any:
        asked.append((method, what, body))
        return {"now_ns": 5, "queues": [{**state, "egress_dropped": [0, 0]}]}

    monkeypatch.setattr(namespace["Acme"], "call", call)
    own = namespace["Acme"]("192.0.2.7:8080")
    assert isinstance(own, Shaper)
    assert (own.lacks(SHAPING), bool(own.lacks(FLOW_QUEUES))) == (None, True)
    own.configure([QUEUE])
    json.dumps(asked)
    assert asked == [("POST", "queues", [asdict(QUEUE)])]
    assert own.states().queues[1, 7].config == QUEUE
    assert own.states().queues[1, 7].queued == Amount(1, 64)


def test_a_known_lack_of_the_control_header_skips() -> None:
    client = object.__new__(Client)
    client._params = TestParams(target="acme", profiles=((CONTROL_HEADER, "no packet-in came"),))
    with pytest.raises(unittest.SkipTest, match="acme: no packet-in came"):
        client.state(1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("thrift", "there are docsis.tm.v1, bmv2-thrift=HOST:PORT, or MODULE:CLASS"),
        ("bmv2-thrift", "there are docsis.tm.v1"),
        ("no_such_module:Own=x", "No module named 'no_such_module'; .* on PYTHONPATH"),
        ("own_shaper:None_=x", "has no attribute 'None_'"),
        (
            "own_shaper:Refused=192.0.2.7:1",
            r"Refused\('192.0.2.7:1'\) failed: ConnectionRefusedError: nothing answers at"
            r" 192.0.2.7:1 \(own_shaper.py, line 20\); correct",
        ),
        ("own_shaper:__name__=x", "__name__\\('x'\\) failed: TypeError: .* not callable; correct"),
        ("syntax_shaper:Own=x", r"SyntaxError: .*\(syntax_shaper.py, line 2\)"),
        ("running_shaper:Own=x", r"ZeroDivisionError: .* \(running_shaper.py, line 2\)"),
        ("own_shaper:Half=x", "Half has no lateness, limit_port, remove, set_packet_rate, states"),
    ],
)
def test_a_shaper_that_is_none(
    spec: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {"own_shaper": OWN, **BROKEN}.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=message) as refusal:
        make(spec, Server(), 1)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("thrift", "there are docsis.tm.v1, bmv2-thrift=HOST:PORT, or MODULE:CLASS"),
        ("bmv2-thrift", "there are docsis.tm.v1"),
        ("syntax_shaper:Own=x", "SyntaxError"),
        ("own_shaper:None_=x", "has no attribute 'None_'"),
    ],
)
def test_a_shaper_that_is_none_is_told_before_the_switch_is_started(
    spec: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own_shaper.py").write_text(OWN)
    (tmp_path / "syntax_shaper.py").write_text(BROKEN["syntax_shaper"])
    monkeypatch.delitem(sys.modules, "own_shaper", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(switches, "binary", lambda kind: Path("/switch"))
    monkeypatch.setattr(runner, "_in_sandbox", lambda *_: pytest.fail("the switch was started"))
    told = Options(shaper=spec, tests=["CF-1"], results=tmp_path / "results")
    assert runner.run(told) == runner.FAILED
    said = capsys.readouterr().err
    assert said.startswith(f"ptf: shaper {spec!r}: ")
    assert message in said
    assert said.count("\n") == 1


def test_a_shaper_is_not_made_before_its_switch_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_shaper.py").write_text(OWN)
    monkeypatch.delitem(sys.modules, "own_shaper", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    for spec in ("docsis.tm.v1", "bmv2-thrift=127.0.0.1:9090", "own_shaper:Refused=x"):
        check(spec)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("shaper 'own_shaper:Refused=x': Refused('x') failed: ConnectionRefusedError"),
        ValueError("/bin/ptf: PTF is not installed; docs/targets.md says how"),
    ],
)
def test_what_is_wrong_behind_the_switchs_start_is_one_sentence(
    error: ValueError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(job: object) -> int:
        raise error

    monkeypatch.setattr(runner, "_in_namespace", fail)
    assert runner.main(["--sandbox", "{}"]) == runner.FAILED
    assert capsys.readouterr().err == f"ptf: {error}\n"


def test_the_default_is_the_embedded_switchs() -> None:
    assert isinstance(make("docsis.tm.v1", Server(), 1), TrafficManager)
    assert isinstance(make("bmv2-thrift=127.0.0.1:9090", Server(), 1), Bmv2Thrift)
