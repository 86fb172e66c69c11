# SPDX-License-Identifier: Apache-2.0
"""Exercise 5: the control law of DOCSIS-PIE (RFC 8034), in Python."""

from __future__ import annotations

from docsis_labs.criterion import Criterion
from docsis_labs.exercise import PYTHON, Exercise, StudentFile
from docsis_labs.exercises.docsis_pie import criteria
from docsis_labs.exercises.docsis_pie.run import run

EXERCISE = Exercise(
    number=5,
    folder="5-docsis-pie-control-law",
    title="DOCSIS-PIE's control law in Python",
    files=(StudentFile("law.py", PYTHON),),
    criteria=(
        Criterion("queue-delay", "TODO 1: the delay is predicted", 15, criteria.queue_delay),
        Criterion("scale", "TODO 2: steps are scaled", 15, criteria.scale),
        Criterion("step", "TODO 3 and 4: the step of an interval", 20, criteria.step),
        Criterion("decay", "TODO 5: decay, and growth at long delays", 15, criteria.decay),
        Criterion("bounds", "TODO 6: the probability's bounds, and bursts", 10, criteria.bounds),
        Criterion(
            "closed-loop",
            "The law holds a loaded modem's delay near its target",
            25,
            criteria.closed_loop,
            needs=("step",),
        ),
    ),
    run=run,
)
