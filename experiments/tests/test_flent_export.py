# SPDX-License-Identifier: Apache-2.0
"""Results as flent's data files: what is in them, and that flent itself opens and draws them."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docsis_experiments.export.flent import export
from docsis_experiments.export.flent_document import MARGIN_S, STEP_S
from docsis_p4 import Network, Results, Run, Virtual, read
from docsis_testbed.errors import TestbedError

needs_flent = pytest.mark.skipif(find_spec("flent") is None, reason="flent is not installed")

SECONDS = 6.0
PRESETS = ("drop-tail-250ms", "docsis-pie")

# flent is under the GPL, so it runs in a process of its own, as a user would run it.
OPENED = """
import json, sys
from flent.resultset import load
found = load(sys.argv[1])
print(json.dumps({
    "names": found.series_names,
    "t0": str(found.meta("T0")),
    "ping": list(found.raw_series("Ping (ms) ICMP")),
    "results": {name: found.series(name) for name in found.series_names},
    "times": found.x_values,
    "note": found.meta("NOTE"),
}))
"""


def network() -> Network:
    street = Network("street", tier="cable-20")
    street.add_host("laptop")
    street.add_server("near", round_trip_time="20 ms")
    street.add_traffic("uploads", "transfer", count=2)
    street.add_traffic("game", "voip")
    return street


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results")
    return network().run(
        PRESETS, seconds=SECONDS, ramp_up="2 s", on=Virtual(seed=3), results=folder
    )


@pytest.fixture
def copied(result: Results, tmp_path: Path) -> Path:
    """The same results, to be damaged."""
    return Path(shutil.copytree(result.folder, tmp_path / "copied"))


def content(file: Path) -> dict[str, Any]:
    with gzip.open(file, "rt") as text:
        found: dict[str, Any] = json.load(text)
    return found


def check_series(found: dict[str, Any], run: Run) -> None:
    """Compares a file's series with the metrics of its run, which come from the packets."""
    times = np.array(found["x_values"])
    assert times[0] == 0
    assert np.diff(times) == pytest.approx(STEP_S)
    assert all(len(values) == len(times) for values in found["results"].values())
    measured = (times > MARGIN_S + STEP_S / 2) & (times < MARGIN_S + SECONDS + STEP_S / 2)
    series = {name: np.array(values, float) for name, values in found["results"].items()}
    # Steps fill the measured time, so their mean is the goodput but for where samples are taken.
    total = series["TCP upload sum"][measured]
    assert total.size == round(SECONDS / STEP_S)
    assert total.mean() == pytest.approx(run["uploads"]["goodput"], rel=0.005)
    each = [series[f"TCP upload::{number}"][measured] for number in (1, 2)]
    assert each[0] + each[1] == pytest.approx(total, abs=2e-6)
    assert series["TCP upload avg"][measured] == pytest.approx(total / 2, abs=2e-6)
    fairness = total**2 / (2 * (each[0] ** 2 + each[1] ** 2))
    assert series["TCP upload fairness"][measured] == pytest.approx(fairness, abs=1e-5)


def test_a_file_of_each_run_has_what_the_run_measured(result: Results, tmp_path: Path) -> None:
    written = export(result.folder, tmp_path / "files")
    assert written.picture is None
    assert [file.name for file in written.files] == [
        "street-drop-tail-250ms.flent.gz",
        "street-docsis-pie.flent.gz",
    ]
    for file, run in zip(written.files, result, strict=True):
        found = content(file)
        assert found["version"] == 4
        meta = found["metadata"]
        assert (meta["NAME"], meta["TITLE"]) == ("tcp_nup", run.name)
        assert meta["TEST_PARAMETERS"] == {"upload_streams": "2"}
        assert (meta["LENGTH"], meta["TOTAL_LENGTH"]) == (SECONDS, SECONDS + 2 * MARGIN_S)
        assert "Ping is the one-way latency of game, less propagation." in meta["NOTE"]
        assert "virtual time, seed 3" in meta["NOTE"]
        check_series(found, run)


def test_downstream_traffic_is_flents_download(tmp_path: Path) -> None:
    found = network().run(
        seconds=1, ramp_up="0 s", direction="downstream", results=tmp_path / "results"
    )
    [file] = export(found.folder, tmp_path).files
    assert content(file)["metadata"]["NAME"] == "tcp_ndown"
    assert "TCP download::2" in content(file)["results"]


def test_what_goes_downstream_is_no_upload(tmp_path: Path) -> None:
    street = network()
    street.add_traffic("readers", "web", count=2)
    found = street.run(seconds=2, ramp_up="1 s", on=Virtual(seed=1), results=tmp_path / "results")
    [file] = found.export_flent(tmp_path / "files")
    series = content(file)["results"]
    assert [name for name in series if "::" in name] == ["TCP upload::1", "TCP upload::2"]
    note = content(file)["metadata"]["NOTE"]
    assert "Downstream flows are left out: readers-1, readers-2." in note


