# SPDX-License-Identifier: Apache-2.0
"""A note that the user gives with a run, as text that is safe to keep and to show."""

from __future__ import annotations

import unicodedata
from typing import Final

from docsis_testbed.errors import TestbedError

LONGEST: Final = 2_000
"""Characters of a note."""

_SHOWN: Final = "\n\t\u200c\u200d"
"""Line ends and tabs; and joiners, which are part of words in some scripts and of some emoji."""

_FIRST_SURROGATE: Final = 0xDC80
_LAST_SURROGATE: Final = 0xDCFF
"""Python has bytes of arguments that are no UTF-8 in this range."""


def note_from(text: str) -> str:
    """Returns a note in which all that would not show is written out, such as "\\x1b".

    Characters that control a terminal or the direction of text, and bytes that are no text, would
    change what stands beside them, or could not be written.

    Args:
        text: What the user gave; blank text is no note.

    Raises:
        TestbedError: It is too long.
    """
    if len(text) > LONGEST:
        raise TestbedError(
            f"--note: has {len(text):,} characters, and there may be {LONGEST:,}; keep longer "
            "texts in a file beside the results"
        )
    return "".join(map(_shown, text.replace("\r\n", "\n"))).strip()


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
