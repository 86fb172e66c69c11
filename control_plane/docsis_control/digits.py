# SPDX-License-Identifier: Apache-2.0
"""Numbers in texts of somebody else's: command lines, requests, names of files."""

from typing import Final

LAST_TCP_PORT: Final = (1 << 16) - 1


def decimal(text: str, last: int) -> int | None:
    """A number from 0 to `last` in decimal digits, or None for any other text.

    Python refuses to turn thousands of digits into a number, and takes digits of other scripts for
    some: so both are looked at before.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(last))):
        return None
    return found if (found := int(text)) <= last else None
