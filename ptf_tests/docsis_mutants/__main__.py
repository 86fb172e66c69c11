# SPDX-License-Identifier: Apache-2.0
"""The command line: python -m docsis_mutants list, draw, run or report."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Final

from docsis_control.project_files import ROOT
from docsis_mutants import draw, law_steps, listing, p4_steps, record, report, rust_steps
from docsis_mutants.areas import Area
from docsis_mutants.ptf_steps import Suite
from docsis_mutants.record import Outcome
from docsis_mutants.runner import Runner, Trial, caught, told
from docsis_mutants.tree import Tree, TreeError

RECORD: Final = ROOT / "results" / "mutants" / "outcomes.jsonl"
_INTERRUPTED: Final = 130
_MISSED: Final = 1
_FAILED: Final = 2


def _trials(areas: Sequence[Area]) -> Mapping[Area, Trial]:
    suite = Suite()
    made: Mapping[Area, Callable[[], Trial]] = {
        Area.P4: lambda: _pipeline(suite),
        Area.TRAFFIC_MANAGER: lambda: Trial(rust_steps.RustCompiler(), rust_steps.steps(suite)),
        Area.LAWS: lambda: Trial(law_steps.PythonCompiler(), law_steps.steps()),
    }
    return {area: made[area]() for area in areas}


def _pipeline(suite: Suite) -> Trial:
    compiler = p4_steps.P4Compiler()
    return Trial(compiler, p4_steps.steps(compiler, suite))


def _list(given: argparse.Namespace) -> int:
    found = listing.made_from(ROOT)
    listing.LIST.write_text(listing.text_of(found))
    print(f"{listing.LIST}: {len(found.sites)} sites in {len(found.sources)} files")
    return 0


def _draw(given: argparse.Namespace) -> int:
    kept = listing.load()
    for area, number in draw.counts(given.count).items():
        for site in islice(draw.order(kept.sites, area, given.seed), number):
            print(site.key)
    return 0


def _run(given: argparse.Namespace) -> int:
    kept = listing.load()
    counts = draw.counts(given.count)
    areas = [Area(name) for name in given.areas] or list(Area)
    with tempfile.TemporaryDirectory(prefix="docsis-p4-mutants-", dir=given.work) as folder:
        tree = Tree(ROOT, Path(folder), given.commit)
        kept.require_current(tree.root)
        print(f"mutants: seed {given.seed}, tree {tree.commit}, in {folder}", flush=True)
        runner = Runner(
            tree, kept.sites, _trials(areas), given.record, lambda line: print(line, flush=True)
        )
        runner.run(given.seed, {area: counts[area] for area in areas}, survivors=given.survivors)
    tried = record.latest(record.read(given.record), given.seed).values()
    print(report.verdict(list(tried)))
    for each in tried:
        if each.outcome in (Outcome.SURVIVED, Outcome.WAITING):
            print(told(each))
    number, compiled = caught(tried)
    return 0 if number >= draw.RULE * compiled else _MISSED


def _report(given: argparse.Namespace) -> int:
    tried = list(record.latest(record.read(given.record), given.seed).values())
    parts = (
        *(report.table(tried), report.by_step(tried), report.by_operator(tried)),
        *(report.mutants(tried, Outcome.SURVIVED), report.mutants(tried, Outcome.WAITING)),
        report.mutants(tried, Outcome.NOT_COMPILED),
    )
    print("\n\n".join((*parts, report.verdict(tried))))
    return 0


def _parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="docsis-mutants", description="Mutants of the sources.")
    commands = found.add_subparsers(required=True)

    def command(name: str, does: Callable[[argparse.Namespace], int], about: str) -> None:
        added = commands.add_parser(name, help=about)
        added.set_defaults(does=does)
        add = added.add_argument
        whole = sum(draw.DEFAULT_COUNTS.values())
        add("--seed", type=int, default=1, help="of the draw")
        add("--count", type=int, default=whole, help="mutants that compile")
        add("--record", type=Path, default=RECORD, metavar="FILE", help="the outcomes")
        add("--commit", default="HEAD", help="the tree that is mutated")
        add("--work", type=Path, metavar="FOLDER", help="where the copy is made; it is removed")
        add("--survivors", action="store_true", help="try again those that have survived")
        add("--areas", nargs="*", default=[], choices=[area.value for area in Area])

    command("list", _list, "write the list of all sites anew")
    command("draw", _draw, "print the mutants of a seed")
    command("run", _run, "try the mutants of a seed, or go on with that")
    command("report", _report, "print the outcomes as tables")
    return found


def _terminated(number: int, frame: FrameType | None) -> None:
    """SIGTERM cleans up as Ctrl-C does."""
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns an exit status: 1 when fewer were caught than the rule asks."""
    given = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        status: int = given.does(given)
    except (OSError, ValueError, TreeError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        print("mutants: stopped; the same command goes on from here", file=sys.stderr)
        return _INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
