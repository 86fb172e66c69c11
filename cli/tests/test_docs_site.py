# SPDX-License-Identifier: Apache-2.0
"""The documentation holds together: the navigation has every page, and links lead somewhere.

`make docs` says the same of the site that it builds; this needs nothing but the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from documentation import DOCS, ROOT, anchors, links, pages
from ruamel.yaml import YAML

SITE = YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text("utf-8"))


def _in_navigation(entries: list[object]) -> Iterator[str]:
    for entry in entries:
        match entry:
            case str():
                yield entry
            case dict():
                for value in entry.values():
                    yield from _in_navigation(value if isinstance(value, list) else [value])


def test_the_navigation_has_every_page_once() -> None:
    listed = list(_in_navigation(SITE["nav"]))
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(there)


def test_nothing_is_fetched() -> None:
    assert SITE["theme"]["font"] is False
    assert all((DOCS / script).is_file() for script in SITE["extra"]["polyfills"])


@cache
def _anchors(page: Path) -> set[str]:
    return anchors(page)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        parts = urlsplit(link.target)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not target.exists():
            broken.append(f"line {link.line}: {link.target}: there is no such file")
        elif parts.fragment and target.suffix == ".md" and parts.fragment not in _anchors(target):
            broken.append(f"line {link.line}: {link.target}: the page has no such heading")
    assert not broken, "\n".join(broken)
