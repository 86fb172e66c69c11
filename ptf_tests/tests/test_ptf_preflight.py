# SPDX-License-Identifier: Apache-2.0
"""A target's faults are told once, before the tests, and it keeps what it had."""

from __future__ import annotations

import asyncio
import errno
import io
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake_target import FakeTarget, serve
from finsy.proto import p4r, rpc_code

from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import PipelineError, load_pipeline
from docsis_ptf import client, preflight, profiles, runner
from docsis_ptf.client import Client
from docsis_ptf.found import Found
from docsis_ptf.options import Options
from docsis_ptf.params import TestParams
from docsis_ptf.preflight import TargetError
from docsis_ptf.programs import SHIPPED

NO_WIRES: dict[int, str] = {}
UNIMPLEMENTED = rpc_code.UNIMPLEMENTED


@contextmanager
def running(target: FakeTarget | None) -> Iterator[TestParams]:
    server, address = serve(target)
    try:
        yield TestParams(grpc=address, target=address, device_id=3, timeout=2.0)
    finally:
        server.stop(None).wait()


def refused(params: TestParams) -> str:
    """The one line that is said of a target that cannot be tested."""
    with pytest.raises(TargetError) as failure:
        preflight.examine(params, NO_WIRES)
    said = str(failure.value)
    assert said.startswith(f"target {params.target}: ")
    assert "\n" not in said
    return said


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        said = refused(TestParams(grpc=address, target=address))
    assert f"nothing answers at {address}" in said
    assert "is the switch running" in said


def test_somebody_listens_and_says_nothing() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        said = refused(TestParams(grpc=address, target=address))
    assert "no P4Runtime server answered in time" in said


@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
def test_a_target_has_an_address_of_either_version(address: str) -> None:
    try:
        server, place = serve(FakeTarget(), address)
    except RuntimeError:
        pytest.skip(f"nothing can listen at {address} here")
    try:
        client = preflight._connect(Options(place, device_id=3, timeout=2.0).params())
        client.close()
    finally:
        server.stop(None).wait()


def test_a_server_without_p4runtime() -> None:
    with running(None) as params:
        said = refused(params)
    # gRPC's client tells the second where the server's answer comes before its own first message.
    assert "UNIMPLEMENTED" in said or "INTERNAL" in said
    assert "the device id is 3" in said


def test_another_controller_is_the_primary() -> None:
    with running(FakeTarget(primary=False)) as params:
        said = refused(params)
    assert "another primary controller" in said
    assert "the suite's is 1 (--election-id)" in said


def program_found() -> tuple[p4r.ForwardingPipelineConfig, list[p4r.Entity]]:
    """A target's own program and entries."""
    cm = load_pipeline("cm")
    config = p4r.ForwardingPipelineConfig(p4info=cm.p4info, p4_device_config=b"its own")
    group = p4r.MulticastGroupEntry(multicast_group_id=7)
    engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
    return config, [p4r.Entity(packet_replication_engine_entry=engine)]


def test_a_target_that_refuses_the_program_keeps_what_it_had() -> None:
    config, entities = program_found()
    target = FakeTarget(config, entities, refusal="too many stages: 14 of 12")
    with running(target) as params:
        said = refused(params)
    assert "it refuses the suite's programs: " in said
    assert "too many stages: 14 of 12" in said
    assert "--programs" in said
    assert target.pushed == [b"its own"]
    assert target.inserted == entities


def test_what_a_target_had_is_given_back() -> None:
    config, entities = program_found()
    constant = p4r.Entity(table_entry=p4r.TableEntry(table_id=1, is_const=True))
    entry = p4r.Entity(table_entry=p4r.TableEntry(table_id=1, priority=5))
    target = FakeTarget(config, [*entities, constant, entry])
    with running(target) as params:
        client = preflight._connect(params)
        try:
            found = Found.take(client, params.device_id)
            client.push("cmts")
        finally:
            client.close()
        said = preflight.give_back(params, found)
    assert target.pushed[-1] == b"its own"
    assert len(target.pushed) == 2
    # The program brings its constant entries along. The fake answers each table with all it has.
    tables = len(config.p4info.tables)
    assert target.inserted == [*entities, *[entry] * tables]
    assert "it has the program that it had" in said


