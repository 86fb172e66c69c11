# SPDX-License-Identifier: Apache-2.0
"""The files of a run: verdicts as JUnit XML and as an HTML matrix; and what to print of them."""

from __future__ import annotations

import hashlib
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from docsis_ptf import junit, matrix
from docsis_ptf.plan import Requirement
from docsis_ptf.preflight import PROGRAM_NAMES
from docsis_ptf.profiles import Profile
from docsis_ptf.verdicts import Judged, Outcome, Verdict, judge

_COLUMNS = 100
JUNIT = "junit.xml"
MATRIX = "matrix.html"


def digests(folder: Path) -> tuple[tuple[str, str], ...]:
    """The programs' files that are there, with their SHA-256."""
    paths = [
        folder / f"{name}{end}" for name in PROGRAM_NAMES for end in (".json", ".p4info.txtpb")
    ]
    return tuple(
        (path.name, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in paths
        if path.exists()
    )


def write(
    folder: Path,
    head: matrix.Head,
    profiles: Sequence[Profile],
    requirements: Iterable[Requirement],
    verdicts: Sequence[Verdict],
) -> str:
    """Writes both documents; returns what to say of them."""
    judged = judge(requirements, verdicts)
    (folder / JUNIT).write_bytes(junit.document(judged, target=head.target, taken=head.taken))
    (folder / MATRIX).write_text(matrix.page(head, profiles, judged), encoding="utf-8")
    counted = Counter(one.outcome for one in judged)
    counts = ", ".join(f"{counted[outcome]} {outcome}" for outcome in Outcome if counted[outcome])
    verdict = f"ptf: of {len(judged)} requirements {counts}: {folder / MATRIX}, {folder / JUNIT}"
    return "\n".join([*times(judged, verdicts), verdict])


def times(judged: Iterable[Judged], verdicts: Iterable[Verdict]) -> list[str]:
    """Lines with the time of each requirement whose tests ran, in the plan's order.

    A test that several requirements name is in the time of each, and once in the sum.
    """
    ran = {verdict.test: verdict.seconds for verdict in verdicts if verdict.seconds}
    if not ran:
        return []
    each = ", ".join(f"{one.requirement.key} {one.seconds:.1f}" for one in judged if one.seconds)
    text = f"{sum(ran.values()):.0f} s of tests; seconds by requirement: {each}"
    return textwrap.wrap(
        text,
        width=_COLUMNS,
        initial_indent="ptf: ",
        subsequent_indent="ptf:   ",
        break_on_hyphens=False,
    )
