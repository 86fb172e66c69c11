# SPDX-License-Identifier: Apache-2.0
"""Tells once that another version made the kept outcomes, and takes its place."""

from __future__ import annotations

import json
from pathlib import Path

from docsis_experiments.runs import files, sources
from docsis_experiments.runs.sources import StageName


def told(folder: Path, name: str, results: str, stage: StageName) -> str:
    """Tells that another version has made results, where one has; from now on they are ours.

    Args:
        folder: Has the record of which version that was.
        name: The record's name; each stage has one of its own.
        results: What they are called: "Results of this sweep".
        stage: Where they were made.

    Returns:
        A sentence; "" where there is nothing to tell.

    Raises:
        TestbedError: The record cannot be written.
    """
    record = folder / f"{name}-{stage}.json"
    # There was one record for both stages, about virtual time.
    former = folder / f"{name}.json"
    ours = dict(sources.parts(stage))
    try:
        there = former if stage == "virtual" and not record.exists() else record
        theirs = json.loads(there.read_text())
        other = [name for name in ours if theirs.get(name) != ours[name]]
    except (OSError, ValueError, AttributeError):
        # It says nothing of any result, and is written again.
        other = []
    files.write_atomically(record, (json.dumps(ours, indent=2) + "\n").encode())
    if stage == "virtual":
        former.unlink(missing_ok=True)
    if not other:
        return ""
    verb = "is" if len(other) == 1 else "are"
    return (
        f"{results} by another version, whose {' and '.join(other)} {verb} not the same, stay "
        "where they are and are not used."
    )