@needs_flent
def test_flent_opens_the_files(result: Results, tmp_path: Path) -> None:
    file = export(result.folder, tmp_path).files[1]
    ended = subprocess.run(
        [sys.executable, "-c", OPENED, file], capture_output=True, text=True, check=True
    )
    seen = json.loads(ended.stdout)
    written = content(file)
    assert seen["note"] == written["metadata"]["NOTE"]
    assert seen["t0"].replace(" ", "T")[:19] == written["metadata"]["T0"][:19]
    # What flent reads is held against the run's own metrics, not only against the file.
    check_series({"x_values": seen["times"], "results": seen["results"]}, result["docsis-pie"])
    # flent subtracts T0 from the raw values' clock, and its distributions leave the margins out.
    measured = [value for at, value in seen["ping"] if MARGIN_S <= at < MARGIN_S + SECONDS]
    latency = result["docsis-pie"]["game"].latency
    for probability in (0.1, 0.5, 0.9):
        assert np.quantile(measured, probability) == pytest.approx(
            latency.quantile(probability), rel=0.01, abs=0.05
        )


@needs_flent
def test_flent_draws_them(result: Results, tmp_path: Path) -> None:
    written = export(result.folder, tmp_path, plot="ping_cdf")
    assert written.picture == tmp_path / "ping_cdf.png"
    assert written.picture.read_bytes().startswith(b"\x89PNG")


@needs_flent
def test_a_plot_that_flent_does_not_have_leaves_no_files(result: Results, tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="flent did not draw nonsense: .*nonsense"):
        export(result.folder, tmp_path / "files", plot="nonsense")
    assert not (tmp_path / "files").exists()


def test_a_plot_is_a_name(result: Results, tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r'"\.\./x" is not a name of a plot'):
        export(result.folder, tmp_path / "files", plot="../x")
    assert not (tmp_path / "files").exists()


def test_a_missing_flent_is_told(
    result: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match="flent is missing, .*install it with `pip install fl"):
        export(result.folder, tmp_path / "files", plot="ping_cdf")
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("name", ["street-docsis-pie.flent.gz", "ping_cdf.png"])
@needs_flent
def test_files_that_exist_stay(result: Results, tmp_path: Path, name: str) -> None:
    there = tmp_path / name
    there.write_bytes(b"mine")
    with pytest.raises(TestbedError, match="exists already; name another folder with --output"):
        export(result.folder, tmp_path, plot="ping_cdf")
    assert [path.name for path in tmp_path.iterdir()] == [there.name]
    assert there.read_bytes() == b"mine"


def test_a_folder_that_cannot_be_written_is_told(result: Results, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TestbedError, match=r"cannot be written \(Not a directory\)"):
        export(result.folder, tmp_path / "file" / "files")


def test_a_failure_half_way_leaves_no_files(
    result: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []

    def full(_: gzip.GzipFile, data: bytes) -> int:
        written.append(data)
        if len(written) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)

    monkeypatch.setattr(gzip.GzipFile, "write", full)
    with pytest.raises(TestbedError, match=r"cannot be written \(No space left on device\)"):
        export(result.folder, tmp_path / "files")
    assert len(written) == 2
    assert not (tmp_path / "files").exists()


def test_runs_without_a_verdict_say_so(copied: Path, tmp_path: Path) -> None:
    summary = json.loads((copied / "summary.json").read_text())
    summary["runs"][0]["faults"] = ["a switch died"]
    (copied / "summary.json").write_text(json.dumps(summary))
    file = export(copied, tmp_path / "files").files[0]
    assert "The run gets no verdict: a switch died." in content(file)["metadata"]["NOTE"]


DAMAGES = [
    ("summary.json", "{", "is damaged"),
    ("details.json", '{"started": "yesterday", "plans": {}}', "details.json: is damaged"),
    ("details.json", '{"started": "2026-11-23"}', "it has no plans"),
    ("details.json", '{"started": "2026-11-23", "plans": [1]}', "details.json: is damaged"),
    ("details.json", '{"started": "9999-12-30", "plans": {}}', "was started in the year 9999"),
    ("details.json", '{"started": "0001-01-01", "plans": {}}', "details.json: is damaged"),
    ("details.json", None, "details.json: cannot be read"),
    ("runs/docsis-pie/goodput.csv", None, "goodput.csv: cannot be read"),
    ("runs/docsis-pie/goodput.csv", "time_s,a_bytes\n1,x\n", "goodput.csv: is damaged"),
    ("runs/docsis-pie/goodput.csv", "a_bytes\n1\n", "has no column time_s"),
    ("runs/docsis-pie/packets.csv", "group,time_s\na,1\n", "has no column one_way_delay_ms"),
]


