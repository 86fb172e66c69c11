# SPDX-License-Identifier: Apache-2.0
"""Results as flent's data files: what is in them, and that flent itself opens and draws them."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docsis_experiments.export import flent_program
from docsis_experiments.export.flent import STEP_S, export
from docsis_p4 import Network, Results, Virtual
from docsis_testbed.errors import TestbedError

needs_flent = pytest.mark.skipif(find_spec("flent") is None, reason="flent is not installed")

PRESETS = ("drop-tail-250ms", "docsis-pie")

OPENED = """
import json, sys
from flent.resultset import load
found = load(sys.argv[1])
print(json.dumps({
    "names": found.series_names,
    "t0": str(found.meta("T0")),
    "ping": [value for _, value in found.raw_series("Ping (ms) ICMP")],
    "sum": [value for value in found.series("TCP upload sum") if value is not None],
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
    return network().run(PRESETS, seconds=6, ramp_up="2 s", on=Virtual(seed=3), results=folder)


@pytest.fixture
def copied(result: Results, tmp_path: Path) -> Path:
    """The same results, to be damaged."""
    return Path(shutil.copytree(result.folder, tmp_path / "copied"))


def content(file: Path) -> dict[str, Any]:
    with gzip.open(file, "rt") as text:
        found: dict[str, Any] = json.load(text)
    return found


def test_a_file_of_each_run_has_what_the_run_measured(result: Results, tmp_path: Path) -> None:
    files = export(result.folder, tmp_path / "files")
    assert [file.name for file in files] == [
        "street-drop-tail-250ms.flent.gz",
        "street-docsis-pie.flent.gz",
    ]
    for file, run in zip(files, result, strict=True):
        found = content(file)
        assert found["version"] == 4
        assert found["metadata"]["NAME"] == "tcp_nup"
        assert found["metadata"]["TITLE"] == run.name
        assert found["metadata"]["TEST_PARAMETERS"] == {"upload_streams": "2"}
        times = np.array(found["x_values"])
        assert times[0] == 0
        assert np.diff(times) == pytest.approx(STEP_S)
        assert all(len(values) == len(times) for values in found["results"].values())
        # Of the measured time, which is the last 6 s.
        measured = times > times[-1] - 5.9
        total = np.array(found["results"]["TCP upload sum"], float)[measured]
        assert np.nanmean(total) == pytest.approx(run["uploads"]["goodput"], rel=0.03)
        each = [np.array(found["results"][f"TCP upload::{n}"], float) for n in (1, 2)]
        assert total == pytest.approx((each[0] + each[1])[measured], abs=2e-6, nan_ok=True)
        raw = found["raw_values"]["Ping (ms) ICMP"]
        began = raw[-1]["t"] - 6
        late = [one["val"] for one in raw if one["t"] >= began]
        assert np.median(late) == pytest.approx(run["game"].latency.median, rel=0.05)
    assert "one-way latency of game, less propagation" in found["metadata"]["NOTE"]
    assert "virtual time, seed 3" in found["metadata"]["NOTE"]


def test_downstream_traffic_is_flents_download(tmp_path: Path) -> None:
    found = network().run(
        seconds=1, ramp_up="0 s", direction="downstream", results=tmp_path / "results"
    )
    [file] = export(found.folder, tmp_path)
    assert content(file)["metadata"]["NAME"] == "tcp_ndown"
    assert "TCP download::2" in content(file)["results"]


@needs_flent
def test_flent_opens_the_files(result: Results, tmp_path: Path) -> None:
    file = export(result.folder, tmp_path)[1]
    ended = subprocess.run(
        [sys.executable, "-c", OPENED, file], capture_output=True, text=True, check=True
    )
    seen = json.loads(ended.stdout)
    found = content(file)
    assert {"TCP upload::1", "TCP upload sum", "Ping (ms) ICMP"} <= set(seen["names"])
    assert seen["times"] == found["x_values"]
    assert seen["ping"] == [one["val"] for one in found["raw_values"]["Ping (ms) ICMP"]]
    assert len(seen["sum"]) > 20
    assert seen["t0"].replace(" ", "T") == found["metadata"]["T0"].removesuffix("Z").removesuffix(
        ".000000"
    )


@needs_flent
def test_flent_draws_them_and_says_which_plot_it_has_not(result: Results, tmp_path: Path) -> None:
    files = export(result.folder, tmp_path)
    program = flent_program.find()
    picture = flent_program.draw(program, "ping_cdf", files, tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(TestbedError, match="flent did not draw nonsense: .*nonsense"):
        flent_program.draw(program, "nonsense", files, tmp_path)
    with pytest.raises(TestbedError, match=r'"\.\./x" is no name of a plot'):
        flent_program.draw(program, "../x", files, tmp_path)


def test_a_flent_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match="flent is not there, .*install it with `pip install fl"):
        flent_program.find()


def test_files_that_are_there_stay(result: Results, tmp_path: Path) -> None:
    there = tmp_path / "street-docsis-pie.flent.gz"
    there.write_bytes(b"mine")
    with pytest.raises(TestbedError, match="is there already; name another folder with --output"):
        export(result.folder, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [there.name]
    assert there.read_bytes() == b"mine"


DAMAGES = [
    ("summary.json", "{", "is damaged"),
    ("details.json", '{"started": "yesterday"}', "details.json: is damaged"),
    ("details.json", None, "details.json: cannot be read"),
    ("runs/docsis-pie/goodput.csv", None, "goodput.csv: cannot be read"),
    ("runs/docsis-pie/goodput.csv", "time_s,a_bytes\n1,x\n", "goodput.csv: is damaged"),
    ("runs/docsis-pie/goodput.csv", "a_bytes\n1\n", "has no column time_s"),
    ("runs/docsis-pie/packets.csv", "group,time_s\na,1\n", "has no column one_way_delay_ms"),
    ("runs/docsis-pie/packets.csv", "group,time_s,one_way_delay_ms\na,1e9,1\n", "than a day"),
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


def test_many_runs_have_no_course_over_time(tmp_path: Path) -> None:
    found = network().run(seconds=1, ramp_up="0 s", on=Virtual(seeds=1), results=tmp_path / "many")
    with pytest.raises(TestbedError, match="is of many runs, of which no course over time is kept"):
        export(found.folder, tmp_path)
    with pytest.raises(TestbedError, match="there is no such folder"):
        export(tmp_path / "nothing", tmp_path)
