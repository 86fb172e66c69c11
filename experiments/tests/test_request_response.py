# SPDX-License-Identifier: Apache-2.0
"""Requests over UDP in turn: as a kind of traffic, in virtual time, and as Mininet's programs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from scenario_files import write as write_scenario

from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.runs.play import play
from docsis_experiments.runs.unit import units
from docsis_experiments.stages.mininet.traffic import requests
from docsis_experiments.traffic.kinds.request_response import RequestResponse
from docsis_testbed.errors import TestbedError

PATIENCE = 20

WITH_REQUESTS = (
    ("ramp_up: 2 s", "idle: 1 s\nramp_up: 1 s"),
    ("measured: 10 s", "measured: 2 s"),
    ("{name: steady, kind: cbr, rate: 1 Mbps, frame: 500 B, start: 2 s, end: 4 s}",
     "{name: asked, kind: request-response, start: 500 ms}"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [("request", 0), ("request", 1473), ("response", 2000), ("timeout", 1), ("timeout", 10**12)],
)
def test_what_no_datagram_has_is_refused(key: str, value: int) -> None:
    with pytest.raises(ValidationError):
        RequestResponse.model_validate({"name": "asked", "kind": "request-response", key: value})


def test_one_byte_is_the_shortest_frame() -> None:
    [sent] = RequestResponse(name="asked").sent(0)
    assert (sent.sender.request, sent.sender.response) == (64, 64)  # type: ignore[union-attr]
    large = {"name": "asked", "kind": "request-response", "request": "1472 B", "response": "19 B"}
    [sent] = RequestResponse.model_validate(large).sent(0)
    assert (sent.sender.request, sent.sender.response) == (1518, 65)  # type: ignore[union-attr]


def test_requests_are_planned_in_the_idle_time_and_from_their_start(tmp_path: Path) -> None:
    loaded = load(write_scenario(tmp_path, *WITH_REQUESTS))
    plan = plan_for(loaded.scenario, loaded.topology)
    [planned] = plan.requests
    assert planned.times == ((0.0, 1.0), (2.5, None))
    assert drawn(plan, 1).requests == (planned,)


def test_requests_of_a_run(tmp_path: Path) -> None:
    loaded = load(write_scenario(tmp_path, *WITH_REQUESTS))
    run = loaded.scenario.all_runs[0]
    outcome = play(units(loaded, [run], [1])[0])
    values = outcome.groups["asked"].values
    round_trip_ms = loaded.topology.servers[0].round_trip_time / 1e6
    assert values["idle-round-trip"] == pytest.approx(round_trip_ms, abs=1)
    assert values["round-trip max"] >= values["round-trip mean"] >= round_trip_ms
    # In turn: as many as there were round trips in the 1.5 s, one more, and what had no reply.
    assert 1 <= values["requests-made"] <= 1500 / round_trip_ms + 1
    assert values["unanswered"] == 0


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is ready, until the end of the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def planned(port: int, *times: tuple[int, int | None], timeout_ns: int) -> requests.Requests:
    here = os.getpid()
    return requests.Requests(
        ("127.0.0.1", port), ("127.0.0.1", port + 1), here, here, times, timeout_ns, 64, 100
    )


@pytest.mark.root
def test_the_program_that_asks_leaves_its_round_trips(tmp_path: Path) -> None:
    file, left = tmp_path / "requests.json", tmp_path / "left.csv"
    one = planned(18_900, (time.time_ns(), None), timeout_ns=PATIENCE * 10**9)
    requests.write([one], file)
    assert requests.read(file) == [one]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(one.destination)
        server.settimeout(PATIENCE)
        with running(requests.ask_command(file, 0, left)):
            for _ in range(5):
                server.sendto(*server.recvfrom(2048))
            server.recvfrom(2048)
    rows = requests.read_round_trips(left)
    answered = [end for _, end in rows if end is not None]
    assert (len(rows), len(answered)) == (6, 5)
    # The next one is made after the reply.
    assert all(end <= asked for end, (asked, _) in zip(answered, rows[1:], strict=True))


@pytest.mark.root
def test_a_client_asks_in_its_times_alone(tmp_path: Path) -> None:
    file = tmp_path / "requests.json"
    one = planned(18_905, timeout_ns=10**9)
    requests.write([one], file)
    with running(requests.serve_command(file)):
        client = requests.client_of(one)
        now = time.time_ns()
        for start, end in ((now, now + 100_000_000), (now + 200_000_000, now + 300_000_000)):
            before = len(client.asked)
            client.ask(start, end)
            assert len(client.asked) > before
            assert all(start <= asked < end for asked in client.asked[before:])
    assert len(client.answered) == len(client.asked)


@pytest.mark.root
def test_a_client_without_an_answer_goes_on_after_its_timeout() -> None:
    """And takes a reply that is late as that to its own request."""
    timeout_ns = 20_000_000
    one = planned(18_910, timeout_ns=timeout_ns)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(one.destination)
        server.settimeout(PATIENCE)
        client = requests.client_of(one)

        def ask() -> None:
            now = time.time_ns()
            client.ask(now, now + 3 * timeout_ns)

        ask()
        assert len(client.asked) >= 1
        assert client.answered == [None] * len(client.asked)
        apart = np.diff(client.asked)
        assert (apart >= timeout_ns).all()
        first, address = server.recvfrom(2048)
        for late in (b"short", b"\xff" * 100, first, first):
            server.sendto(late, address)
        ask()
        assert client.answered[0] is not None
        assert client.answered[0] - client.asked[0] >= timeout_ns
        assert all(end is None for end in client.answered[1:])


def test_a_client_that_left_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"left\.csv: no round trips"):
        requests.read_round_trips(tmp_path / "left.csv")