@pytest.mark.parametrize(("name", "text", "sentence"), DAMAGES)
def test_what_cannot_be_used_is_said_and_nothing_is_written(
    copied: Path, tmp_path: Path, name: str, text: str | None, sentence: str
) -> None:
    if text is None:
        (copied / name).unlink()
    else:
        (copied / name).write_text(text)
    with pytest.raises(TestbedError, match=sentence) as refused:
        export(copied, tmp_path / "files")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize(
    ("key", "number", "sentence"),
    [
        ("ramp_up_seconds", "1e300", "had a ramp-up of more than a day, or is damaged"),
        ("ramp_up_seconds", "NaN", "summary.json: is damaged .NaN is not finite"),
        ("measured_seconds", "1e999", "summary.json: is damaged .1e999 is not finite"),
        ("measured_seconds", "1" * 400, "summary.json: is damaged .1+... has more than 64 bits"),
    ],
)
def test_numbers_that_no_result_has_are_said(
    copied: Path, tmp_path: Path, key: str, number: str, sentence: str
) -> None:
    summary = json.loads((copied / "summary.json").read_text())
    text = json.dumps({**summary, key: "here"}).replace('"here"', number)
    (copied / "summary.json").write_text(text)
    with pytest.raises(TestbedError, match=sentence):
        export(copied, tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_a_summary_from_before_its_parts_is_exported_and_read(copied: Path, tmp_path: Path) -> None:
    """Keys that the schema does not require may be missing."""
    summary = json.loads((copied / "summary.json").read_text())
    for key in ("tier", "seed"):
        del summary[key]
    for run in summary["runs"]:
        for key in ("name", "direction", "faults", "timing"):
            run.pop(key, None)
    (copied / "summary.json").write_text(json.dumps(summary))
    files = export(copied, tmp_path / "files").files
    assert [content(file)["metadata"]["TITLE"] for file in files] == [
        run["label"] for run in summary["runs"]
    ]
    assert len(read(copied)) == 2


def test_times_are_the_same_wherever_they_are_exported(
    result: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for zone in ("UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        file, *_ = export(result.folder, tmp_path / zone).files
        found.append(content(file)["metadata"]["T0"])
    monkeypatch.undo()
    time.tzset()
    assert found[0] == found[1]


def test_many_runs_have_no_samples_over_time(tmp_path: Path) -> None:
    found = network().run(seconds=1, ramp_up="0 s", on=Virtual(seeds=1), results=tmp_path / "many")
    with pytest.raises(TestbedError, match="has many runs, of which no samples over time are kept"):
        export(found.folder, tmp_path)
    with pytest.raises(TestbedError, match="there is no such folder"):
        export(tmp_path / "nothing", tmp_path)


def test_a_run_without_samples_is_refused(copied: Path, tmp_path: Path) -> None:
    samples = copied / "runs" / "docsis-pie"
    (samples / "goodput.csv").write_text("time_s\n")
    (samples / "packets.csv").write_text("group,time_s,one_way_delay_ms\n")
    with pytest.raises(TestbedError, match="has no samples over time of transfers or latency"):
        export(copied, tmp_path / "files")


def test_more_than_flent_could_hold_is_refused(copied: Path, tmp_path: Path) -> None:
    summary = json.loads((copied / "summary.json").read_text())
    for seconds, sentence in ((1e6, "more than a day"), (80_000, "more than 20000000 values")):
        (copied / "summary.json").write_text(json.dumps({**summary, "measured_seconds": seconds}))
        names = ",".join(f"a{number}_bytes" for number in range(60))
        for run in (copied / "runs").iterdir():
            (run / "goodput.csv").write_text(f"time_s,{names}\n0{',1' * 60}\n")
        with pytest.raises(TestbedError, match=sentence):
            export(copied, tmp_path / "files")


def test_latency_before_and_after_the_axis_is_left_out(copied: Path, tmp_path: Path) -> None:
    for run in (copied / "runs").iterdir():
        lines = "a,-1e9,1\na,0.05,3\na,0.15,5\na,0.3,\na,0.35,inf\na,1e9,1\n"
        (run / "packets.csv").write_text(f"group,time_s,one_way_delay_ms\n{lines}")
    found = content(export(copied, tmp_path / "files").files[0])
    assert [one["val"] for one in found["raw_values"]["Ping (ms) ICMP"]] == [3, 5]
    pings = dict(zip(found["x_values"], found["results"]["Ping (ms) ICMP"], strict=True))
    # Their mean stands at the end of their step.
    assert {at: value for at, value in pings.items() if value is not None} == {5.2: 4.0}
