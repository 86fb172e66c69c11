# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer calls with bytes of its own: files of an operator, and results that come back.

Each case takes any bytes whatever and returns whether it used them: what it does not use, it
refuses in a sentence. A target whose seeds were all refused would test refusals alone and go
unnoticed, so `used_seeds` sees to it that each seed is used. `experiments/fuzz` has what the fuzzer
itself needs; `test_fuzz_cases.py` calls the cases with the seeds, with seeds that are changed, and
with everything that the fuzzer found once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from docsis_testbed.paths import ROOT
from fuzz_cases import operator_files, results
from fuzz_cases.mutation import Form

REGRESSIONS: Final = ROOT / "experiments" / "fuzz" / "regressions"
"""Inputs that something was wrong with once, in a folder for each target."""


@dataclass(frozen=True)
class Target:
    """A target of the fuzzer.

    Attributes:
        case: Takes any bytes and returns whether they were used; whatever it raises is a finding.
        form: What the bytes usually are, so that they can be changed as a tree.
        seeds: Bytes to begin with, which are all used and not refused.
    """

    case: Callable[[bytes], bool]
    form: Form
    seeds: Callable[[], Iterator[bytes]]


TARGETS: Final[Mapping[str, Target]] = {
    "experiment": Target(
        operator_files.experiment, Form.YAML, operator_files.each(operator_files.SCENARIOS)
    ),
    "sweep": Target(operator_files.sweep, Form.YAML, operator_files.each(operator_files.SWEEPS)),
    "population": Target(
        operator_files.population, Form.YAML, operator_files.each(operator_files.POPULATIONS)
    ),
    "topology": Target(
        operator_files.topology, Form.YAML, operator_files.each(operator_files.NETWORKS)
    ),
    "outcomes": Target(results.outcomes, Form.BYTES, results.seeds_of_outcomes),
    "kept": Target(results.kept, Form.JSON, results.seeds_of_kept),
    "summary": Target(results.summary, Form.JSON, results.seeds_of_summary),
    "unit": Target(results.unit, Form.JSON, results.seeds_of_unit),
    "reproduction": Target(results.reproduction, Form.JSON, results.seeds_of_reproduction),
}


class RefusedSeed(Exception):
    """A seed is refused, so the changes of it would test hardly anything but refusals."""


def used_seeds(name: str, most: int | None = None) -> Iterator[bytes]:
    """The seeds of a target, each after its case has used it.

    Args:
        name: The target's.
        most: How many seeds are given at the most; None for all.

    Raises:
        RefusedSeed: A case refuses its seed.
    """
    target = TARGETS[name]
    for number, seed in enumerate(itertools.islice(target.seeds(), most), start=1):
        if not target.case(seed):
            raise RefusedSeed(f"the target {name} refuses its own seed {number}; mend the seed")
        yield seed


def regressions(target: str) -> Iterator[tuple[str, bytes]]:
    """The target's inputs that something was wrong with once, with what it was."""
    for path in sorted((REGRESSIONS / target).glob("*")):
        yield path.name, path.read_bytes()
