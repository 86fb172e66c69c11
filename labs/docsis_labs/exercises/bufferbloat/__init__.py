# SPDX-License-Identifier: Apache-2.0
"""Exercise 1: measure bufferbloat."""

from __future__ import annotations

from docsis_labs.criterion import Criterion
from docsis_labs.exercise import PYTHON, Exercise, StudentFile
from docsis_labs.exercises.bufferbloat import criteria
from docsis_labs.exercises.bufferbloat.run import run

EXERCISE = Exercise(
    number=1,
    folder="1-bufferbloat",
    title="Measure bufferbloat",
    files=(StudentFile("bufferbloat.py", PYTHON),),
    criteria=(
        Criterion("round-trips", "TODO 1: round trips in milliseconds", 20, criteria.round_trips),
        Criterion("loss", "TODO 2: the share of lost packets", 15, criteria.loss),
        Criterion("percentile", "TODO 3: percentiles", 20, criteria.percentile),
        Criterion(
            "added-delay",
            "TODO 4: what load adds",
            20,
            criteria.added_delay,
            needs=("round-trips", "percentile"),
        ),
        Criterion("buffer-size", "TODO 5: bytes in the buffer", 10, criteria.buffer_size),
        Criterion(
            "measured",
            "The analysis of a run finds its buffer",
            15,
            criteria.measured,
            needs=("added-delay", "buffer-size"),
        ),
    ),
    run=run,
)
