# SPDX-License-Identifier: Apache-2.0
"""Mininet's command line, into which other threads may speak."""

from __future__ import annotations

import sys
from typing import Any

from docsis_testbed.mininet_package import CLI


class Terminal:
    """The terminal, to which sentences go that come while somebody may be typing.

    Attributes:
        prompt: Text in front of the typed words; "" while nothing is read.
    """

    def __init__(self) -> None:
        self.prompt = ""

    def tell(self, sentence: str) -> None:
        """Print a sentence in a line of its own, and again what was being typed."""
        if not (self.prompt and sys.stdin.isatty() and sys.stdout.isatty()):
            print(sentence, flush=True)
            return
        import readline

        clear_line = "\r\x1b[K"
        typed = f"{self.prompt}{readline.get_line_buffer()}"
        print(f"{clear_line}{sentence}\n{typed}", end="", flush=True)


class CommandLine(CLI):  # type: ignore[misc]  # Mininet has no types
    """Mininet's command line; to make one is to run it."""

    def __init__(self, net: Any, terminal: Terminal) -> None:
        self._terminal = terminal
        super().__init__(net)

    def preloop(self) -> None:
        """It reads; also after Ctrl-C."""
        self._terminal.prompt = self.prompt

    def precmd(self, line: str) -> str:
        """It has read a line."""
        self._terminal.prompt = ""
        result: str = super().precmd(line)
        return result

    def postcmd(self, stop: bool, line: str) -> bool:
        """It reads again, or ends."""
        del line
        self._terminal.prompt = "" if stop else self.prompt
        return stop
