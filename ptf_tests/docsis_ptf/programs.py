# SPDX-License-Identifier: Apache-2.0
"""The compiled programs of the suite, and which folder has each.

`cm` and `cmts` are the pipeline under test. `entities` is a small one of the project's own, for
what P4Runtime has and that pipeline has not: digests, idle timeouts, constant entries and a
constant default action.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.project_files import ROOT
from docsis_ptf.params import PROGRAMS

ENTITIES: Final = "entities"
SHIPPED: Final = ROOT / "switch" / "crates" / "v1model" / "tests" / "programs"
"""Has the program's source, and its files for BMv2's JSON."""


def load_entities(folder: str) -> Pipeline | None:
    """The small program for a target whose programs are in this folder.

    Returns:
        The program; None if the folder is not the project's own and does not have it, because
        only whoever compiled for the target can have it.

    Raises:
        PipelineError: Its files are broken.
    """
    given = Path(folder)
    if (given / f"{ENTITIES}.p4info.txtpb").exists():
        return load_pipeline(ENTITIES, given)
    if given.resolve() != PROGRAMS.resolve():
        return None
    return load_pipeline(ENTITIES, SHIPPED)
