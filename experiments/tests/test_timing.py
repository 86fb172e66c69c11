# SPDX-License-Identifier: Apache-2.0
"""Validity of runs, runs that get a verdict, and how switches and the machine are asked."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from fake_switches import switch
from time_samples import IN_TIME, JUMPED, LATE, SILENT, TIMERS, lateness

import docsis_cli as cli
from docsis_control.tm.lateness import METHOD, lateness_from
from docsis_experiments.measurement.timing import MOST_P99_MS, Timing
from docsis_experiments.reports import document
from docsis_experiments.stages.mininet import timers
from docsis_experiments.stages.mininet.lateness import LatenessReader
from docsis_testbed import switch_report
from docsis_testbed.errors import NoVerdict, TestbedError


@pytest.mark.parametrize(
    ("timing", "valid", "judged", "words"),
    [
        (IN_TIME, True, True, "the switches were 0.15 ms late at p99 at the most"),
        (LATE, True, False, "no verdict: the switch cmts1 was 2.31 ms late at p99, and a verdict "
                            "needs 1 ms at the most"),
        (JUMPED, False, False, "not valid: time jumped 2 times in cm1, over 9.0 ms in sum, because "
                               "it was more than 20 ms late"),
        (SILENT, True, False, "no verdict: cm1 and cmts1 did not tell how late they were"),
        (Timing({"cm1": None}), True, False, "no verdict: cm1 did not tell how late it was"),
    ],
)  # fmt: skip
def test_time_decides_about_verdicts(timing: Timing, valid: bool, judged: bool, words: str) -> None:
    assert (timing.valid, timing.judged, timing.words) == (valid, judged, words)
    told = timing.document()
    shape = document.schema("scenario")
    jsonschema.validate(told, {"$defs": shape["$defs"], **shape["$defs"]["timing"]})
    json.dumps(told, allow_nan=False)


def test_time_that_jumped_once_did_so_once() -> None:
    assert "time jumped once in cm1, over 4.5 ms" in Timing({"cm1": lateness(90_000, 1)}).words


def test_one_millisecond_is_the_most() -> None:
    limit = round(MOST_P99_MS * 1e6)
    assert Timing({"cm1": lateness(limit)}).judged
    assert not Timing({"cm1": lateness(limit + 1)}).judged


def answer(count: int, jumps: int = 0) -> bytes:
    from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

    message = traffic_manager_pb2.GetLatenessResponse(
        now_ns=1, most_ns=70, bound_ns=20_000_000, jumps=jumps
    )
    message.buckets.add(upto_ns=71, count=count)
    encoded: bytes = message.SerializeToString()
    return encoded


def test_switches_are_asked_past_any_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with (
        switch(METHOD, iter([answer(3), answer(8, jumps=1)])) as one,
        switch(METHOD, None) as other,
    ):
        reader = LatenessReader({"cm1": (one, 1), "cmts1": (other, 2)})
        before = reader.read()
        assert before == {"cm1": lateness_from(answer(3)), "cmts1": None}
        timing = reader.since(before)
    told = timing.switches["cm1"]
    assert told is not None
    assert (told.events, told.jumps, timing.switches["cmts1"]) == (5, 1, None)


def test_switch_that_was_started_again_is_an_error() -> None:
    with switch(METHOD, iter([answer(3), answer(2)])) as address:
        reader = LatenessReader({"cm1": (address, 1)})
        with pytest.raises(TestbedError, match="cm1: the switch was started again"):
            reader.since(reader.read())


def test_switch_that_is_gone_is_an_error() -> None:
    with switch(METHOD, iter([])) as address:
        reader = LatenessReader({"cm1": (address, 1)})
    with pytest.raises(TestbedError, match="cm1 does not tell how late it is .*refused"):
        reader.read()


def test_machines_lateness_is_the_switches_report(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def run(*arguments: str) -> dict[str, Any]:
        asked.append(arguments)
        sleeps = {"samples": 9, "p50_ns": 40_000, "p99_ns": 300_000, "most_ns": 5_000_000}
        return {"seconds": 0.5, "realtime": None, "other": sleeps}

    monkeypatch.setattr(switch_report, "run", run)
    found = timers.measured(0.5)
    assert asked == [("bench", "timers", "--seconds", "0.5", "--json")]
    assert found["other"] == {"samples": 9, "lateness_ms": {"p50": 0.04, "p99": 0.3, "max": 5.0}}
    assert found["realtime"] is None
    assert timers.p99_ms(found) == 0.3
    assert timers.p99_ms(TIMERS) == 0.082
    assert timers.words(found) == (
        "This machine wakes a thread late by (p50 / p99 / most) 0.04 / 0.30 / 5.00 ms under the "
        "ordinary policy."
    )
    shape = document.schema("scenario")
    jsonschema.validate(found, {"$defs": shape["$defs"], **shape["$defs"]["timers"]})


@pytest.mark.parametrize(("error", "status"), [(NoVerdict, 3), (TestbedError, 1)])
def test_exit_status_tells_no_verdict_from_a_failure(
    error: type[TestbedError],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def app() -> None:
        raise error("tail: no verdict: the switch cm1 was 2.31 ms late at p99")

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == status
    assert "the switch cm1 was 2.31 ms late" in capsys.readouterr().err
