# SPDX-License-Identifier: Apache-2.0
"""Exercise 7: what its criteria see of a program, and its committed programs."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from handed import Handed
from rich.console import Console

from docsis_labs.criterion import Missed
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import RunContext
from docsis_labs.exercises import exercise
from docsis_labs.exercises.codel.criteria import JUDGES
from docsis_labs.exercises.codel.line import (
    ACCESS,
    LENGTH,
    NETWORK,
    QUEUE,
    RATE,
    SERVICE_US,
    play,
    standing,
)
from docsis_labs.exercises.numbered import Offer
from docsis_labs.exercises.pictures import program
from docsis_labs.grading.judge import judged
from docsis_labs.p4.committing import problems
from docsis_labs.p4.packet_device import PacketDevice
from docsis_labs.p4.program import Program


def test_programs_are_what_p4c_made_of_the_sources() -> None:
    assert problems(exercise(7)) == []


def test_the_line_takes_a_frame_a_millisecond_and_its_waiting_is_seen() -> None:
    # Exercise 6's program drops nothing by itself.
    switch = PacketDevice(program(6, "solution"), (ACCESS, NETWORK))
    switch.configure_queue(NETWORK, QUEUE, max_sustained_rate=RATE, max_burst=1522)
    fates = play(switch, standing(1000, 20, 50_000))
    assert not any(fate.dropped for fate in fates)
    leaving = [fate.at_us for fate in fates]
    assert all(later - earlier == SERVICE_US for earlier, later in pairwise(leaving[1:]))
    # 20 frames stand, of which one is on the line and the burst gives 0.2.
    assert 18 * SERVICE_US < fates[-1].sojourn_us < 20 * SERVICE_US


def test_a_frame_that_is_missing_was_dropped_when_the_next_one_left() -> None:
    switch = PacketDevice(program(7, "skeleton"), (ACCESS, NETWORK))
    switch.configure_queue(NETWORK, QUEUE, max_sustained_rate=RATE, max_burst=1522)
    fates = play(switch, [Offer(1000, LENGTH)] * 10 + [Offer(500_000, LENGTH)])
    # The skeleton drops whatever waited for more than 5 ms, at once and in one go.
    assert [fate.dropped for fate in fates] == [False] * 6 + [True] * 4 + [False]
    assert fates[-1].at_us == 500_000
    assert {fate.at_us for fate in fates[6:10]} == {500_000}


def test_a_program_that_never_drops_has_no_points_for_not_dropping() -> None:
    solution = program(7, "solution")
    document = json.loads(solution.json)
    for action in document["actions"]:
        kept = [one for one in action["primitives"] if one["op"] != "mark_to_drop"]
        action["primitives"] = kept
    never = Program(solution.name, json.dumps(document).encode(), solution.p4info)
    results = list(judged(exercise(7), Handed(never)))
    assert [one.id for one in results if one.points] == ["bursts"]
    assert "never-drops" in {one.mistake for one in results}


@pytest.mark.parametrize(
    ("behind", "mistake"),
    [(0, "last-frame-dropped"), (2, "two-frames-kept"), (5, "two-frames-kept")],
)
def test_how_many_frames_keep_a_frame_is_asked_for_exactly(behind: int, mistake: str) -> None:
    solution = program(7, "solution")
    bound = '["standard_metadata","deq_qdepth"]},"right":{"type":"hexstr","value":"0x%06x"'
    text = solution.json.decode()
    assert text.count(bound % 1) == 1
    changed = text.replace(bound % 1, bound % behind).encode()
    verdict = JUDGES["last_frames"](Program(solution.name, changed, solution.p4info))
    assert isinstance(verdict, Missed)
    assert verdict.mistake == mistake


@pytest.mark.parametrize(
    ("intervals", "mistake"), [(13, "count-starts-anew"), (21, "count-never-forgotten")]
)
def test_the_count_is_forgotten_after_16_intervals(intervals: int, mistake: str) -> None:
    solution = program(7, "solution")
    text = solution.json.decode()
    assert text.count(f'"0x{1_600_000:012x}"') == 1
    changed = text.replace(f"{1_600_000:012x}", f"{100_000 * intervals:012x}").encode()
    verdict = JUDGES["again"](Program(solution.name, changed, solution.p4info))
    assert isinstance(verdict, Missed)
    assert verdict.mistake == mistake


def test_a_program_that_drops_every_probe_is_told_so_by_a_run(tmp_path: Path) -> None:
    solution = program(7, "solution")
    document = json.loads(solution.json)
    [drop, *_] = [
        one
        for action in document["actions"]
        for one in action["primitives"]
        if one["op"] == "mark_to_drop"
    ]
    for action in document["actions"]:
        if any(one["op"] == "register_write" for one in action["primitives"]):
            action["primitives"].append(drop)
    every = Program(solution.name, json.dumps(document).encode(), solution.p4info)
    context = RunContext(exercise(7), Handed(every), tmp_path, Console(), False)
    with pytest.raises(SubmissionError, match=r"^Beside four uploads none of 700 probes came"):
        exercise(7).run(context)
