# SPDX-License-Identifier: Apache-2.0
"""A hash under which the game shares the flow queue of one upload, and nothing else is shared."""

from __future__ import annotations

import functools
import itertools
import random
from dataclasses import replace

from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.reproduction.row import Level
from docsis_experiments.reproduction.settings.p001_managers import SFQ_QUEUES, sfq_colliding
from docsis_experiments.reproduction.settings.p001_readings import Reading
from docsis_experiments.reproduction.settings.p001_traffic import GAME
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.session_hash import (
    Place,
    first_multiplier,
    tcp_session,
)


def colliding(setting: Setting) -> Setting:
    """The same with flow queues of which the game and the first upload share one."""
    return replace(setting, management=sfq_colliding(_multiplier(setting.uploads)))


@functools.cache
def _multiplier(uploads: int) -> int:
    game, first, *others = sessions(uploads)
    draw = random.Random("001-F7")

    def holds(place: Place) -> bool:
        shared, *apart = map(place, (first, *others))
        return place(game) == shared and len({shared, *apart}) == uploads

    odds = (draw.getrandbits(32) | 1 for _ in itertools.count())
    return first_multiplier(odds, SFQ_QUEUES, holds)


def sessions(uploads: int) -> list[int]:
    """The game's, and those of the uploads in their order."""
    found = Setting("drop-tail", 960, uploads=uploads).loaded(Level.SMOKE, Reading.FIRST)
    flows = list(plan_for(found.scenario, found.topology).flows)
    flows.sort(key=lambda planned: planned.flow.name != GAME)
    return [tcp_session(planned) for planned in flows]
