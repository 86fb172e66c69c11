# SPDX-License-Identifier: Apache-2.0
"""What cannot be kept or published is refused before anything is made, and nothing is lost."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from toy_rows.made import catalogue, toys
from toy_rows.pages import content, entry

from docsis_experiments.reproduction import earlier, job, outcomes
from docsis_experiments.reproduction.job import Bench
from docsis_experiments.reproduction.making import Done, Player, Processes
from docsis_experiments.reproduction.page import html
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Level, Row, Work
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.writing import publish
from docsis_experiments.runs.store import Store
from docsis_testbed.errors import TestbedError

pytest_plugins = ["in_this_process", "unmeasured"]
pytestmark = pytest.mark.usefixtures("in_this_process", "unmeasured")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


def test_a_page_of_somebody_else_is_left_as_it_is(rows: dict[str, Row], tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_bytes(b"<p>theirs</p>")
    with pytest.raises(TestbedError, match=r"index\.html: is there without .* move it away, or"):
        publish(content([entry(rows, "000-A1")]), tmp_path)
    assert page.read_bytes() == b"<p>theirs</p>"
    assert [one.name for one in tmp_path.iterdir()] == ["index.html"]


def uncalled(works: Sequence[Work]) -> Generator[Done, None, None]:
    """A player that must not be asked for anything."""
    pytest.fail(f"{len(works)} works were to be made")
    yield


def sit(
    rows: dict[str, Row],
    folder: Path,
    publish: Path | None = None,
    player: Player = uncalled,
    told: io.StringIO | None = None,
) -> None:
    """A sitting of one row in a folder that has what is kept, and the results."""
    bench = Bench(rows, catalogue(), Shelf(Store(folder / "kept")), results=folder / "results")
    request = Request(("000-B1",), Level.STUDY, publish=publish)
    request.check()
    console = Console(quiet=True) if told is None else Console(file=told, width=200)
    job.run(request, player=player, jobs=1, console=console, bench=bench)


def test_a_verdict_that_gives_way_is_told(rows: dict[str, Row], tmp_path: Path) -> None:
    site = tmp_path / "site"
    sit(rows, tmp_path, site, Processes(1))
    written = json.loads((site / "results.json").read_text())
    [row] = written["rows"]
    row["standing"] = "verdict"
    for judged in (row, *row["readings"]):
        judged["hash"] = "0123456789ab"
        judged["standing"] = "verdict"
    (site / "results.json").write_text(json.dumps(written))
    told = io.StringIO()
    sit(rows, tmp_path, site, told=told)
    assert "000-B1: the page had a verdict by an earlier rule. Today's rule" in told.getvalue()
    told = io.StringIO()
    sit(rows, tmp_path, site, told=told)
    assert "earlier rule" not in told.getvalue()


def of_another_version(rows: dict[str, Row]) -> str:
    return json.dumps({**content([entry(rows, "000-A1")]), "version": 9})


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ({"index.html": "theirs"}, r"index\.html: is there without results\.json"),
        ({"results.json": '{"mine": 1}'}, r"results\.json: is no results\.json of docsis-p4"),
        ({"results.json": ""}, r"results\.json: is of version 9"),
    ],
)
def test_a_folder_with_something_else_is_refused_at_once(
    rows: dict[str, Row], tmp_path: Path, there: dict[str, str], words: str
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    written = {name: text or of_another_version(rows) for name, text in there.items()}
    for name, text in written.items():
        (site / name).write_text(text)
    with pytest.raises(TestbedError, match=words):
        sit(rows, tmp_path, site)
    assert {one.name: one.read_text() for one in site.iterdir()} == written


def test_a_folder_that_cannot_be_made_is_refused_at_once(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("theirs")
    for place in (tmp_path / "file", tmp_path / "file" / "in", Path("/proc/nothing")):
        with pytest.raises(TestbedError, match=f"--publish {place}: nothing can be written there"):
            sit(rows, tmp_path, place)
    assert (tmp_path / "file").read_text() == "theirs"


@pytest.mark.parametrize("option", ["note", "since", "publish"])
def test_a_text_that_is_no_utf_8_is_refused_at_once(tmp_path: Path, option: str) -> None:
    """An argument in Latin-1 has surrogates in Python."""
    text = b"f\xfcr".decode(errors="surrogateescape")
    request = Request(level=Level.STUDY, **{option: text if option == "note" else Path(text)})  # type: ignore[arg-type]
    with pytest.raises(TestbedError, match=rf"^--{option} f\\xfcr: is not UTF-8"):
        request.check()


def test_outcomes_that_cannot_be_kept_are_told_at_once(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    file = outcomes.path(Shelf(Store(tmp_path / "kept")))
    file.parent.mkdir()
    # The folder that the link leads to is not there, so that not even root can write it.
    file.symlink_to(tmp_path / "none" / "file")
    with pytest.raises(TestbedError, match="outcomes cannot be added to it .*; make it writable"):
        sit(rows, tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(TestbedError, match=r"reproduced\.jsonl: cannot be read"):
        sit(rows, tmp_path)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("becomes", ["a folder", "a link to nothing"])
def test_the_page_is_written_though_outcomes_are_not_kept(
    rows: dict[str, Row], tmp_path: Path, becomes: str
) -> None:
    file = outcomes.path(Shelf(Store(tmp_path / "kept")))

    def player(works: Sequence[Work]) -> Generator[Done, None, None]:
        yield from Processes(1)(works)
        file.unlink()
        if becomes == "a folder":
            file.mkdir()
        else:
            file.symlink_to(tmp_path / "none" / "file")

    with pytest.raises(TestbedError, match="the page is written, and its outcomes are not kept: "):
        sit(rows, tmp_path, tmp_path / "site", player)
    [folder] = (tmp_path / "results").iterdir()
    assert (folder / "report.html").is_file()
    assert (tmp_path / "site" / "index.html").is_file()


def reading(found: dict[str, Any]) -> dict[str, Any]:
    one: dict[str, Any] = found["rows"][0]["readings"][0]
    return one


Change = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: reading(x)["parts"][0].update(value=float("nan")), "NaN is not finite"),
        (lambda x: reading(x)["parts"][0].update(high=float("inf")), "Infinity is not finite"),
        (lambda x: x["rows"][0].update(done="\ud800"), "half of a surrogate pair"),
        (lambda x: x["made"].update(date="yesterday"), r"made\.date: 'yesterday' is no date and t"),
        (lambda x: x["rows"][0]["made"].update(date=""), r"rows\.0\.made\.date: "),
        (
            lambda x: reading(x)["made"].update(date="2026-11-27T10:00:00"),
            r"rows\.0\.readings\.0\.made\.date: '2026-11-27T10:00:00' is no .* with a time zone",
        ),
        (lambda x: x["figures"][0]["made"].update(date="2026"), r"figures\.0\.made\.date: "),
        (lambda x: x["rows"][0]["history"][0].update(date="\n"), r"rows\.0\.history\.0\.date: "),
        (lambda x: x["since"]["made"].update(date="x"), r"since\.made\.date: "),
        # The shape of these is right, and no page can be made of them.
        (
            lambda x: x["figures"][0]["panels"][0]["lines"][0].update(y=[1, 2, 3, 4]),
            "no page can be made with it",
        ),
    ],
)
def test_results_that_no_page_can_have_are_left_as_they_are(
    rows: dict[str, Row], tmp_path: Path, change: Change, words: str
) -> None:
    before = content([entry(rows, "000-A1")])
    before["since"] = earlier.since(copy.deepcopy(before), before["rows"], "before.json")
    before["rows"][0]["history"] = [
        {"state": "undecided", "standing": "verdict", "level": "full", "stage": "virtual",
         "hash": "0", "date": "2026-11-22T12:00:00+00:00", "commit": "0", "why": ""}
    ]  # fmt: skip
    file, page = tmp_path / "results.json", tmp_path / "index.html"
    file.write_text(json.dumps(before))
    before = earlier.read(file)
    change(before)
    file.write_text(json.dumps(before))
    page.write_text("the page")
    found, of = file.read_bytes(), content([entry(rows, "000-A2")])
    of["figures"] = []
    with pytest.raises(TestbedError, match=rf"^{tmp_path}/results\.json: .*{words}"):
        publish(of, tmp_path)
    assert (file.read_bytes(), page.read_text()) == (found, "the page")


def test_neither_file_is_written_where_the_page_cannot_be_made(
    rows: dict[str, Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(content: object) -> str:
        raise KeyError("no such value")

    monkeypatch.setattr(html, "text", broken)
    with pytest.raises(KeyError, match="no such value"):
        publish(content([entry(rows, "000-A1")]), tmp_path)
    assert list(tmp_path.iterdir()) == []
