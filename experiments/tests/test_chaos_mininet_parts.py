# SPDX-License-Identifier: Apache-2.0
"""The parts of chaos in Mininet that need no Mininet."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.dynamic import client
from docsis_control.dynamic.client import ChangeError, ChangeUnknownError
from docsis_control.plan import Deployment
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import load_topology
from docsis_experiments.chaos import books
from docsis_experiments.chaos.buckets import PEAK_BURST, Parameters
from docsis_experiments.chaos.faults import CONTROLLER, SECOND, Kind, Part, Target
from docsis_experiments.chaos.findings import Findings, Invariant
from docsis_experiments.chaos.mininet import changes as changing
from docsis_experiments.chaos.mininet.changes import Changes, compared
from docsis_experiments.chaos.mininet.injector import possible
from docsis_experiments.chaos.mininet.leftovers import left, namespace_of
from docsis_experiments.chaos.mininet.played import Played
from docsis_experiments.chaos.mininet.sampled import SampledBuckets
from docsis_experiments.chaos.mininet.schedule import Schedule
from docsis_experiments.chaos.mininet.traffic import transfers
from docsis_experiments.chaos.mininet.waiting import Waiting, stolen_ns, waited_ns
from docsis_experiments.chaos.mininet.watch import Watch
from docsis_experiments.chaos.mininet.ways import Ways
from docsis_experiments.chaos.recovery import GRACE_NS, Recovery
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

SECONDS = 10.0
"""Long enough for any machine: nothing here waits for it to pass."""


# --- buckets from samples -----------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(1, 400_000_000), st.integers(0, 200_000)), min_size=1, max_size=20
    ),
    st.integers(100_000, 20_000_000),
    st.integers(1522, 100_000),
)
def test_a_sampled_bucket_is_broken_where_any_window_between_samples_has_too_much(
    steps: list[tuple[int, int]], rate: int, burst: int
) -> None:
    bucket = SampledBuckets(Parameters(rate, burst, 0), 0, 0)
    at, sent, said = 0, 0, False
    points = [(0, 0)]
    for gap, more in steps:
        at, sent = at + gap, sent + more
        said = bool(bucket.sample(at, sent)) or said
        points.append((at, sent))
    broken = any(
        (later[1] - before[1]) * 8 * SECOND > (later[0] - before[0]) * rate + burst * 8 * SECOND
        for number, before in enumerate(points)
        for later in points[number + 1 :]
    )
    assert said == broken


def test_a_sampled_peak_rate_is_told_with_its_excess() -> None:
    bucket = SampledBuckets(Parameters(0, 0, 8_000_000), 0, 0)
    assert bucket.sample(1_000_000, 1000 + PEAK_BURST) == []
    (words,) = bucket.sample(2_000_000, 2000 + PEAK_BURST + 5)
    assert words == "5.0 bytes more left than the peak rate allows"


# --- books while frames come and go -------------------------------------------------------


def test_books_hold_within_what_came_and_went_meanwhile() -> None:
    counters = dict.fromkeys(("sf_received", *books.FATES), 0)
    counters |= {"sf_received": 20, "sf_forwarded": 12}
    assert list(books.of_service_flow("sf", counters, books.Waiting(6, 9))) == []
    (words,) = books.of_service_flow("sf", counters, books.Waiting(9, 11))
    assert words.endswith("and 9 to 11 wait or were lost in its queue")
    assert list(books.of_service_flow("sf", counters, books.Waiting(3, 7)))


# --- recoveries on a machine that is late -------------------------------------------------


def test_what_the_machine_took_is_not_held_against_control() -> None:
    for late, fails in ((600_000_000, False), (400_000_000, True)):
        recovery = Recovery("cm1")
        recovery.began()
        recovery.ended(SECOND)
        recovery.look(SECOND + 1_500_000_000, SECOND + 1_500_000_000, late)
        assert bool(list(recovery.failures())) is fails
        assert recovery.times_ns == [GRACE_NS + 500_000_000]
        assert recovery.late_ns == [late]


def test_a_run_begins_under_control_without_a_recovery() -> None:
    recovery = Recovery("cm1")
    recovery.look(SECOND // 10, SECOND // 20)
    assert recovery.times_ns == []
    assert recovery.settled(2 * SECOND)


def test_waiting_counts_up_for_processes_that_are_there() -> None:
    assert waited_ns(os.getpid()) >= 0
    assert waited_ns(2**30) == 0
    assert stolen_ns() >= 0
    assert Waiting.since_now([os.getpid(), 2**30]).ns() >= 0


# --- the schedule -------------------------------------------------------------------------


def test_a_schedule_does_what_is_due_in_order_and_tells_how_late() -> None:
    schedule = Schedule()
    done: list[str] = []
    schedule.at(0.02, lambda: done.append("second"))
    schedule.at(0.01, lambda: done.append("first"))
    schedule.at(SECONDS, lambda: done.append("never"))
    schedule.repeat(iter([0.001, 0.001]))
    schedule.run_until(0.03)
    assert done == ["first", "second"]
    assert schedule.now >= 0.03
    assert 0 <= schedule.latest < SECONDS


# --- ways ---------------------------------------------------------------------------------


class Echo:
    """A server that answers with what it hears; `heard` is set when it does."""

    def __init__(self, path: Path) -> None:
        self.connections: list[socket.socket] = []
        self.heard = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                while chunk := connection.recv(1 << 16):
                    self.heard.set()
                    connection.sendall(chunk)
                connection.close()

    def kill(self) -> None:
        """As the kernel does for a process that is killed."""
        self.listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def echoing(folder: Path) -> Iterator[tuple[Ways, Echo]]:
    path = folder / "cm1.sock"
    echo = Echo(path)
    with Ways(folder, {"cm1": f"unix:{path}"}) as ways:
        yield ways, echo
    echo.kill()


def connected(ways: Ways) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(SECONDS)
    client.connect(ways.addresses["cm1"].removeprefix("unix:"))
    return client


def test_a_way_carries_holds_while_it_is_cut_and_loses_nothing(tmp_path: Path) -> None:
    with echoing(tmp_path) as (ways, echo), closing(connected(ways)) as client:
        client.sendall(b"one")
        assert client.recv(10) == b"one"
        # A fault of the controller and one of the switch may overlap: both have to be over.
        ways.cut("cm1")
        ways.cut("cm1")
        echo.heard.clear()
        client.sendall(b"two")
        ways.mend("cm1")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(10)
        assert not echo.heard.is_set()
        ways.mend("cm1")
        client.settimeout(SECONDS)
        assert client.recv(10) == b"two"
        ways.slow("cm1", 0.01)
        client.sendall(b"three")
        assert client.recv(10) == b"three"
        client.shutdown(socket.SHUT_WR)
        assert client.recv(10) == b""
    assert not list(tmp_path.glob("*-way.sock"))


def test_the_end_of_a_switch_is_heard_and_a_dead_one_ends_each_connection(tmp_path: Path) -> None:
    with echoing(tmp_path) as (ways, echo), closing(connected(ways)) as client:
        client.sendall(b"one")
        assert client.recv(10) == b"one"
        echo.kill()
        assert client.recv(10) == b""
        (tmp_path / "cm1.sock").unlink()
        with closing(connected(ways)) as another, suppress(ConnectionResetError):
            assert another.recv(10) == b""


def test_a_folder_without_room_for_a_socket_is_told(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with pytest.raises(TestbedError, match=r"no socket can be made in .*too long"):
        Ways(folder, {"cm1": "unix:/nowhere"})
    assert not [one for one in threading.enumerate() if one.name == "chaos ways"]


# --- what can happen, and traffic ---------------------------------------------------------


@pytest.mark.parametrize("name", ["residential", "two-tiers", "neighbourhood"])
def test_everything_can_be_hit_and_every_transfer_has_a_port_of_its_own(name: str) -> None:
    topology = load_topology(TOPOLOGIES / f"{name}.yaml")
    kinds = possible(topology)
    for part in Part:
        hit = {kind for target, of in kinds.items() for kind in of if target.part is part}
        assert hit >= {Kind.CUT, Kind.SLOW} if part is Part.LINK else hit >= {Kind.KILL, Kind.STOP}
    assert set(kinds[Target(Part.SWITCH, topology.cmts.name)]) == set(Kind)
    planned = transfers(topology)
    assert len({transfer.port for transfer in planned}) == len(planned) == 2 * len(topology.hosts)


# --- changes whose answer nobody heard ----------------------------------------------------


def residential() -> Deployment:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    return deploy(topology, Preset.DOCSIS_PIE, Preset.DOCSIS_PIE)


def asked(monkeypatch: pytest.MonkeyPatch, error: ChangeError | None) -> tuple[Changes, Deployment]:
    def apply(*args: object, **options: object) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(changing, "apply", apply)
    first = residential()
    changes = Changes(first, 1)
    changes.ask(1)
    changes.wait(SECONDS)
    return changes, first


def test_an_answer_tells_what_is_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    changes, first = asked(monkeypatch, None)
    (now,) = changes.possible()
    assert now is not first
    assert changes.outcomes == {"made": 1}
    changes, first = asked(monkeypatch, ChangeError("no room"))
    assert changes.possible() == [first]
    assert changes.outcomes == {"not made": 1}


def test_without_an_answer_the_switches_show_what_is_deployed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes, first = asked(monkeypatch, ChangeUnknownError("ended"))
    _, other = changes.possible()
    changes.ask(1)
    assert changes.outcomes == {"nobody knows": 1, "not asked": 1}
    # Neither is there: that is told, and it stays open which it was.
    assert list(compared(changes, lambda one: ["an entry is missing"])) == ["an entry is missing"]
    assert changes.unsure
    assert list(compared(changes, lambda one: [] if one is other else ["missing"])) == []
    assert changes.possible() == [other]
    changes.begin_anew()
    assert changes.possible() == [first]
    assert changes.lives == 2


def test_a_controller_that_ends_before_it_answers_leaves_it_open(tmp_path: Path) -> None:
    # It hangs up on whoever asks, as one does that is killed.
    path = tmp_path / f"changes-{os.getpid()}.sock"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(str(path))
        listener.listen()

        def hang_up() -> None:
            listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(ChangeUnknownError):
            client.apply("cm1", [], os.getpid(), tmp_path)
    with pytest.raises(ChangeError) as raised:
        client.apply("cm1", [], os.getpid(), tmp_path / "nothing")
    assert not isinstance(raised.value, ChangeUnknownError)


# --- what is left -------------------------------------------------------------------------


def test_a_thread_that_goes_on_is_told_and_our_own_namespace_is_not_searched() -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="chaos test", daemon=True)
    thread.start()
    found = left(topology, {namespace_of(os.getpid()), ""})
    over.set()
    thread.join(SECONDS)
    assert "thread chaos test" in found
    assert not [words for words in found if words.startswith("process")]


# --- programs that end by themselves ------------------------------------------------------


class Programs:
    """Stands for the system in Mininet: nothing but who is dead, and who was started again."""

    def __init__(self) -> None:
        self.topology = load_topology(TOPOLOGIES / "residential.yaml")
        self.schedule = Schedule()
        self.looked: dict[str, Any] = {}
        self.ended: list[Target] = []
        self.started: list[Target] = []
        self.anew: Any = None

    def dead(self) -> list[Target]:
        return list(self.ended)

    def ending(self, target: Target) -> str:
        return f"{target} was killed by SIGKILL: it said nothing"

    def restart(self, target: Target) -> None:
        self.started.append(target)

    def wait_serving(self, target: Target) -> None:
        self.ended.remove(target)


def test_a_switch_without_anything_to_manage_has_no_loop_to_wait_for() -> None:
    # A drop tail that somebody chose at the CMTS used to be taken for control that is not back.
    played = Played(cast("Any", Programs()), residential(), [], 1, lambda phase, at: None)
    assert played._looping("cm1")()
    assert played._looping("cmts1")()
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    plain = deploy(topology, Preset.DROP_TAIL, Preset.DROP_TAIL)
    played = Played(cast("Any", Programs()), plain, [], 1, lambda phase, at: None)
    assert played._looping("cm1")()
    assert not played._looping("cmts1")()


def looking_for_ever(played: Played) -> None:
    for _ in range(1000):
        played._look()
        for thread in threading.enumerate():
            if thread.name.startswith("chaos start of"):
                thread.join(SECONDS)


def test_what_ends_by_itself_is_told_and_only_that_is_started_again() -> None:
    # A dead switch used to have the controller started again, twenty times a second.
    programs: Any = Programs()
    played = Played(programs, residential(), [], 1, lambda phase, at: None)
    switch = Target(Part.SWITCH, "cm1")
    programs.ended.append(switch)
    played._look()
    for thread in threading.enumerate():
        if thread.name == "chaos start of switch cm1":
            thread.join(SECONDS)
    assert programs.started == [switch]
    (found,) = played.findings.found
    assert found.words == "by itself, switch cm1 was killed by SIGKILL: it said nothing"
    assert found.invariant is Invariant.RECOVERY


def test_programs_that_end_again_and_again_end_the_run() -> None:
    programs: Any = Programs()
    played = Played(programs, residential(), [], 1, lambda phase, at: None)
    # It never gets far enough to serve.
    programs.wait_serving = lambda target: None
    programs.ended.append(CONTROLLER)
    with pytest.raises(TestbedError, match="again and again: controller was killed"):
        looking_for_ever(played)
    assert len(programs.started) == 10


def test_a_name_of_a_target_says_what_it_is() -> None:
    assert str(CONTROLLER) == "controller"
    assert str(Target(Part.LINK, "rf")) == "link rf"


# --- watches ------------------------------------------------------------------------------


class Broken:
    """A switch of which nothing can be told, for a reason that nobody thought of."""

    name = "cm1"

    def updated_ns(self, *, looped: bool) -> int | None:
        raise ZeroDivisionError("no clock")


def test_a_watch_that_dies_is_found() -> None:
    looked: Any = Broken()
    findings, asked = Findings([]), threading.Event()

    def looped() -> bool:
        asked.set()
        return True

    watch = Watch(
        looked, Recovery("cm1"), findings, now_ns=lambda: 7, plan_ns=lambda at: at,
        pids=lambda: [], looped=looped, lock=threading.Lock(),
    )  # fmt: skip
    watch.start()
    assert asked.wait(SECONDS)
    watch.end()
    [found] = findings.found
    assert (found.at_ns, found.invariant) == (7, Invariant.RECOVERY)
    assert found.words == (
        "cm1: the watch ended with ZeroDivisionError: no clock; nothing is known of it since"
    )
