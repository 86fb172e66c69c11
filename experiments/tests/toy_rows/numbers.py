# SPDX-License-Identifier: Apache-2.0
"""Computations of toy rows."""

from __future__ import annotations


def doubled(seed: int, *, factor: int = 2) -> dict[str, float]:
    """A multiple of the seed."""
    return {"value": float(factor * seed), "nothing": float("nan")}


def later(seed: int) -> dict[str, float]:
    """A number that is imported only here."""
    from toy_rows.imported_late import NUMBER

    return {"value": NUMBER + seed}


def broken(seed: int) -> dict[str, float]:
    """Cannot be computed."""
    raise ArithmeticError(f"seed {seed} has no number")
