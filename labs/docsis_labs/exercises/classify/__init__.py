# SPDX-License-Identifier: Apache-2.0
"""Exercise 2: classify packets into service flows."""

from __future__ import annotations

from docsis_labs.criterion import Criterion
from docsis_labs.exercise import YAML, Exercise, StudentFile
from docsis_labs.exercises.classify import criteria
from docsis_labs.exercises.classify.run import run

EXERCISE = Exercise(
    number=2,
    folder="2-classify",
    title="Classify into service flows",
    files=(StudentFile("modem.yaml", YAML),),
    criteria=(
        Criterion("boots", "The modem boots with its four service flows", 10, criteria.boots),
        Criterion("voice", "TODO 1: voice", 25, criteria.voice, needs=("boots",)),
        Criterion("games", "TODO 2: games", 25, criteria.games, needs=("boots",)),
        Criterion("backup", "TODO 3: the backup", 25, criteria.backup, needs=("boots",)),
        Criterion(
            "chat", "TODO 4: a game's voice chat", 15, criteria.chat, needs=("voice", "games")
        ),
    ),
    run=run,
)
