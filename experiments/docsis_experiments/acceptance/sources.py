# SPDX-License-Identifier: Apache-2.0
"""The inputs of a case's run, as a key: runs with the same key may be put together."""

from __future__ import annotations

from docsis_experiments.acceptance.cases import Case
from docsis_experiments.runs import sources
from docsis_experiments.runs.sources import StageName
from docsis_experiments.stages.virtual.versions import commit
from docsis_testbed.paths import ROOT


def key(case: Case, stage: StageName) -> str:
    """The commit, and the start of the digest over inputs, code, pipeline and switch or world."""
    return f"{commit(ROOT)}-{sources.digest(case.inputs, stage)[:10]}"