def everything_else(info: Any) -> tuple[list[p4r.Entity], list[p4r.Entity]]:
    """What else a controller may have written: what it inserts, and what it modifies."""
    engine = p4r.PacketReplicationEngineEntry
    session = engine(clone_session_entry=p4r.CloneSessionEntry(session_id=7))
    digest = p4r.DigestEntry(digest_id=info.digests[0].preamble.id)
    digest.config.max_list_size = 1
    default = p4r.TableEntry(table_id=info.tables[0].preamble.id, is_default_action=True)
    default.action.action.action_id = info.actions[0].preamble.id
    meter = p4r.MeterEntry(meter_id=info.meters[0].preamble.id)
    meter.config.cir = 1000
    direct = p4r.DirectMeterEntry(
        table_entry=p4r.TableEntry(table_id=info.direct_meters[0].direct_table_id, priority=3)
    )
    direct.config.cir = 2000
    value_set = p4r.ValueSetEntry(value_set_id=info.value_sets[0].preamble.id)
    value_set.members.add().match.add(field_id=1).exact.value = b"\1"
    inserted = [
        p4r.Entity(packet_replication_engine_entry=session),
        p4r.Entity(digest_entry=digest),
    ]
    modified = [
        p4r.Entity(table_entry=default),
        p4r.Entity(meter_entry=meter),
        p4r.Entity(direct_meter_entry=direct),
        p4r.Entity(value_set_entry=value_set),
    ]
    return inserted, modified


def test_sessions_digests_defaults_meters_and_value_sets_are_given_back() -> None:
    entities = load_pipeline("entities", SHIPPED)
    config = p4r.ForwardingPipelineConfig(p4info=entities.p4info, p4_device_config=b"its own")
    inserted, modified = everything_else(entities.p4info)
    # As it is in the fresh program, too: a target may refuse to be told so.
    same = p4r.Entity(table_entry=p4r.TableEntry(table_id=1, is_default_action=True))
    unset = p4r.Entity(meter_entry=p4r.MeterEntry(meter_id=1))
    target = FakeTarget(config, [*inserted, *modified, same, unset], fresh=[same, unset])
    with running(target) as params:
        client = preflight._connect(params)
        found = Found.take(client, params.device_id)
        client.close()
        said = preflight.give_back(params, found)
    assert target.inserted == inserted
    # The fake answers each table's question with all that it has.
    once = [one for n, one in enumerate(target.modified) if one not in target.modified[:n]]
    assert once == modified
    assert "not read" not in said


def test_what_could_not_be_read_is_told_once_for_each_kind() -> None:
    config, entities = program_found()
    no_table = p4r.Error(canonical_code=UNIMPLEMENTED, message="no defaults")
    target = FakeTarget(config, entities, failures={"table_entry": no_table})
    with running(target) as params:
        client = preflight._connect(params)
        found = Found.take(client, params.device_id)
        client.close()
        said = preflight.give_back(params, found)
    assert "not read, so not given back: entries of " in said
    assert said.count("default entries (") == 1
    assert said.startswith(
        "it has the program that it had and all that could be read of it"
        " (entries: 1; default entries, meters and value sets: 0); counters and registers"
    )


