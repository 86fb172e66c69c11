# SPDX-License-Identifier: Apache-2.0
"""Commands that say so when Ctrl-C ends them."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup


class Interruptible(TyperGroup):
    """A group of commands; typer itself ends with exit status 130 and without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # What a run had started ended with it, before the interrupt came here.
            Console(stderr=True).print(
                "docsis-p4: interrupted; nothing of it is left running", soft_wrap=True
            )
            raise typer.Exit(130) from None
