# SPDX-License-Identifier: Apache-2.0
"""Text of users so that it is safe to print and to keep, and all of it shows."""

from __future__ import annotations

import unicodedata
from typing import Final

_SHOWN: Final = "\n\t\u200c\u200d"
"""Line ends and tabs; and joiners, which are part of words in some scripts and of some emoji."""

_FIRST_SURROGATE: Final = 0xDC80
_LAST_SURROGATE: Final = 0xDCFF
"""Python has bytes of arguments that are no UTF-8 in this range."""


def readable(text: str) -> str:
    """Returns a text in which all that would not show is written out, such as "\\x1b".

    Characters that control a terminal or the direction of text, and bytes that are no text, would
    change what stands beside them, or could not be written.
    """
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in _SHOWN:
        return character
    number = ord(character)
    if _FIRST_SURROGATE <= number <= _LAST_SURROGATE:
        return f"\\x{number - 0xDC00:02x}"
    # "C" is control, format, surrogate, private use and unassigned; lines and paragraphs separate.
    if unicodedata.category(character)[0] == "C" or character in "\u2028\u2029":
        return character.encode("unicode_escape", "backslashreplace").decode("ascii")
    return character
