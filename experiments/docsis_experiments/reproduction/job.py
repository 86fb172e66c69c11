# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 reproduce`: collects works, makes what is not there, judges, and writes the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from docsis_control.config.errors import ConfigError
from docsis_experiments.reproduction import asking, collecting, outcomes, tables
from docsis_experiments.reproduction.catalogue.rule import Rule
from docsis_experiments.reproduction.circumstances import Circumstances, now
from docsis_experiments.reproduction.costs import calibration
from docsis_experiments.reproduction.costs.estimate import Estimate, core_time
from docsis_experiments.reproduction.costs.estimate import estimate as estimated
from docsis_experiments.reproduction.costs.ledger import Ledger
from docsis_experiments.reproduction.costs.model import Model
from docsis_experiments.reproduction.figure import Figures
from docsis_experiments.reproduction.making import Account, Player, make
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.problems import problems_of
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.showing import making_shown, tell
from docsis_experiments.reproduction.sitting import Sitting
from docsis_experiments.reproduction.writing import check_appended, check_place, write
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar


@dataclass(frozen=True)
class Bench:
    """The tools of a job.

    Attributes:
        rows: Those that can be measured, by their ids.
        registered: The catalogue, by the rows' ids.
        shelf: Where what is made is kept.
        figures: Functions that draw, each with the ids of its rows.
        results: Folder that gets the sitting's folder.
    """

    rows: Mapping[str, Row]
    registered: Mapping[str, Rule]
    shelf: Shelf
    figures: Mapping[Figures, tuple[str, ...]] = field(default_factory=dict)
    results: Path = RESULTS


def shipped() -> Bench:
    """All rows that there are, the registered catalogue, and where results are kept.

    Raises:
        TestbedError: A rule cannot be used.
    """
    from docsis_experiments.reproduction.catalogue.loader import registered_rules
    from docsis_experiments.reproduction.rows import figures, rows

    try:
        registered = registered_rules()
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    return Bench(rows(), registered, Shelf(), figures())


def estimate(request: Request, *, jobs: int, console: Console, bench: Bench) -> None:
    """Tells what each row costs, at the level that is asked for, or at each.

    Args:
        request: What is asked for.
        jobs: Processes that measure this machine, where it was not yet.
        console: Where it is told.
        bench: What the job works with.

    Raises:
        TestbedError: There is no such row, or nothing can be measured.
    """
    names = _names(request, bench)
    model, _ = _model(bench.shelf, jobs, console)
    levels = list(Level) if request.level is None else [request.level]
    found: dict[Level, Estimate] = {}
    for level in levels:
        plan = _plan(request.at(level), names, bench, console)
        missing = _missing(plan, bench.shelf, console)
        found[level] = estimated(plan, frozenset(missing.works), model)
    console.print(tables.costs(found))
    for words in tables.not_run(found):
        tell(console, words)


def run(
    request: Request, *, player: Player | None, jobs: int, console: Console, bench: Bench
) -> Path:
    """Makes what is asked for, as far as it is not there, judges it, and writes the page.

    Args:
        request: What is asked for.
        player: Makes it; None where only what is there is told.
        jobs: Processes that measure this machine, where it was not yet.
        console: Where progress and the table go.
        bench: What the job works with.

    Returns:
        The sitting's folder.

    Raises:
        TestbedError: There is no such row, an earlier result cannot be used, or what comes of rows
            could not be kept or published, all of which is told before anything is made; or works
            failed, outcomes were not kept, or a row that was asked for by name has a problem (what
            came of the others is written).
    """
    names = _names(request, bench)
    earlier = outcomes.earlier(request)
    _check_places(request, player, bench)
    made = now(request.stage)
    plan = _plan(request, names, bench, console)
    if other := collecting.other_version(bench.shelf, request.stage):
        tell(console, other)
    account = Account()
    missing = _missing(plan, bench.shelf, console)
    _make(request, plan, missing, player, jobs, console, bench, account)
    kept = collecting.add_kept_readings(plan, request, bench.rows, bench.registered, bench.shelf)
    for words in kept:
        tell(console, words)
    sitting = Sitting(request, names, plan, account, made)
    done = outcomes.judged(sitting, bench.rows, bench.registered, bench.shelf)
    unextended = _extend(request, done, player, jobs, console, bench, made, account)
    try:
        told, not_kept = outcomes.keep(done, request, made, bench.shelf), None
    except TestbedError as error:
        # The page of all that was made is worth more than its history.
        told, not_kept = [str(error)], error
    for words in told:
        tell(console, words)
    written = write(sitting, done, earlier, bench.shelf, bench.figures, bench.results, console)
    if not_kept is not None:
        raise TestbedError(f"the page is written, and its outcomes are not kept: {not_kept}")
    if account.failures:
        first = next(iter(account.failures.values()))
        raise TestbedError(
            f"{len(account.failures)} of {len(account.works)} runs and draws failed, the first: "
            f"{first}"
        )
    if problems := problems_of(request, plan, done, unextended, written.undrawn):
        more = f"; there are {len(problems) - 1} more problems" if len(problems) > 1 else ""
        raise TestbedError(f"{problems[0]}{more}")
    return written.folder


