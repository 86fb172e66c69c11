# SPDX-License-Identifier: Apache-2.0
"""Between the sampler and the pages: keeps what was seen, and hands each page what it looks at.

All of it runs in the event loop of the server. Nothing that a page sends is kept for it but the
name of the modem that it looks at.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from docsis_live.history import History, Row
from docsis_live.sampler import Update, encode
from docsis_live.system import System

MOST_UPDATE_BYTES: Final = 64_000
"""The largest update to one page, and the largest answer with history."""

MOST_PAGES: Final = 8
"""Most pages that are sent updates at a time."""

_MOST_MARKS: Final = 200
_OPTIONAL: Final = ("channels", "classifiers", "summary")
"""Parts that an update leaves out where all would be too long, the first first."""


class Page(Protocol):
    """A page that is sent updates.

    Attributes:
        modem: Modem that it looks at; "" for none.
        behind: Whether it did not take the last message.
    """

    modem: str
    behind: bool

    def send(self, message: bytes) -> bool:
        """Takes a message; False while the one before is under way."""


class Hub:
    """The hub that all pages share."""

    def __init__(self, watch: Callable[[tuple[str, ...]], None]) -> None:
        """Args: told the names of the modems that are looked at."""
        self.history = History()
        self.system: System | None = None
        self.trouble = "not looked for yet"
        self._watch = watch
        self._pages: set[Page] = set()
        self._marks: deque[dict[str, Any]] = deque(maxlen=_MOST_MARKS)
        self._mark_number = 0
        # The latest of what changes slowly, for pages that are opened in between.
        self._parts: dict[str, bytes] = {}
        self.sent_bytes = 0
        self.largest_update = 0

    @property
    def full(self) -> bool:
        """Whether no more pages are sent updates."""
        return len(self._pages) >= MOST_PAGES

    def add(self, page: Page) -> None:
        """A page is sent updates from now on."""
        self._pages.add(page)

    def remove(self, page: Page) -> None:
        """A page is gone."""
        self._pages.discard(page)

    def look_at(self, page: Page, modem: str) -> bool:
        """A page looks at a modem from now on; False where there is none of that name."""
        if self.system is None or modem not in self.system.modems:
            return False
        page.modem = modem
        self.history.follow(modem, {one.modem for one in self._pages})
        self._watch(self.history.modems)
        self._give(page, None, self._parts)
        return True

    def mark(self, modem: str, sfid: int | None, text: str, at_ms: int) -> None:
        """Puts a mark into the curves, at that Unix time in milliseconds."""
        self._mark_number += 1
        self._marks.append(
            {
                "id": self._mark_number,
                "t": at_ms,
                "modem": modem,
                "sfid": sfid,
                "text": text,
            }
        )
        self.tell("marks", list(self._marks))

    def tell(self, name: str, value: object) -> None:
        """Tells all pages a part that does not come from the sampler, and new ones later."""
        part = {name: encode(value)}
        self._parts |= part
        for page in tuple(self._pages):
            self._give(page, None, part)

    def publish(self, update: Update) -> None:
        """Takes an update of the sampler."""
        self.system, self.trouble = update.system, update.trouble
        if update.system is None:
            self._parts.pop("health", None)
        self._parts |= update.parts
        for modem, text in update.rows.items():
            rows = self.history.of(modem)
            if rows is not None:
                rows.append(Row(update.number, update.time_ms, text))
        for page in tuple(self._pages):
            self._give(page, update, update.parts)

    def _give(self, page: Page, update: Update | None, parts: Mapping[str, bytes]) -> None:
        """Rows that a page does not take are in the history; parts are given again as a whole."""
        chosen = self._parts if page.behind else parts
        page.behind = not page.send(self._message(update, page, chosen))

    def _message(self, update: Update | None, page: Page, parts: Mapping[str, bytes]) -> bytes:
        head: dict[str, Any] = {
            "key": None if self.system is None else self.system.key,
            "trouble": self.trouble,
            "modem": page.modem,
        }
        pieces = [encode(head)[:-1]]
        if update is not None and (row := update.rows.get(page.modem)) is not None:
            pieces.append(b'"row":' + row)
        chosen = dict(parts)
        for left_out in (None, *_OPTIONAL):
            if left_out is not None:
                chosen.pop(left_out, None)
            texts = [f'"{name}":'.encode() + text for name, text in chosen.items()]
            message = b",".join([*pieces, *texts]) + b"}"
            if len(message) <= MOST_UPDATE_BYTES:
                break
        self.sent_bytes += len(message)
        self.largest_update = max(self.largest_update, len(message))
        return message
