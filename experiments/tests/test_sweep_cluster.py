# SPDX-License-Identifier: Apache-2.0
"""Units on a Dask cluster over TLS: the same bits as in a pool of processes, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tls_files
from outcome_files import quick
from tls_files import Certificates

from docsis_experiments.runs import files, sources, workers
from docsis_experiments.runs.play import play
from docsis_experiments.runs.pool import Played
from docsis_experiments.runs.unit import Unit, units
from docsis_experiments.sweeps import cluster
from docsis_experiments.sweeps.tls import Access
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from distributed import Client

DASK = [sys.executable, "-m", "dask"]

MOST_SECONDS = 120.0
"""Until something has happened that takes a few, on a machine that has much to do."""


def until(what: str, happened: Callable[[], Any]) -> Any:
    """Calls `happened` until it gives something, and returns that."""
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen in {MOST_SECONDS:g} s")


class Cluster:
    """A scheduler, and a test's workers, each a process of ours."""

    def __init__(self, folder: Path, certificates: Certificates) -> None:
        self._folder = folder
        self._certificates = certificates
        self._workers: list[subprocess.Popen[bytes]] = []
        place = folder / "scheduler.json"
        self._scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--protocol", "tls",
            "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(place),
        )  # fmt: skip
        self.address = until("a scheduler", lambda: _address(place))

    @property
    def access(self) -> Access:
        files = self._certificates
        return Access.of(self.address, files.ca, files.certificate, files.key)

    def worker(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--name", name, "--local-directory", str(self._folder), *options,
        )  # fmt: skip
        self._workers.append(worker)
        return worker

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*DASK, *arguments, *self._certificates.dask_options],
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )

    @contextmanager
    def client(self) -> Iterator[Client]:
        from distributed import Client, Security

        access = self.access
        security = Security(
            require_encryption=True,
            tls_ca_file=str(access.ca),
            tls_client_cert=str(access.certificate),
            tls_client_key=str(access.key),
        )
        with Client(access.address, security=security, set_as_default=False) as client:
            yield client

    def end_workers(self) -> None:
        """Until the scheduler knows of none."""
        if not self._workers:
            return
        while self._workers:
            _end(self._workers.pop())
        with self.client() as client:
            until("no worker", lambda: not client.scheduler_info(n_workers=-1)["workers"])

    def end(self) -> None:
        for process in (*self._workers, self._scheduler):
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _address(place: Path) -> str | None:
    try:
        return str(json.loads(place.read_text())["address"])
    except (OSError, ValueError):
        return None


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return tls_files.make(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def scheduler(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("dask"), certificates)
    yield started
    started.end()


@pytest.fixture
def dask(scheduler: Cluster) -> Iterator[Cluster]:
    """Without a worker yet."""
    yield scheduler
    scheduler.end_workers()


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> list[Unit]:
    found = quick(tmp_path_factory.mktemp("scenario"))
    return units(found, found.scenario.all_runs, [1, 2])


def bits(played: Iterator[Played]) -> dict[Unit, bytes]:
    """The outcome of each unit, as it is kept."""
    found = {}
    for one in played:
        assert one.outcome is not None, one.failure
        assert one.unit not in found
        found[one.unit] = files.encode([one.outcome])
    return found


def kill_while_it_plays(started: Cluster, worker: subprocess.Popen[bytes], name: str) -> None:
    """Kills a worker that has a unit and cannot have ended it."""
    with started.client() as client:

        def address() -> str | None:
            found = client.scheduler_info(n_workers=-1)["workers"]
            return next((a for a, entry in found.items() if entry["name"] == name), None)

        place = until("its worker", address)

        def stopped_at_work() -> bool:
            if not client.processing()[place]:
                return False
            os.kill(worker.pid, signal.SIGSTOP)
            if client.processing()[place]:
                return True
            os.kill(worker.pid, signal.SIGCONT)
            return False

        until("a unit for the worker", stopped_at_work)
        worker.kill()
        worker.wait()


def test_the_same_bits_wherever_they_are_made_and_whoever_is_killed(
    dask: Cluster, some: list[Unit]
) -> None:
    first = dask.worker("first")
    dask.worker("second")
    told: list[str] = []
    killer = threading.Thread(target=kill_while_it_plays, args=(dask, first, "first"))
    killer.start()
    with closing(cluster.play_all(some, dask.access, told.append)) as each:
        there = bits(each)
    killer.join(timeout=MOST_SECONDS)
    assert first.returncode == -signal.SIGKILL
    # As in a pool of processes, which makes the bits of this one: see `test_runs_pool`.
    assert there == {unit: files.encode([play(unit)]) for unit in some}
    assert told == []


def test_a_worker_of_another_version_gets_nothing(
    dask: Cluster, some: list[Unit], tmp_path: Path
) -> None:
    other = tmp_path / "other.py"
    other.write_text(
        "from docsis_experiments.runs import sources\nsources.pipeline_now = lambda: 'another'\n"
    )
    dask.worker("other", "--preload", str(other))
    told: list[str] = []
    with pytest.raises(TestbedError) as error:
        next(
            cluster.play_all(some, dask.access, told.append, lambda: 0.0 if told else MOST_SECONDS)
        )
    assert "none of its workers may play; start one with `dask worker tls://" in str(error.value)
    [words] = told
    assert words.startswith("worker tls://127.0.0.1:")
    assert words.endswith(
        "is refused: its pipeline is not the same as here; start it from a clone of this version"
    )


def test_a_cluster_without_workers(dask: Cluster, some: list[Unit]) -> None:
    with pytest.raises(TestbedError, match="there is no worker; start one with"):
        next(cluster.play_all(some, dask.access, lambda words: None, lambda: 0.0))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({**sources.parts("virtual")}, ""),
        ({**sources.parts("virtual"), "code": "", "world": ""}, "its code and world are not"),
        ({}, "its code and pipeline and world and libc and python and numpy are not the same as"),
        (ModuleNotFoundError("No module named 'x'"), "it has not this version of docsis-p4 (No mo"),
        (TestbedError(sources.CHANGED), "its code, pipeline or world was changed after it had"),
        ("text", "it has not this version of docsis-p4"),
    ],
)
def test_what_a_worker_says_of_itself(answer: object, words: str) -> None:
    assert cluster.refusal(answer).startswith(words)
    assert bool(cluster.refusal(answer)) is bool(words)


