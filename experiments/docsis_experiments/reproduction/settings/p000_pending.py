# SPDX-License-Identifier: Apache-2.0
"""What this version cannot play yet, left out."""

from __future__ import annotations

from docsis_control.queue_managers.models import ALGORITHMS
from docsis_experiments.reproduction.settings.p000_managers import Manager, PieOf2014
from docsis_experiments.reproduction.settings.p000_readings import Reading


def there(manager: Manager, reading: Reading) -> bool:
    """Whether its queue manager is there."""
    first = reading.pie is PieOf2014.FIRST
    return manager is not Manager.PIE or not first or PieOf2014.FIRST.value in ALGORITHMS
