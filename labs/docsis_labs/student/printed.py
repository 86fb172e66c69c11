# SPDX-License-Identifier: Apache-2.0
"""What a student's code prints, kept until somebody shows it."""

from __future__ import annotations

import codecs
from typing import Final

MOST: Final = 2000
"""Bytes that are kept from one showing to the next."""

LEFT_OUT: Final = "\n... (the rest is left out)"
"""Stands behind what was cut."""


class Printed:
    """The beginning of what was printed since it was last taken."""

    def __init__(self) -> None:
        """Has heard nothing yet."""
        self._kept = bytearray()
        self._more = False

    def hear(self, heard: bytes) -> None:
        """Takes in what was printed next, as far as there is room for it."""
        room = MOST - len(self._kept)
        self._more = self._more or len(heard) > room
        self._kept += heard[:room]

    @property
    def text(self) -> str:
        """What was printed, without a character that the end of the room has cut in two."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        return decoder.decode(bytes(self._kept), final=not self._more)

    def take(self) -> str:
        """Hands the text over, and begins anew. Anything may stand in it."""
        text = self.text + (LEFT_OUT if self._more else "")
        self._kept.clear()
        self._more = False
        return text
