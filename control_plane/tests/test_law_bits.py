# SPDX-License-Identifier: Apache-2.0
"""The laws decide the same to the bit: as they always did, and on every machine.

A virtual world is repeatable only if its laws are. NumPy's +, -, *, / and sqrt are rounded as
IEEE 754 has it, whatever the processor; exp, log, powers and sums of many elements are not.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from law_history import Queue, hashes

import docsis_control.law

HERE = Path(__file__).parent
KEPT: dict[str, str] = json.loads((HERE / "law_hashes.json").read_text())
LAWS = sorted(Path(docsis_control.law.__file__).parent.glob("*.py"))

EXACT = {
    # What makes or moves elements.
    *("arange", "array", "asarray", "bool_", "copyto", "empty", "empty_like", "float64"),
    *("fromiter", "full", "full_like", "int64", "intp", "nan", "ones", "ones_like", "searchsorted"),
    *("where", "zeros", "zeros_like", "ndarray"),
    # What is rounded as IEEE 754 has it, or not at all.
    *("absolute", "add", "divide", "multiply", "sqrt", "subtract"),
    *("clip", "maximum", "minimum", "rint", "logical_and", "logical_not", "logical_or"),
    # These take bools.
    *("all", "any", "count_nonzero"),
}


def test_decisions_are_those_that_were_recorded() -> None:
    """Recorded from source d73b4d8, before the laws were made faster."""
    assert hashes() == KEPT


def test_decisions_are_those_of_a_processor_without_features() -> None:
    """NumPy has other code for processors with AVX2 and the like."""
    umath: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    features = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]]
    if not features:
        pytest.skip("this processor has no feature that NumPy could do without")
    result = subprocess.run(
        [sys.executable, str(HERE / "law_history.py")],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(features)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == KEPT


@pytest.mark.parametrize("file", LAWS, ids=lambda file: file.stem)
def test_laws_use_only_what_is_rounded_the_same_everywhere(file: Path) -> None:
    used = set()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id="np"), attr=name):
                used.add(name)
            case ast.BinOp(op=ast.Pow(), left=left):
                assert isinstance(left, ast.Constant), f"{file.name}:{node.lineno}: a power"
            case ast.Import(names=names):
                assert not {each.name for each in names} & {"math", "random", "time"}, file.name
    assert used <= EXACT


def test_the_recorded_history_has_everything() -> None:
    """Queues that are empty, that grow long, and data paths that move."""
    import random

    queue = Queue(random.Random(3))
    steps = [queue.step() for _ in range(2_000)]
    assert {step["data_state"] & 3 for step in steps} == {0, 2}
    backlogs = {(s["enqueued_bytes"] - s["dequeued_bytes"]) % (1 << 32) for s in steps}
    assert 0 in backlogs
    assert max(backlogs) > 300_000
