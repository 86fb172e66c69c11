# SPDX-License-Identifier: Apache-2.0
"""Other values of a literal number: one more, one less, and twice as much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WHOLE: Final = re.compile(
    r"(?P<width>\d+[ws])?(?P<digits>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*)"
    r"(?P<suffix>(?:[iu](?:8|16|32|64|128|size))?)"
)


def others(literal: str) -> Iterator[str]:
    """Yields the other values, as literals of the same type, each once.

    Args:
        literal: In the notation of P4, Rust or Python. 0 has no smaller value and no double, and a
            number with a fraction is only doubled and halved.
    """
    match = _WHOLE.fullmatch(literal)
    if match is None:
        yield from _of_fraction(literal)
        return
    value = int(match["digits"].replace("_", ""), 0)
    around = match["width"] or "", match["suffix"]
    for other in dict.fromkeys((value + 1, value - 1, 2 * value)):
        if other >= 0 and other != value:
            yield f"{around[0]}{other}{around[1]}"


def _of_fraction(literal: str) -> Iterator[str]:
    try:
        value = float(literal.replace("_", ""))
    except ValueError:
        return  # a Rust literal such as 1.0_f64 with a suffix, of which there are none
    if value:
        yield from (repr(2 * value), repr(value / 2))
    else:
        yield "1.0"
