# SPDX-License-Identifier: Apache-2.0
"""Outcomes as files: the same when read again, and told where they are damaged."""

from __future__ import annotations

import dataclasses
import io
import math
import os
import stat
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outcome_files import outcome
from scenario_files import loaded, packets

from docsis_experiments.measurement.reading import Reading
from docsis_experiments.measurement.record import Packets
from docsis_experiments.measurement.service_flow_shares import Rates
from docsis_experiments.runs import files, store
from docsis_experiments.runs.outcome import PROBABILITIES, Group, Outcome
from docsis_testbed.errors import TestbedError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One whose call lost packets, and whose game sent none."""
    silent = Packets(np.zeros(0), np.zeros(0))
    found = loaded(tmp_path_factory.mktemp("scenario"))
    lossy = packets(48.0, lost_every=10)
    return outcome(
        found,
        "tail",
        50.0,
        packets={"call": lossy, "ftp": lossy, "game": silent, "steady": lossy},
        faults=("a sender was late",),
    )


def test_statistics_are_those_of_the_record(made: Outcome) -> None:
    call = made.groups["call"]
    assert call.values["latency p90"] == 48.0
    assert call.values["loss"] == pytest.approx(10, abs=0.5)
    assert 1 < call.values["mos"] < 4.5
    assert made.groups["ftp"].values["goodput"] == pytest.approx(6.0)
    assert made.groups["ftp"].values["fairness"] == pytest.approx(36 / (3 * 14))
    assert made.groups["game"].values["message-latency max"] == 70.0
    assert set(call.latency) == {48.0}
    assert len(call.latency) == len(PROBABILITIES)
    assert made.groups["game"].latency == ()
    assert math.isnan(made.groups["game"].values["latency mean"])
    assert sorted(one.value for one in made.quantities.values()) == [48.0, 48.0]
    assert made.withheld == "no verdict: a sender was late"


def test_quantiles_are_those_of_the_packets(tmp_path: Path) -> None:
    delays = np.arange(0.0, 500.0)
    sent = np.arange(0.0, 10.0, 0.02)
    groups = {name: Packets(sent, delays) for name in ("call", "ftp", "game", "steady")}
    table = outcome(loaded(tmp_path), "tail", 1.0, packets=groups).groups["call"].latency
    assert table == tuple(pytest.approx(499 * probability) for probability in PROBABILITIES)


def test_what_is_written_is_read(made: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "new" / "some.parquet"
    files.write(path, [made, made.at(2**64 - 1)])
    first, second = files.read(path)
    # NaN is equal to nothing: the files are.
    assert files.encode([first]) == files.encode([made])
    assert second.number == 2**64 - 1
    assert [one.name for one in path.parent.iterdir()] == ["some.parquet"]


def test_equal_entries_take_no_bytes_and_are_bounded(
    made: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = files.encode_rows([{**files.row(made), "faults": ["late"] * 1_000_000}])
    assert len(content) < 100_000
    monkeypatch.setattr(files, "_MOST_ENTRIES_TOGETHER", 999_999)
    with pytest.raises(TestbedError, match=r"x\.parquet: has more than 999999 entries"):
        files.decode(content, "x.parquet")


def test_equal_texts_take_the_bytes_of_one_and_are_bounded(
    made: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**files.row(made), "manager": "m" * 1_000} for _ in range(100)]
    content = files.encode_rows(rows)
    assert len(files.decode(content, "x.parquet")) == 100
    monkeypatch.setattr(files, "MOST_BYTES", 99_000)
    assert len(content) < 99_000
    with pytest.raises(TestbedError, match=r"x\.parquet: has more text than outcomes can have"):
        files.decode(content, "x.parquet")


@pytest.mark.parametrize("where", ["faults", "quantities", "groups"])
def test_a_list_that_is_too_long_is_refused_before_it_is_one(
    made: Outcome, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = files.row(made)
    long = {
        "faults": ["late"] * 2_001,
        "quantities": [{"quantity": "q", "value": 1.0, "absent": ""}] * 2_001,
        "groups": [{**row["groups"][0], "latency_ms": [1.0] * 2_001}],
    }
    content = files.encode_rows([{**row, where: long[where]}])
    monkeypatch.setattr(files, "_outcome", lambda row: pytest.fail("it became a row"))
    with pytest.raises(TestbedError, match="has an outcome with a list of 2001 entries"):
        files.decode(content, "x.parquet")


@given(
    values=st.dictionaries(st.text(max_size=20), st.floats(), max_size=5),
    rate=st.floats(0, 1e12),
    words=st.text(max_size=50),
    count=st.integers(-(2**63), 2**63 - 1),
)
def test_any_values_come_back(
    made: Outcome, values: dict[str, float], rate: float, words: str, count: int
) -> None:
    other = dataclasses.replace(
        made,
        groups={"g": Group(values, (), {words: Rates(rate, rate, rate)})},
        quantities={words: Reading(math.inf, words)},
        counters={words: count},
        faults=(words,),
    )
    try:
        content = files.encode([other])
    except UnicodeEncodeError:
        return  # half a surrogate pair is no text
    [again] = files.decode(content, "it")
    assert files.encode([again]) == content
    assert again.counters == {words: count}
    assert again.groups["g"].service_flows == {words: Rates(rate, rate, rate)}


@settings(max_examples=200)
@given(data=st.data())
def test_a_changed_byte_never_changes_an_outcome(made: Outcome, data: st.DataObject) -> None:
    content = bytearray(files.encode([made]))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    try:
        found = files.decode(bytes(content), "it")
    except files.Damaged as error:
        told = str(error)
    else:
        # What says by which program a file was written may change.
        told = "it: the same"
        assert files.encode(found) == files.encode([made])
    assert told.startswith("it: ")
    assert "\n" not in told


@given(content=st.binary(max_size=200))
def test_what_is_no_file_of_outcomes_is_told(content: bytes) -> None:
    with pytest.raises(files.Damaged, match="it: "):
        files.decode(content, "it")


def test_half_a_file_is_told(made: Outcome) -> None:
    content = files.encode([made])
    with pytest.raises(files.Damaged, match="is damaged or no file of outcomes"):
        files.decode(content[: len(content) // 2], "it")


def _rewritten(made: Outcome, name: bytes, value: bytes) -> bytes:
    table = pq.read_table(io.BytesIO(files.encode([made])))
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), name: value})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_another_version_is_told(made: Outcome) -> None:
    content = _rewritten(made, files._VERSION_KEY, b"4")
    with pytest.raises(
        files.Damaged, match="it: is of version 4, and this program reads versions 2 and 3"
    ):
        files.decode(content, "it")


def test_content_that_was_not_written_is_told(made: Outcome) -> None:
    content = _rewritten(made, files._DIGEST_KEY, b"0" * 64)
    with pytest.raises(files.Damaged, match="its content is not what was written"):
        files.decode(content, "it")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"key": "short"}, "key is none"),
        ({"digest": "no"}, "digest is none"),
        ({"seconds": math.nan}, "seconds is nan"),
        ({"buffer_ms": -1.0}, "buffer_ms is -1.0"),
        ({"faults": ("x",) * 21}, "longer words"),
        ({"withheld": "x" * 501}, "longer words"),
        ({"groups": {"g": Group({}, (1.0,))}}, "quantiles"),
        ({"groups": {"g": Group({}, (), {"f": Rates(1.0, math.nan, 1.0)})}}, "service flows"),
        ({"groups": {"g": Group({}, (), {"f": Rates(1.0, 1.0, -1.0)})}}, "service flows"),
        ({"groups": {"g": Group({}, tuple(range(len(PROBABILITIES), 0, -1)))}}, "quantiles"),
        ({"management": "{"}, "damaged"),
    ],
)
def test_what_no_outcome_can_have_is_told(
    made: Outcome, changes: dict[str, object], words: str
) -> None:
    content = files.encode([dataclasses.replace(made, **changes)])  # type: ignore[arg-type]
    with pytest.raises(files.Damaged, match=words):
        files.decode(content, "it")


def test_long_words_are_cut(tmp_path: Path) -> None:
    long = outcome(loaded(tmp_path), "tail", 50.0, faults=("x" * 1000,) * 30)
    assert [len(fault) for fault in long.faults] == [500] * 20
    assert len(long.withheld) == 500
    files.decode(files.encode([long]), "it")


def test_a_store_keeps_by_key(made: Outcome, tmp_path: Path) -> None:
    kept = store.Store(tmp_path / "kept")
    assert kept.get(made.key) is None
    kept.keep(made)
    found = kept.get(made.key)
    assert found is not None
    assert files.encode([found]) == files.encode([made])
    there, told = kept.there([made.key, "f" * 64])
    assert (list(there), told) == ([made.key], [])


def test_a_damaged_one_is_put_aside_and_told(made: Outcome, tmp_path: Path) -> None:
    kept = store.Store(tmp_path)
    kept.keep(made)
    path = kept.path(made.key)
    path.write_bytes(path.read_bytes()[:-100])
    there, told = kept.there([made.key])
    assert there == {}
    [words] = told
    assert words.startswith(f"{path}: is damaged")
    assert words.endswith("it is put aside as *.damaged, and the run is made again")
    assert [one.name for one in path.parent.iterdir()] == [f"{made.key}.parquet.damaged"]
    kept.keep(made)
    assert kept.there([made.key])[1] == []


def test_two_sittings_may_meet_the_same_damaged_file(made: Outcome, tmp_path: Path) -> None:
    """The other one puts it aside between this one's look at it and its own putting aside."""

    class Slow(store.Store):
        def get(self, key: str) -> Outcome | None:
            try:
                return super().get(key)
            finally:
                store.Store.put_aside(self.path(key))

    kept = Slow(tmp_path)
    path = kept.path(made.key)
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    assert kept.there([made.key]) == ({}, [])
    assert [one.name for one in path.parent.iterdir()] == [f"{made.key}.parquet.damaged"]
    store.Store.put_aside(path)


