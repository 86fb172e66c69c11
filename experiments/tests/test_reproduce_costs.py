# SPDX-License-Identifier: Apache-2.0
"""Costs of works: what is known of them first, and then what follows from others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_rows.made import toys

from docsis_experiments.reproduction.costs import calibration
from docsis_experiments.reproduction.costs.estimate import core_time, estimate
from docsis_experiments.reproduction.costs.features import NAMES, Features, Reader
from docsis_experiments.reproduction.costs.ledger import FILE, Cost, Ledger
from docsis_experiments.reproduction.costs.model import Model
from docsis_experiments.reproduction.making import Account
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.row import Asked, Draws, Level, Row, Run
from docsis_experiments.reproduction.rows import rows as shipped_rows
from docsis_experiments.reproduction.tables import accuracy


def features(condition: str, family: str = "", **values: float) -> Features:
    return Features(condition, family or condition, {"start": 1.0, **values})


def test_the_model_finds_what_costs_are_made_of() -> None:
    costs = [
        Cost(features(f"{t}{f}{m}", virtual_seconds=t, frames=f, mac_seconds=m),
             0.5 + 0.02 * t + 3e-6 * f + 0.01 * m)
        for t in (1.0, 10.0, 100.0) for f in (1e3, 1e5, 1e6) for m in (0.0, t)
    ]  # fmt: skip
    model = Model(costs, {})
    asked = features("new", virtual_seconds=50.0, frames=5e5, mac_seconds=50.0)
    assert model.seconds(asked) == pytest.approx(0.5 + 1.0 + 1.5 + 0.5, rel=0.01)


def test_what_is_known_goes_before_what_follows() -> None:
    known = {
        "same": Cost(features("same", "f", virtual_seconds=10.0), 4.0),
        "long": Cost(features("long", "g", virtual_seconds=100.0), 20.0),
    }
    model = Model([], known)
    assert model.seconds(features("same", "f", virtual_seconds=10.0)) == 4.0
    start = model.coefficients["start"]
    half = model.seconds(features("half", "g", virtual_seconds=50.0))
    assert half == pytest.approx(start + (20.0 - start) / 2)


@given(
    st.lists(
        st.tuples(*[st.floats(0, 1e6, allow_subnormal=False) for _ in NAMES], st.floats(0, 1e5)),
        max_size=8,
    )
)
def test_no_cost_is_negative(entries: list[tuple[float, ...]]) -> None:
    costs = [
        Cost(Features(str(n), str(n), dict(zip(NAMES, entry[:-1], strict=True))), entry[-1])
        for n, entry in enumerate(entries)
    ]
    model = Model(costs, {cost.features.condition: cost for cost in costs[:2]})
    for cost in costs:
        assert model.seconds(cost.features) >= 0
        assert model.seconds(Features("new", "new", cost.features.values)) >= 0


def test_the_ledger_is_read_again(tmp_path: Path) -> None:
    one = features("a", virtual_seconds=2.0)
    ledger = Ledger(tmp_path)
    ledger.note(one, 3.0)
    ledger.note(features("b"), 1.0)
    again = Ledger(tmp_path)
    assert again.costs == ledger.costs
    assert again.costs["a"] == Cost(one, 3.0)
    again.note(one, 4.0)
    assert 3.0 < again.costs["a"].seconds < 4.0


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"machine": 1}', b'{"seconds": -1}', b"null", b"[" * 99999],
)
def test_a_damaged_line_says_nothing(tmp_path: Path, line: bytes) -> None:
    Ledger(tmp_path).note(features("a"), 3.0)
    with (tmp_path / FILE).open("ab") as file:
        file.write(line + b"\n")
    ledger = Ledger(tmp_path)
    ledger.note(features("b"), 1.0)
    assert set(Ledger(tmp_path).costs) == {"a", "b"}


def test_another_machine_says_nothing(tmp_path: Path) -> None:
    Ledger(tmp_path).note(features("a"), 3.0)
    path = tmp_path / FILE
    path.write_text(path.read_text().replace('"machine":"', '"machine":"another '))
    assert Ledger(tmp_path).costs == {}


def test_features_of_a_run(tmp_path: Path) -> None:
    plan = Plan()
    plan.add(toys(tmp_path)["000-A2"], Asked(Level.STUDY, 1, (1, 2)))
    read = Reader()
    runs = [work for work in plan.works.values() if isinstance(work, Run)]
    found = [read.of(run) for run in runs]
    tail, codel = found[0], found[2]
    # The same condition from another seed; another manager is another family.
    assert found[1] == tail
    assert codel.condition != tail.condition
    assert codel.family != tail.family
    assert tail.values["virtual_seconds"] == pytest.approx(5.5, abs=1.5)
    assert tail.values["mac_seconds"] == 0
    assert tail.values["frames"] > 0


def test_features_of_draws() -> None:
    words = ("drops", "--frames", "1000", "--drop-prob", "0.1", "--drop-prob", "0.2", "--seed")
    one, other = (Reader().of(Draws("x", (*words, str(seed)), seed)) for seed in (1, 2))
    assert one == other
    assert one.values == {"decisions": 2000.0, "sessions": 0.0}
    longer = Reader().of(Draws("x", ("drops", "--frames", "9", *words[3:], "1"), 1))
    assert longer.family == one.family
    assert longer.condition != one.condition


def test_a_work_that_rows_share_is_counted_once(tmp_path: Path) -> None:
    rows, plan = toys(tmp_path), Plan()
    for name in ("000-A1", "000-A2", "001-C2"):
        plan.add(rows[name], Asked(Level.STUDY, 1, (1, 2)))
    read = Reader()
    known = {read.of(work).condition: Cost(read.of(work), 2.0) for work in plan.works.values()}
    there = list(plan.works)[:1]
    found = estimate(plan, frozenset(plan.works) - {*there}, Model([], known))
    one, two, untold = found.rows
    assert (one.works, one.alone, one.shared, one.missing) == (2, 4.0, 4.0, 2.0)
    assert (two.works, two.alone, two.shared, two.missing) == (4, 8.0, 4.0, 6.0)
    assert untold.problem == "there is no workload web"
    assert (found.total, found.missing) == (8.0, 6.0)


def test_accuracy_is_told() -> None:
    account = Account(made={"a", "b", "c"}, seconds=100.0, estimated=120.0)
    assert accuracy(account).endswith("of a processor; the estimate was 2 min, 20% more.")
    said = [core_time(seconds) for seconds in (1.25, 40.0, 600.0, 7200.0)]
    assert said == ["1.2 s", "40 s", "10 min", "2.0 h"]


def _runs_of(row: Row) -> dict[str, Run]:
    works = row.works(Asked(Level.STUDY, 1, (1,)))
    return {work.label: work for work in works if isinstance(work, Run)}


def test_windows_bound_the_frames_of_transfers() -> None:
    runs = _runs_of(shipped_rows()["001-T1"])
    read = Reader()
    rates = {}
    for label, run in runs.items():
        scenario, topology = run.unit.loaded.scenario, run.unit.loaded.topology
        window = scenario.tcp.receive_window
        assert window is not None
        round_trip = min(server.round_trip_time for server in topology.servers)
        values = read.of(run).values
        rates[label] = values["frames"] / values["virtual_seconds"]
        flows = sum(getattr(group, "count", 1) for group in scenario.traffic)
        most = flows * window * 8e9 / round_trip / (1518 * 8)
        assert rates[label] <= most * 1.001, label
    # 8 KB in 200 ms are 27 frames a second; a link of 1 Gbit/s would carry 82,000.
    assert min(rates.values()) < 100


def test_each_modem_has_a_cost() -> None:
    runs = _runs_of(shipped_rows()["004-F8"])
    found = {label: Reader().of(run).values for label, run in runs.items()}
    modems = {
        round(values["modem_seconds"] / values["virtual_seconds"]) for values in found.values()
    }
    assert modems >= {100, 300, 500}


def test_frames_are_of_the_time_with_traffic() -> None:
    """Between the last packet and the end of a run there are none."""
    short, long, *_ = (Reader().of(run).values["frames"] for run in calibration._runs())
    assert long / short == pytest.approx((2 + 100) / (0.1 + 1))
