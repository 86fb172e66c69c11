# SPDX-License-Identifier: Apache-2.0
"""Options that would have no effect are refused before anything begins, and told by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import docsis_p4

WITHOUT_EFFECT = [
    (("bench", "--virtual", "5", "--soak", "20"), "--soak has no place here: --virtual"),
    (("bench", "--virtual", "5", "--seconds", "2"), "--seconds has no place here: --virtual"),
    (("bench", "--soak", "20", "--repetitions", "2"), "--repetitions has no place here: --soak"),
    (("bench", "--soak", "20", "--json", "x.json"), "--json has no place here: --soak"),
    (("bench", "--all", "--soak", "20"), "--soak has no place here: --all"),
    (("bench", "--output", "x"), "--output has no place here: only --all"),
    (("demo", "--live-port", "9000"), "--live-port has no place here: it is the port"),
    (("run", "--live-port", "9000"), "--live-port has no place here: it is the port"),
    (("show", "--json", "channel"), "--json has no effect before channel; options of docsis-p4"),
    (("show", "-m", "cm1", "channel"), "--modem has no effect before channel; options of docsis"),
]


@pytest.mark.parametrize(("arguments", "words"), WITHOUT_EFFECT)
def test_an_option_without_effect_is_refused(arguments: tuple[str, ...], words: str) -> None:
    ended = docsis_p4(*arguments)
    assert ended.returncode == 1
    told = ended.stderr.strip()
    assert told.startswith(f"docsis-p4: {words}")
    assert "\n" not in told


@pytest.mark.parametrize("command", [("bench", "--virtual", "5"), ("bench",), ("chaos",)])
def test_a_file_that_cannot_be_written_is_told_before_the_work(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    for file, words in (
        (tmp_path, "is a folder; give a file"),
        (tmp_path / "none" / "x.json", f"there is no folder {tmp_path / 'none'}"),
    ):
        ended = docsis_p4(*command, "--json", str(file))
        assert ended.returncode == 1
        assert ended.stderr.strip() == f"docsis-p4: --json {file}: {words}"
