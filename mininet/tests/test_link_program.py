# SPDX-License-Identifier: Apache-2.0
"""Requests to the program of the links: one that fails ends none of the other links."""

from __future__ import annotations

import io
import json

import pytest

from docsis_testbed.docsis_links import Wanted
from docsis_testbed.errors import TestbedError
from docsis_testbed.link_program import serve


class Links:
    """Links that are only counted; the tier says what happens to one."""

    def __init__(self) -> None:
        self.there: list[int] = []

    def add(self, number: int, wanted: Wanted) -> None:
        """Adds one, or fails."""
        match wanted.tier:
            case "refused":
                raise TestbedError("no such tier")
            case "machine":
                raise OSError(12, "Cannot allocate memory")
            case "defect":
                raise ValueError("embedded null byte")
        self.there.append(number)

    def remove(self, number: int) -> None:
        """Ends one."""
        self.there.remove(number)


def answers(links: Links, *requests: dict[str, object]) -> list[dict[str, object]]:
    """The answers to requests, in order."""
    found: list[dict[str, object]] = []
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    serve(io.StringIO(lines), links, lambda number, **more: found.append({"to": number, **more}))
    return found


def link(number: int, tier: str) -> dict[str, object]:
    """The request for a link."""
    ends: list[object] = [{}, {}]
    return {
        "do": "add",
        "request": number,
        "number": number,
        "ends": ends,
        "tier": tier,
        "aqm": "docsis-pie",
    }


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        ("refused", "no such tier"),
        ("machine", "Cannot allocate memory"),
        ("defect", "a defect of docsis_link (ValueError: embedded null byte)"),
    ],
)
def test_a_request_that_fails_is_refused_and_the_next_is_done(tier: str, words: str) -> None:
    links = Links()
    one, two, three = answers(links, link(1, "fine"), link(2, tier), link(3, "fine"))
    assert one == {"to": 1}
    assert two["to"] == 2
    assert words in str(two["error"])
    assert three == {"to": 3}
    assert links.there == [1, 3]


def test_the_place_of_a_defect_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    answers(Links(), link(1, "defect"))
    assert "ValueError: embedded null byte" in capsys.readouterr().err


def test_what_is_no_request_is_refused() -> None:
    links = Links()
    none, done, fine = answers(
        links, {"request": 7}, link(8, "fine"), {"do": "remove", "request": 9, "number": 8}
    )
    assert (none["to"], done, fine) == (7, {"to": 8}, {"to": 9})
    assert "the request of a link is none" in str(none["error"])
    assert links.there == []