def _make(
    request: Request,
    plan: Plan,
    missing: collecting.Missing,
    player: Player | None,
    jobs: int,
    console: Console,
    bench: Bench,
    account: Account,
) -> None:
    """Makes what is missing of a plan."""
    shelf = bench.shelf
    account.works |= set(plan.works)
    account.kept |= set(plan.works) - set(missing.works)
    if not missing.works or player is None:
        return
    if request.stage == "mininet":
        # A run takes as long as it is, whatever the machine.
        model, ledger, of = Model.of_time(), Ledger(shelf.store.folder), ""
    else:
        model, ledger = _model(shelf, jobs, console)
        of = " of a processor"
    cost = estimated(plan, frozenset(missing.works), model)
    console.print(
        f"{len(plan.works) - len(missing.works)} of {len(plan.works)} runs and draws are there "
        f"already; the others take about {core_time(cost.missing)}{of}.",
        highlight=False,
    )
    with making_shown(console, account, shelf, len(missing.works), cost.missing) as show:
        make(plan, missing.works, player, shelf, ledger, cost.seconds, show, account)
    console.print(tables.accuracy(account), highlight=False)


def _extend(
    request: Request,
    done: outcomes.Outcomes,
    player: Player | None,
    jobs: int,
    console: Console,
    bench: Bench,
    made: Circumstances,
    account: Account,
) -> Mapping[str, str]:
    """Runs undecided rows once more with 60 seeds, where that costs little enough.

    An extension that is there is judged whatever it may cost today: what is kept decides, and not
    the machine. What it makes is added to the sitting's account.

    Returns:
        Why rows are not extended whose works with 60 seeds cannot be told, by the rows' ids.
    """
    untold: dict[str, str] = {}
    for name in done.due():
        plan, added = outcomes.extension(bench.rows[name], bench.registered[name])
        if problem := plan.rows[0].problem:
            untold[name] = (
                "is undecided, and is not extended to 60 seeds, because its works with them cannot "
                f"be told: {problem}"
            )
            tell(console, f"{name}: {untold[name]}")
            continue
        missing = _missing(plan, bench.shelf, console)
        if missing.works:
            if player is None:
                continue
            model, _ = _model(bench.shelf, jobs, console)
            seconds = estimated(plan, added, model).missing
            if seconds > outcomes.MOST_EXTENSION_SECONDS:
                tell(
                    console,
                    f"{name}: is undecided, and is not extended to 60 seeds: the seeds that are "
                    f"added take about {core_time(seconds)} of a processor, and the catalogue "
                    f"allows {core_time(outcomes.MOST_EXTENSION_SECONDS)}.",
                )
                done.refuse(name)
                continue
        own = Account()
        does = "is extended to 60 seeds" if missing.works else "its 60 seeds are there already"
        console.print(f"{name}: is undecided, and {does}.", highlight=False)
        _make(request, plan, missing, player, jobs, console, bench, own)
        account.add(own)
        sitting = Sitting(request, [name], plan, own, made)
        extended = outcomes.judged(
            sitting, bench.rows, bench.registered, bench.shelf, extended=True
        )
        done.replace(extended, plan)
        if own.failures:
            tell(
                console,
                f"{name}: keeps its outcome, because {len(own.failures)} runs of its extension "
                "failed; the same command makes them again.",
            )
    return untold


def _check_places(request: Request, player: Player | None, bench: Bench) -> None:
    """Refuses, before anything is made, places that could not take what comes of it.

    Raises:
        TestbedError: Outcomes cannot be read or added to, or nothing can be published.
    """
    if player is not None:
        outcomes.of(bench.shelf)
        if request.chosen_level is not Level.SMOKE:
            check_appended(outcomes.path(bench.shelf))
    if request.publish is not None:
        check_place(request.publish)


def _names(request: Request, bench: Bench) -> list[str]:
    names = asking.chosen(request.names, bench.rows, bench.registered)
    # A row that is named is told; of a paper those rows are meant that the stage can do.
    named = [name for name in names if name in request.names]
    asking.check_stage(named, request.stage, bench.rows, bench.registered)
    return asking.playable(names, request.stage, bench.rows, bench.registered)


def _plan(request: Request, names: list[str], bench: Bench, console: Console) -> Plan:
    with progress_bar(console) as bar:
        task = bar.add_task("collecting rows", total=len(names))
        return collecting.plan(
            request, names, bench.rows, bench.registered,
            lambda count: bar.update(task, completed=count),
        )  # fmt: skip


def _missing(plan: Plan, shelf: Shelf, console: Console) -> collecting.Missing:
    with progress_bar(console) as bar:
        task = bar.add_task("looking at what is kept", total=len(plan.works))
        found = collecting.missing(plan, shelf, lambda count: bar.update(task, completed=count))
    for words in found.told:
        tell(console, words)
    return found


def _model(shelf: Shelf, jobs: int, console: Console) -> tuple[Model, Ledger]:
    ledger = Ledger(shelf.store.folder)
    with console.status("measuring this machine"):
        calibrated = calibration.costs(shelf.store.folder, jobs)
    return Model(calibrated, ledger.costs), ledger
