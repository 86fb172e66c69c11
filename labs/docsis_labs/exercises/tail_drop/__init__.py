# SPDX-License-Identifier: Apache-2.0
"""Exercise 4: a queue that drops at its tail, and how large it should be."""

from __future__ import annotations

from docsis_labs.criterion import Criterion
from docsis_labs.exercise import PYTHON, YAML, Exercise, StudentFile
from docsis_labs.exercises.tail_drop import criteria
from docsis_labs.exercises.tail_drop.run import run

EXERCISE = Exercise(
    number=4,
    folder="4-tail-drop",
    title="Tail drop and buffer size",
    files=(StudentFile("tail_drop.py", PYTHON), StudentFile("buffer.yaml", YAML)),
    criteria=(
        Criterion("admit", "TODO 1: a frame enters if there is room", 20, criteria.admit),
        Criterion("full-delay", "TODO 2: the delay of a full queue", 15, criteria.full_delay),
        Criterion("product", "TODO 3: the bandwidth-delay product", 15, criteria.product),
        Criterion("departures", "TODO 4: the queue is played", 25, criteria.departures),
        Criterion("buffer", "TODO 5: a buffer for an upload", 25, criteria.buffer),
    ),
    run=run,
)
