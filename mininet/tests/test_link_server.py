# SPDX-License-Identifier: Apache-2.0
"""The conversation between docsis_link and the program that runs its links, without root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docsis_link import server
from docsis_link.server import DocsisLinkError, Server
from docsis_testbed.paths import ROOT

PROGRAM = """
import json, os, signal, sys, time

def answer(request, **content):
    print(json.dumps({"request": request, **content}), flush=True)

log = open(os.environ["LOG"], "a", buffering=1)
answer(0)
for line in sys.stdin:
    asked = json.loads(line)
    print(asked["do"], asked["number"], file=log)
    match asked.get("tier"):
        case "refused":
            answer(asked["request"], error="no such tier")
        case "interrupted":
            os.kill(os.getppid(), signal.SIGINT)
            # The script has given up by now, and gets the answer all the same.
            next_line = json.loads(sys.stdin.readline())
            answer(asked["request"])
            print(next_line["do"], next_line["number"], file=log)
            answer(next_line["request"])
        case "ends":
            break
        case "silent":
            time.sleep(60)
        case _:
            answer(asked["request"])
"""
"""Stands in for docsis_testbed.link_program, and does what a link's tier says."""


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    (tmp_path / "link_program_of_a_test.py").write_text(PROGRAM)
    monkeypatch.setattr(server, "_PROGRAM", "link_program_of_a_test")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    made = Server()
    yield made
    made.end()


def asked(folder: Path, lines: int) -> list[str]:
    """Returns what the program was asked, once there are so many lines."""
    deadline = time.monotonic() + 60
    while len(found := (folder / "log").read_text().splitlines()) < lines:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def link(tier: str, **keys: Any) -> dict[str, Any]:
    return {"tier": tier, **keys}


def test_a_refusal_is_told_and_the_links_go_on(links: Server, tmp_path: Path) -> None:
    first = links.add(link("fine"))
    with pytest.raises(DocsisLinkError, match="no such tier"):
        links.add(link("refused"))
    third = links.add(link("fine"))
    links.remove(first)
    links.remove(third)
    assert asked(tmp_path, 4) == ["add 1", "add 2", "add 3", "remove 1"]


def test_the_answer_to_an_interrupted_request_is_nobody_elses(
    links: Server, tmp_path: Path
) -> None:
    first = links.add(link("fine"))
    # Tests in the background of a shell ignore it otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            links.add(link("interrupted"))
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(DocsisLinkError, match="no such tier"):
        links.add(link("refused"))
    assert asked(tmp_path, 4) == ["add 1", "add 2", "remove 2", "add 3"]
    links.remove(first)


def test_a_program_that_has_ended_is_told_and_does_not_stop_mininet(
    links: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = links.add(link("fine")), links.add(link("fine"))
    with pytest.raises(DocsisLinkError, match="the program of the DOCSIS links has ended"):
        links.add(link("ends"))
    links.remove(first)
    assert "docsis_link: the program of the DOCSIS links has ended" in capfd.readouterr().err
    links.remove(second)
    # And new links get a new program.
    links.remove(links.add(link("fine")))


def test_no_answer_is_waited_for_without_end(
    links: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    links.add(link("fine"))
    monkeypatch.setattr(server, "_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(server, "_END_SECONDS", 0.1)
    with pytest.raises(DocsisLinkError, match="has not answered for 0 s; it has been ended"):
        links.add(link("silent"))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"channel": {1, 2}}, "a value that no file could have"),
        ({"description": "x" * server.LONGEST}, "bytes of arguments, and may have 65535"),
    ],
)
def test_what_cannot_be_sent_is_refused(links: Server, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(DocsisLinkError, match=words):
        links.add(link("fine", keys=keys))


def test_without_mininet_it_is_said_what_to_install() -> None:
    script = "import sys; sys.modules['mininet.link'] = None; import docsis_link"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "mininet")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: docsis_link needs Mininet, which {sys.executable} cannot")
    assert "run `make setup` as root in the clone, or install Debian's package mininet" in last
