# SPDX-License-Identifier: Apache-2.0
"""The requests of one time, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from docsis_experiments.reproduction.circumstances import Circumstances
from docsis_experiments.reproduction.making import Account
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.request import Request


@dataclass(frozen=True)
class Sitting:
    """The requests of one time, and their results.

    Attributes:
        request: What was asked for.
        names: Ids of the rows.
        plan: Their works.
        account: What was made.
        made: When and where.
    """

    request: Request
    names: Sequence[str]
    plan: Plan
    account: Account
    made: Circumstances
