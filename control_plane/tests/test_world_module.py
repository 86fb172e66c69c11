# SPDX-License-Identifier: Apache-2.0
"""The virtual world as Python has it: provisioned, loaded, repeated, and misused."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from docsis_world import RpcError, World, WorldError
from finsy.proto import p4r
from world_support import ELECTION_ID, SECOND, Residential, arbitrate

BUSY = "while True: pass"


def column(values: bytes) -> npt.NDArray[np.int64]:
    return np.frombuffer(values, dtype=np.int64)


def test_a_modem_carries_its_rate_and_its_buffer_is_full() -> None:
    residential = Residential()
    world = residential.world
    *uploads, call, web, stream = residential.load()
    world.sample(uploads, SECOND // 10)
    world.run_until(20 * SECOND)
    received = np.sum([column(world.samples(number)["received"]) for number in uploads], axis=0)
    goodput = (received[-1] - received[99]) * 8 / 10
    assert 18.0e6 < goodput < 19.2e6
    sent, reached, returned = (column(times) for times in world.probe_records(call))
    came = (reached > 0) & (sent > 10 * SECOND)
    delay = (reached - sent)[came] / 1e6
    assert 150 < np.median(delay) < 250
    assert delay.max() < 252
    assert np.all(returned[returned > 0] > reached[returned > 0])
    asked, answered = (column(times) for times in world.message_records(web))
    assert len(asked) > 10
    assert np.all(answered[:-1] > asked[:-1])
    left, came_down = (column(times) for times in world.packet_records(stream))
    # One in eight of those that are sent in 20 s; the round-trip time is the servers'.
    assert 490 < len(left) < 510
    assert np.all((came_down - left)[:-30] > 100_000_000)
    info = world.transfer_info(uploads[0])
    assert info["state"] == "ESTABLISHED"
    assert 0 < info["acknowledged"] <= world.received(uploads[0])
    counts = world.counts(uploads[0])
    assert counts["received_frames"] < counts["sent_frames"]


def test_two_processes_have_the_same_bits_one_of_them_under_load() -> None:
    program = Path(__file__).with_name("world_support.py")
    repository = program.parents[2]

    def said(hash_seed: str) -> str:
        return subprocess.run(
            [sys.executable, str(program)],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            cwd=repository,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout

    idle = said("1")
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        loaded = said("2")
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert loaded == idle
    assert len(idle.split()[0]) == 16


def test_while_a_world_runs_other_threads_do_and_it_is_nobody_else_s() -> None:
    residential = Residential()
    world = residential.world
    residential.load()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            # Until somebody else has noticed.
            while not noticed.is_set():
                world.run_until(world.now_ns + SECOND)
        except BaseException as error:
            failures.append(error)

    noticed = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    words = ""
    while not words and thread.is_alive():
        try:
            world.digest()
        except WorldError as error:
            # With the interpreter's lock nobody could have asked while it ran.
            words = str(error)
    noticed.set()
    thread.join()
    # The thread itself may have met this one's question.
    assert all("another thread uses this world" in str(failure) for failure in failures)
    if not words:
        assert failures
    else:
        assert words.startswith("another thread uses this world")


def test_a_panic_fails_its_own_world_only() -> None:
    one, other = Residential(), Residential()
    other.load()
    panic: Callable[[str], None] = getattr(one.world, "_panic")  # noqa: B009 - not for others
    with pytest.raises(WorldError, match=r"^this world has failed .*: a test wants it \(.*world"):
        panic("a test wants it")
    for use in (
        one.world.digest,
        lambda: one.world.run_until(SECOND),
        lambda: one.world.open_stream("cm1"),
        one.streams[0].receive,
    ):
        with pytest.raises(WorldError, match="a test wants it"):
            use()
    other.world.run_until(SECOND)
    assert other.world.totals()["received"] > 0


def test_a_status_comes_with_code_message_and_details() -> None:
    residential = Residential()
    world = residential.world
    with pytest.raises(RpcError) as raised:
        world.call("cm1", "/p4.v1.P4Runtime/Read", p4r.ReadRequest(device_id=7).SerializeToString())
    assert raised.value.code == 5
    assert raised.value.message == "there is no device 7, this server has 1"
    request = p4r.ReadRequest(device_id=1)
    request.entities.add().register_entry.register_id = 1
    with pytest.raises(RpcError) as raised:
        world.call("cm1", "/p4.v1.P4Runtime/Read", request.SerializeToString())
    assert b"Error" in raised.value.details
    with pytest.raises(RpcError) as raised:
        world.open_stream("cm1").send(b"\xff")
    assert raised.value.code == 13


def test_a_stream_that_is_closed_is_of_no_use_and_ends_its_arbitration() -> None:
    world = World(1)
    world.add_device("cm1", 1, [1], cpu_port=255)
    first = arbitrate(world, "cm1", 1)
    [told] = [p4r.StreamMessageResponse.FromString(raw) for raw in first.receive()]
    assert told.arbitration.status.code == 0
    first.close()
    first.close()
    with pytest.raises(ValueError, match="the stream is closed; open another one"):
        first.receive()
    write = p4r.WriteRequest(device_id=1, election_id=ELECTION_ID)
    with pytest.raises(RpcError) as raised:
        world.call("cm1", "/p4.v1.P4Runtime/Write", write.SerializeToString())
    assert raised.value.code == 7


BAD: list[tuple[Callable[[World], Any], type[Exception], str]] = [
    (lambda _: World(-1), ValueError, "seed is -1, which is not within 0 to 18446744073709551615"),
    (lambda _: World(2**64), ValueError, "seed is 18446744073709551616, which is not within"),
    (lambda _: World("7"), TypeError, "seed is a whole number, not str"),  # type: ignore[arg-type]
    (lambda _: World(True), TypeError, "seed is a whole number, not bool"),
    (lambda w: w.add_device("cm1", 9, [3]), ValueError, 'there is a device "cm1" already'),
    (lambda w: w.add_device("x", 9, [3, 3]), ValueError, 'device "x" is given port 3 twice'),
    (lambda w: w.add_device("x", 9, [70000]), ValueError, "a port is 70000, which is not within"),
    (
        lambda w: w.add_host("h", "02:00", "10.0.0.9/24", "cm1", 9),
        ValueError,
        '"02:00" is no MAC address',
    ),
    (
        lambda w: w.add_host("h", "02:00:00:00:09:09", "10.0.0.9", "cm1", 9),
        ValueError,
        '"10.0.0.9" is no IPv4 address with a prefix length',
    ),
    (
        lambda w: w.add_host("h", "02:00:00:00:09:09", "10.0.0.9/24", "cm1", 2, lateness=(2, 1)),
        ValueError,
        "a lateness of 2 ns at the median and 1 ns at the 99th percentile is not possible",
    ),
    (lambda w: w.connect(("cm1", 1), ("cmts1", 1)), ValueError, "has a link already"),
    (lambda w: w.run_until(-1), ValueError, "time_ns is -1, which is not within"),
    (lambda w: w.run_until(0), ValueError, "time does not go back: it is 1000000000 ns, and 0 ns"),
    (lambda w: w.call("x", "/p4.v1.P4Runtime/Read", b""), ValueError, 'there is no device "x"'),
    (
        lambda w: w.tcp_transfer("cpe1", "server1", 80, congestion="bbr"),  # type: ignore[arg-type]
        ValueError,
        'there is no congestion control "bbr"; there are cubic, reno, ledbat',
    ),
    (
        lambda w: w.rate_limit(0),
        ValueError,
        "a rate of transfers is 1 to 100000000000 bit/s, not 0",
    ),
    (
        lambda w: w.tcp_transfer("cpe1", "server1", 80, shared_limit=w.rate_limit(1) + 1),
        ValueError,
        "there is no rate limit 1",
    ),
    (
        lambda w: w.tcp_transfer("cpe1", "server1", 80, start_ns=5),
        ValueError,
        "traffic cannot start at 5 ns: it is 1000000000 ns already",
    ),
    (lambda w: w.probes("cpe1", "nobody", count=1), ValueError, 'there is no host "nobody"'),
    (lambda w: w.received(5), ValueError, "there is no application 5; there are 0"),
    (lambda w: w.inject("cm1", 2, [(5, b"x")]), ValueError, "frame 0 is to arrive at 5 ns"),
]


@pytest.mark.parametrize(("do", "kind", "words"), BAD, ids=[words for _, _, words in BAD])
def test_what_cannot_be_is_refused_in_a_sentence(
    do: Callable[[World], Any], kind: type[Exception], words: str
) -> None:
    world = Residential().world
    world.run_until(SECOND)
    with pytest.raises(kind) as raised:
        do(world)
    assert words in str(raised.value)
    # Nothing has happened to the world.
    world.run_until(2 * SECOND)
