# SPDX-License-Identifier: Apache-2.0
"""Commands that say so when Ctrl-C or a signal ends them."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from docsis_testbed.interrupts import Terminated, raising_when_terminated
from docsis_testbed.terminal import terminal


class Interruptible(TyperGroup):
    """A group of commands; typer itself ends with exit status 130 and without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            with raising_when_terminated():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            _say("interrupted")
            raise typer.Exit(130) from None
        except Terminated as ended:
            _say(f"ended by {ended.signal.name}")
            raise typer.Exit(128 + ended.signal) from None


def _say(how: str) -> None:
    # The run ended everything that it had started before the interrupt came here.
    terminal(stderr=True).print(f"docsis-p4: {how}; nothing of it is left running", soft_wrap=True)