class Interrupted:
    """A question in whose middle the run is ended."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, client: Client) -> None:
        client.push("cm")
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        P4RuntimeError("Read on device 3 failed: INTERNAL: a bug", grpc.StatusCode.INTERNAL),
        ConnectionLost("device 3: UNAVAILABLE: connection reset"),
        PipelineError("cmts.json: no such file"),
        AssertionError("a defect of the suite"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_target_keeps_what_it_had_whatever_ends_the_questions(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, entities = program_found()
    target = FakeTarget(config, entities)
    monkeypatch.setattr(preflight, "ask", Interrupted(error))
    told = isinstance(error, P4RuntimeError | ConnectionLost | PipelineError)
    with running(target) as params, pytest.raises(TargetError if told else type(error)) as failure:
        preflight.examine(params, NO_WIRES)
    assert str(error) in str(failure.value)
    assert target.pushed[-1] == b"its own"
    assert len(target.pushed) > 1
    assert target.inserted == entities


def test_an_interrupted_run_says_what_the_target_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = FakeTarget(*program_found())
    monkeypatch.setattr(preflight, "ask", Interrupted(KeyboardInterrupt()))
    monkeypatch.setattr(preflight, "check_wiring", lambda target, ports: None)
    with running(target) as params:
        told = Options(params.target, ["CF-1"], device_id=3, timeout=2.0, results=tmp_path)
        assert runner.run(told) == 130
    assert "ptf: target 127.0.0.1:" in (said := capsys.readouterr().err)
    assert "it has the program that it had" in said


def test_a_failure_of_the_testers_own_says_what_the_target_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = FakeTarget(*program_found())
    monkeypatch.setattr(preflight, "ask", Interrupted(OSError(errno.ENODEV, "No such device")))
    monkeypatch.setattr(preflight, "check_wiring", lambda target, ports: None)
    monkeypatch.setattr(runner, "_keep_lateness", lambda folder: "")
    with running(target) as params:
        told = Options(params.target, ["CF-1"], device_id=3, timeout=2.0, results=tmp_path)
        assert runner.run(told) == runner.FAILED
    first, second = capsys.readouterr().err.splitlines()
    assert "No such device" in first
    assert second.startswith("ptf: target 127.0.0.1:")
    assert "it has the program that it had" in second


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises, even where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Impatient(FakeTarget):
    """A target whose user presses Ctrl-C while it gets back its own program."""

    def set(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        answer = super().set(request, context)
        if self.pushed[-1] == b"its own":
            signal.raise_signal(signal.SIGINT)
        return answer


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("behind", ["the questions", "the tests"])
def test_ctrl_c_waits_until_a_target_has_what_it_had(
    behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, entities = program_found()
    target = Impatient(config, entities)
    monkeypatch.setattr(preflight, "ask", Interrupted(KeyboardInterrupt("the first")))

    def work(params: TestParams) -> None:
        if behind == "the questions":
            preflight.examine(params, NO_WIRES)
        else:
            preflight.give_back(params, Found(config, tuple(entities)))

    with running(target) as params, pytest.raises(KeyboardInterrupt) as interrupt:
        work(params)
    assert interrupt.value.args == ()
    assert target.inserted == entities
    (note,) = interrupt.value.__notes__
    assert note.startswith(f"target {params.target}: it has the program that it had")


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_the_middle_of_a_question_waits_for_the_answer() -> None:
    answers: list[str] = []

    async def question() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
        answers.append("the first")

    async def the_next() -> str:
        return "the next"

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        client.run(question())
    assert answers == ["the first"]
    assert signal.getsignal(signal.SIGINT) is handler
    assert client.run(the_next()) == "the next"


def test_a_target_that_goes_in_the_middle_is_told_so_with_what_it_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = FakeTarget(*program_found())
    server, address = serve(target)

    def gone(client: Client) -> None:
        server.stop(None).wait()
        client.push("cm")

    monkeypatch.setattr(preflight, "ask", gone)
    said = refused(TestParams(grpc=address, target=address, device_id=3, timeout=2.0))
    assert "it stopped answering while it was asked" in said
    assert "what it had before could not be given back" in said


@pytest.mark.parametrize("code", [UNIMPLEMENTED, rpc_code.INTERNAL])
def test_registers_that_are_refused_as_p4runtime_says(code: int) -> None:
    failure = p4r.Error(canonical_code=code, message="registers are not supported")
    with running(FakeTarget(failures={"register_entry": failure})) as params:
        client = preflight._connect(params)
        try:
            if code == UNIMPLEMENTED:
                lacking = profiles.lacks(client, profiles.REGISTERS)
                assert lacking is not None
                assert "its P4Runtime server has no registers" in lacking
                assert "UNIMPLEMENTED: registers are not supported" in lacking
            else:
                with pytest.raises(P4RuntimeError, match="INTERNAL: registers") as raised:
                    profiles.lacks(client, profiles.REGISTERS)
                assert raised.value.code is grpc.StatusCode.UNKNOWN
                assert raised.value.parts == (grpc.StatusCode.INTERNAL,)
        finally:
            client.close()


def test_a_target_without_a_program_is_told_so() -> None:
    target = FakeTarget()
    with running(target) as params:
        client = preflight._connect(params)
        found = Found.take(client, params.device_id)
        client.close()
        said = preflight.give_back(params, found)
    assert target.pushed == []
    assert "it had no program" in said
    assert "there is no program" in said


def test_a_target_that_has_gone_gets_nothing_back() -> None:
    config, entities = program_found()
    found = Found(config, tuple(entities))
    with running(FakeTarget(config)) as params:
        pass
    assert "could not be given back: target" in preflight.give_back(params, found)


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ({1: "lo", 2: "lo"}, "needs three ports and was given 2; give each with the interface"),
        ({1: "lo", 2: "lo", 3: "none0"}, "there is no interface none0 here; there are"),
        ({1: "lo", 2: "lo", 3: "lo"}, "two ports cannot have the same interface"),
    ],
)
def test_the_testers_own_side(ports: dict[int, str], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        preflight.check_wiring("192.0.2.7:9559", ports)


INTERFACES = {1: "eth1", 2: "eth2", 3: "eth0.5"}


class Wired:
    """The tester's interfaces, as the kernel shows them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        names = list(enumerate(INTERFACES.values(), start=1))
        self.down: set[str] = set()
        self._ipv6 = folder
        monkeypatch.setattr(preflight, "_IPV6", folder)
        for name in INTERFACES.values():
            (folder / name).mkdir()
            self.set_ipv6(name, on=False)
        monkeypatch.setattr(socket, "if_nameindex", lambda: names)
        monkeypatch.setattr(preflight, "_flags", lambda name: 0x1042 | (name not in self.down))

    def set_ipv6(self, name: str, *, on: bool) -> None:
        """Sets what `sysctl` would."""
        (self._ipv6 / name / "disable_ipv6").write_text("0\n" if on else "1\n")

    def refusal(self) -> str:
        """What is said of them."""
        with pytest.raises(TargetError) as failure:
            preflight.check_wiring("192.0.2.7:9559", INTERFACES)
        return str(failure.value).removeprefix("target 192.0.2.7:9559: ")


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Wired:
    """A tester with three interfaces, on which everything is as it has to be."""
    return Wired(monkeypatch, tmp_path)


