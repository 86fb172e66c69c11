# SPDX-License-Identifier: Apache-2.0
"""The verdicts as one HTML page that needs nothing beside it: a row is a requirement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from docsis_ptf.profiles import Profile
from docsis_ptf.verdicts import Judged, Outcome

_TEMPLATE = "matrix.html.j2"
# Inline Markdown as the plan uses it.
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_EMPHASIS = re.compile(r"\*([^*]+)\*")


@dataclass(frozen=True)
class Head:
    """The head of the page, about the run.

    Attributes:
        target: The tested target, as the tester called it.
        taken: When the run began, in ISO 8601.
        selection: The words of the selection, or "all".
        programs: The programs' files by name, with their SHA-256.
        machine: How late the tester's machine woke a program that sleeps.
        stopped: Why the run ended before its end; empty if it did not.
    """

    target: str
    taken: str
    selection: str
    programs: tuple[tuple[str, str], ...]
    machine: str
    stopped: str


def page(head: Head, profiles: Sequence[Profile], judged: Iterable[Judged]) -> str:
    """The HTML."""
    everything = tuple(judged)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline
    environment.filters["css"] = lambda outcome: str(outcome).replace(" ", "-")
    sections = [
        (name, tuple(members))
        for name, members in groupby(everything, key=lambda one: one.requirement.section)
    ]
    counted = Counter(one.outcome for one in everything)
    return environment.get_template(_TEMPLATE).render(
        head=head,
        profiles=profiles,
        sections=sections,
        totals=[(outcome, counted[outcome]) for outcome in Outcome],
        seconds=sum({v.test: v.seconds for one in everything for v in one.verdicts}.values()),
    )


def inline(markdown: str) -> Markup:
    """A cell's Markdown as HTML: code, emphasis, and of a link its text."""
    text = str(escape(markdown.replace("\\|", "|")))
    text = _LINK.sub(r"\1", text)
    text = _CODE.sub(r"<code>\1</code>", text)
    return Markup(_EMPHASIS.sub(r"<em>\1</em>", text))
