# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer calls with bytes of its own: files of an operator, and results that come back.

Each case takes any bytes whatever and returns: what it is given is either used or refused in a
sentence. `experiments/fuzz` has what the fuzzer itself needs; `test_fuzz_cases.py` calls the cases
with the seeds, with seeds that are changed, and with everything that the fuzzer found once.
"""

from __future__ import annotations

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
        case: Takes any bytes and returns; whatever it raises is a finding.
        form: What the bytes usually are, so that they can be changed as a tree.
        seeds: Bytes to begin with, which are all used and not refused.
    """

    case: Callable[[bytes], None]
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


def regressions(target: str) -> Iterator[tuple[str, bytes]]:
    """The target's inputs that something was wrong with once, with what it was."""
    for path in sorted((REGRESSIONS / target).glob("*")):
        yield path.name, path.read_bytes()