def test_one_that_was_made_again_meanwhile_is_not_put_aside(made: Outcome, tmp_path: Path) -> None:
    class Slow(store.Store):
        def get(self, key: str) -> Outcome | None:
            try:
                return super().get(key)
            finally:
                store.Store(tmp_path).keep(made)

    kept = Slow(tmp_path)
    path = kept.path(made.key)
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    there, told = kept.there([made.key])
    assert (list(there), told) == ([made.key], [])
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_what_a_killed_process_has_left_is_removed_a_day_later(
    made: Outcome, tmp_path: Path
) -> None:
    """But nothing that is younger, and nothing that has another name."""
    days = {
        f"ab/.{'ab' * 32}.parquet.0123456789abcdef": 1.1,
        f"ab/.{'ab' * 32}.json.fedcba9876543210": 1.1,
        ".calibration-0123456789ab.json.0123456789abcdef": 30,
        f"cd/.{'cd' * 32}.parquet.0123456789abcdef": 0.9,
        f"cd/{'cd' * 32}.parquet": 30,
        f"cd/{'cd' * 32}.parquet.damaged": 30,
        "cd/.hidden": 30,
        "cd/.hidden.0123": 30,
        "notes/.mine.txt.0123456789abcdef": 30,
    }
    for name, age in days.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
        written = time.time() - age * 86_400
        os.utime(path, (written, written))
    kept = store.Store(tmp_path)
    kept.get(made.key)
    assert all((tmp_path / name).exists() for name in days)
    kept.keep(made)
    assert [name for name in days if not (tmp_path / name).exists()] == list(days)[:3]


def test_folders_are_looked_into_once(
    made: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(files, "remove_abandoned", looked.append)
    kept = store.Store(tmp_path)
    for _ in range(3):
        kept.keep(made)
    assert looked == [tmp_path]


def test_one_under_another_name_is_not_used(made: Outcome, tmp_path: Path) -> None:
    kept = store.Store(tmp_path)
    kept.keep(made)
    other = kept.path("0" * 62 + "ff")
    other.parent.mkdir(exist_ok=True)
    kept.path(made.key).rename(other)
    with pytest.raises(files.Damaged, match="is of another key than its name says"):
        kept.get("0" * 62 + "ff")


def test_a_place_that_cannot_be_written_is_told(made: Outcome, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TestbedError, match="cannot be written"):
        store.Store(tmp_path / "file").keep(made)


def test_who_may_read_a_file_is_as_the_umask_says(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    before = os.umask(0o027)
    try:
        files.write_atomically(path, b"one")
        files.write_atomically(path, b"two")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "page.html" / "inside").mkdir(parents=True)
    with pytest.raises(TestbedError, match=r"page\.html: cannot be written"):
        files.write_atomically(tmp_path / "page.html", b"one")
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]
