# SPDX-License-Identifier: Apache-2.0
"""Tests read the registers that a device tells."""

from __future__ import annotations

from dataclasses import fields

import pytest

from docsis_ptf.entities import State

NOTHING = State(**dict.fromkeys((field.name for field in fields(State)), 0))


@pytest.mark.parametrize(
    ("enqueued", "dequeued", "backlog"),
    [
        (1_000, 400, 600),
        (100, (1 << 32) - 100, 200),
        ((1 << 31) - 1, 0, (1 << 31) - 1),
        # More left than came: a frame passed between the two readings, or books that are wrong.
        (400, 1_000, 0),
        (1 << 31, 0, 0),
    ],
)
def test_backlog_is_modular_and_never_negative(enqueued: int, dequeued: int, backlog: int) -> None:
    state = State(**(vars(NOTHING) | {"enqueued_bytes": enqueued, "dequeued_bytes": dequeued}))
    assert state.backlog == backlog