def test_a_worker_with_another_python_is_told_which_has_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = {**sources.parts("virtual"), "python": "3.11"}
    monkeypatch.setattr(sources, "parts", lambda stage: ours)
    # Its distributions may be others, too; Python explains those.
    assert cluster.refusal({**ours, "python": "3.12", "numpy": "other"}) == (
        "it has Python 3.12 and this program has Python 3.11, and their results differ in last "
        "digits; start it with Python 3.11"
    )


HANGING, OTHER = "tls://hanging", "tls://other"


class Sent:
    """A question or a unit at a worker: one that hangs never ends it, the other at once."""

    def __init__(self, key: str, place: str) -> None:
        self.key, self.place = key, place
        self.status = "pending" if place == HANGING else "finished"

    def done(self) -> bool:
        return self.status != "pending"

    def cancel(self) -> None:
        self.status = "cancelled"

    def add_done_callback(self, call: Callable[[object], None]) -> None:
        if self.done():
            call(self)


class Hanging:
    """Dask, as far as it is asked here, with a worker that ends nothing.

    Whatever that one may get it gets, as Dask may give a worker more than it has threads for.
    """

    def __init__(self, **threads: int) -> None:
        self.threads = {f"tls://{name}": count for name, count in threads.items()}
        self.sent: list[Sent] = []

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        del n_workers
        return {"workers": {name: {"nthreads": count} for name, count in self.threads.items()}}

    def submit(self, function: object, *of: object, workers: list[str], **how: object) -> Sent:
        del function, of, how
        place = HANGING if HANGING in workers else OTHER
        self.sent.append(Sent(f"answered-{len(self.sent)}", place))
        return self.sent[-1]

    def processing(self) -> dict[str, list[str]]:
        pending = [one for one in self.sent if one.status == "pending"]
        return {name: [one.key for one in pending if one.place == name] for name in self.threads}


def crew_of(client: Any, tell: Callable[[str], None]) -> cluster._Crew:
    """A crew of workers that have been asked, and may all play."""
    nowhere = Path("nowhere")
    crew = cluster._Crew(client, Access("nobody", 1, nowhere, nowhere, nowhere), tell, lambda: 0.0)
    crew._refusals = dict.fromkeys(client.threads, "")
    return crew


@pytest.fixture
def late_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any unit that has not ended when it is looked at has taken too long."""
    monkeypatch.setattr(workers, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "_outcome", lambda future, unit: Played(unit, None, future.place))


@pytest.mark.usefixtures("late_at_once")
def test_a_worker_that_hangs_fails_one_unit_and_gets_no_other(some: list[Unit]) -> None:
    """The second unit waits behind the first and has not begun: the other worker plays it."""
    client: Any = Hanging(hanging=1, other=1)
    told: list[str] = []
    found = list(cluster._played(client, crew_of(client, told.append), deque(some)))
    assert [one.unit for one in found] == some
    assert found[0].failure == "tail, seed 1: its worker took more than 0 s"
    assert [one.failure for one in found[1:]] == [OTHER, OTHER, OTHER]
    assert told == [
        "worker tls://hanging took more than 0 s for tail, seed 1 and cannot be stopped: it plays "
        "no more until it is restarted"
    ]
    assert [one.status for one in client.sent if one.place == HANGING] == ["cancelled"] * 2


@pytest.mark.usefixtures("late_at_once")
def test_a_worker_keeps_the_threads_that_do_not_hang(some: list[Unit]) -> None:
    client: Any = Hanging(hanging=2)
    told: list[str] = []
    found: list[Played] = []
    with pytest.raises(TestbedError, match="none of its workers may play"):
        # What came before the error is there.
        found.extend(cluster._played(client, crew_of(client, told.append), deque(some)))
    assert [one.unit for one in found] == some[:2]
    assert [words.partition(": ")[2] for words in told] == [
        "it plays 1 at a time from now on",
        "it plays no more until it is restarted",
    ]


def test_a_worker_that_was_restarted_plays_again(some: list[Unit]) -> None:
    client: Any = Hanging(hanging=1)
    crew = crew_of(client, lambda words: None)
    unit = client.submit(None, workers=[HANGING])
    crew.look()
    crew.late(unit.key, some[0])
    assert crew.accepted == {}
    assert crew.stuck() == {unit.key}
    there, client.threads = client.threads, {}
    crew._looked, crew._alone_seconds = -1.0, lambda: MOST_SECONDS
    crew.look()
    client.threads = there
    crew._looked = -1.0
    crew.look()
    assert crew.accepted == {HANGING: 1}
    assert crew.stuck() == frozenset()


def test_a_worker_that_does_not_answer_is_asked_once_and_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.0)
    client: Any = Hanging(hanging=1)
    access = Access("nobody", 1, tmp_path, tmp_path, tmp_path)
    crew = cluster._Crew(client, access, pytest.fail, lambda: MOST_SECONDS)
    for _ in range(3):
        crew.look()
    assert crew.threads == 0
    assert len(client.sent) == 1
