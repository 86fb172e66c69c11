# SPDX-License-Identifier: Apache-2.0
"""One text for one value, so that equal inputs have equal hashes."""

from __future__ import annotations

import hashlib
import json


def canonical(value: object) -> str:
    """JSON without spaces, with its keys in order.

    Args:
        value: What JSON has: no NaN, no infinity.

    Raises:
        ValueError: It has more than that.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(value: object) -> str:
    """SHA-256 of the canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()