def test_an_interface_with_ipv6_is_refused_with_what_mends_it(wired: Wired) -> None:
    wired.set_ipv6("eth2", on=True)
    # An interface that is still down is brought up behind it.
    wired.down = {"eth2"}
    assert wired.refusal() == (
        "eth2 has IPv6, and the host's own frames would fail tests that expect none; run:"
        " sysctl net.ipv6.conf.eth2.disable_ipv6=1"
    )
    wired.set_ipv6("eth0.5", on=True)
    assert wired.refusal() == (
        "eth2 and eth0.5 have IPv6, and the host's own frames would fail tests that expect none;"
        " run: sysctl net.ipv6.conf.eth2.disable_ipv6=1 net.ipv6.conf.eth0/5.disable_ipv6=1"
    )


def test_nothing_is_tested_on_an_interface_with_ipv6(
    wired: Wired, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wired.set_ipv6("eth1", on=True)
    monkeypatch.setattr(runner, "_examined", lambda *_, **__: pytest.fail("it is tested"))
    told = Options("192.0.2.7:9559", ["CF-1"], ports=INTERFACES)
    assert runner.run(told) == runner.FAILED
    said = capsys.readouterr().err
    assert said.startswith("ptf: target 192.0.2.7:9559: eth1 has IPv6")
    assert said.count("\n") == 1


def test_a_host_without_ipv6_is_quiet(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "_IPV6", Path("/nonexistent"))
    monkeypatch.setattr(socket, "socket", lambda *_: io.BytesIO())
    preflight.check_wiring("192.0.2.7:9559", INTERFACES)


def test_an_interface_that_is_down_is_named(wired: Wired) -> None:
    wired.down = {"eth2"}
    assert wired.refusal() == "eth2 is down, and no frame passes; run: ip link set eth2 up"
    wired.down = {"eth1", "eth0.5"}
    assert wired.refusal() == (
        "eth1 and eth0.5 are down, and no frame passes; run: ip link set eth1 up && ip link set"
        " eth0.5 up"
    )


def test_the_kernel_tells_an_interfaces_flags() -> None:
    loopback = 0x8
    assert preflight._flags("lo") & loopback
    with pytest.raises(OSError, match="No such device"):
        preflight._flags("none0")


class GoesDown:
    """An interface's socket: it is told once that the interface is down, and then gets a frame."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        self.down = True

    def fileno(self) -> int:
        """Its number, for select."""
        return self.inner.fileno()

    def recv(self, size: int) -> bytes:
        """Receives a frame."""
        if self.down:
            self.down = False
            raise OSError(errno.ENETDOWN, "Network is down")
        return self.inner.recv(size)


def test_an_interface_that_goes_down_is_one_to_which_nothing_comes() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.send(preflight._probe(7))
        one: Any = GoesDown(near)
        assert preflight._seen({7: one}, 60) == {7: 7}
    assert not one.down
