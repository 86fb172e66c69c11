# SPDX-License-Identifier: Apache-2.0
"""The record of a control loop: what is kept, how it is written, and what that takes."""

import csv
import io
import math
import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_control.law.docsis_pie import Status
from docsis_control.law.service_flows import Decision, Observation
from docsis_control.record_ring import Ring
from docsis_control.recording import DeviceRecord, save

Row = tuple[int, float, int, float, float, float, int, Status]
"""Backlog, tokens, bucket, delay, rate, probability, burst allowance and status."""

reals = st.floats(0, 1e8) | st.sampled_from([0.0, -0.0, math.inf])
rows: st.SearchStrategy[Row] = st.tuples(
    st.integers(0, 2**31 - 1),
    reals,
    st.integers(0, 2**32 - 1),
    reals,
    st.just(math.nan) | reals,
    reals,
    st.integers(0, 150_000),
    st.sampled_from(Status),
)


def observation(seen: list[Row]) -> Observation:
    backlog, tokens, bucket, qdelay, rate, prob, burst, status = zip(*seen, strict=True)
    floats = [np.array(column, np.float64) for column in (tokens, bucket, qdelay, rate, prob)]
    whole = [np.array(column, np.int64) for column in (backlog, burst, status)]
    decision = Decision(floats[4], whole[1], whole[2])
    return Observation(whole[0], floats[0], floats[1], floats[2], floats[3], decision)


def line(at: int, flow: int, row: Row) -> list[Any]:
    """A line of the file, as documented, in the plainest way."""
    backlog, tokens, bucket, qdelay, rate, prob, burst, status = row
    return [
        f"{at / 1e9:.6f}",
        at // 1000,
        flow,
        backlog,
        f"{tokens:.1f}",
        f"{qdelay * 1e3:.3f}",
        f"{prob:.9f}",
        f"{burst / 1e3:.1f}",
        status.name,
        "" if math.isnan(rate) else f"{rate:.0f}",
        bucket,
    ]


@settings(max_examples=60)
@given(
    st.lists(st.lists(rows, min_size=3, max_size=3), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.integers(1, 12),
)
def test_samples_are_written_one_by_one_whatever_repeats(
    tmp_path_factory: pytest.TempPathFactory,
    updates: list[list[Row]],
    repeats: list[bool],
    moved: int,
) -> None:
    record = DeviceRecord([4, 2, 9], capacity=100)
    written = io.StringIO()
    writer = csv.writer(written)
    flows = [4, 2, 9]
    seen = updates[0]
    for number, (update, repeated) in enumerate(zip(updates, repeats, strict=False)):
        # Most service flows are as they were; one of them changes.
        seen = [seen[0], update[1], seen[2]] if repeated else update
        if number == moved:
            flows = [2, 9, 4]
            record.follow(flows)
        at = number * 16_000_000 + 90_001
        record.tick(at, at, at, 0)
        record.sample(at, at // 1000, observation(seen))
        writer.writerows(line(at, flow, row) for flow, row in zip(flows, seen, strict=True))
    folder = tmp_path_factory.mktemp("record")
    record.save("cm1", folder)
    with (folder / "samples-cm1.csv").open(newline="") as file:
        header, _, body = file.read().partition("\r\n")
    names = header.split(",")
    assert names[2:4] == ["service_flow", "backlog_bytes"]
    assert names[-1] == "msr_bucket_bytes"
    assert body == written.getvalue()


def test_samples_are_of_the_first_service_flows_where_so_many_are_wanted(tmp_path: Path) -> None:
    record = DeviceRecord([4, 7, 9], sampled=2)
    seen: list[Row] = [(at, 1.0, 2, 0.0, math.nan, 0.0, 0, Status.INACTIVE) for at in (10, 20, 30)]
    record.sample(0, 0, observation(seen))
    record.follow([9])
    record.sample(1, 1, observation(seen[2:]))
    found = record.samples
    assert found["service_flow"].tolist() == [4, 7, 9]
    assert found["backlog"].tolist() == [10, 20, 30]


def test_ticks_are_written_in_milliseconds(tmp_path: Path) -> None:
    record = DeviceRecord([1])
    record.tick(1_000_000_000, 1_000_090_000, 1_001_290_000, 2)
    record.save("cm1", tmp_path)
    assert (tmp_path / "ticks-cm1.csv").read_bytes() == (
        b"monotonic_s,lateness_ms,cycle_ms,missed\r\n1.000000,0.090,1.200,2\r\n"
    )


@given(st.integers(1, 20), st.lists(st.integers(0, 20), max_size=20), st.integers(1, 7))
def test_a_ring_keeps_the_newest(capacity: int, sizes: list[int], piece: int) -> None:
    ring = Ring(np.dtype([("number", "i8"), ("half", "i2")]), capacity)
    added = 0
    for size in sizes:
        if size == 0:
            ring.append((added, added % 7))
            added += 1
            continue
        more = np.zeros(min(size, capacity), [("number", "i8"), ("half", "i2")])
        more["number"] = np.arange(added, added + len(more))
        more["half"] = more["number"] % 7
        ring.extend(more)
        added += len(more)
    kept = [(number, number % 7) for number in range(max(0, added - capacity), added)]
    assert ring.in_order().tolist() == kept
    pieces = list(ring.pieces(piece))
    assert [record for each in pieces for record in each.tolist()] == kept
    assert all(0 < len(each) <= piece for each in pieces)
    assert ring.newest(3).tolist() == kept[-3:]


def test_writing_a_large_record_takes_no_copy_of_it(tmp_path: Path) -> None:
    """Some are kept; what is taken to write them does not grow with that."""
    record = DeviceRecord(range(1, 501), capacity=12_500)
    seen = observation([(1, 2.0, 2, 3.0, math.nan, 0.5, 0, Status.ACTIVE)] * 500)
    for number in range(250):
        record.tick(number, number, number, 0)
        record.sample(number, number, seen)
    kept = record.samples.nbytes
    tracemalloc.start()
    record.save("cm1", tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept > 5_000_000
    assert peak < kept / 2


def test_files_are_written_behind_the_switches(tmp_path: Path) -> None:
    """A controller that ends writes its record with a lower real-time priority than before."""
    permitted: list[bool] = []
    found: list[int] = []

    def end() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(6))
        except OSError:
            return
        permitted.append(True)
        save({"cm": DeviceRecord([1])}, tmp_path)
        found.append(os.sched_getparam(0).sched_priority)

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    if not permitted:
        pytest.skip("this machine permits no real-time priority")
    assert (tmp_path / "stats.json").exists()
    assert 0 < found[0] < 6
