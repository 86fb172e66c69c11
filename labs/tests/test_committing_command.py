# SPDX-License-Identifier: Apache-2.0
"""The maintainers' command that compiles exercises."""

from __future__ import annotations

import pytest

from docsis_labs.p4 import committing


@pytest.mark.parametrize(
    ("argument", "words"),
    [("shaper", "invalid int value: 'shaper'"), ("99", "there is no exercise 99; there are 1, 2")],
)
def test_what_is_no_exercise_is_told(
    argument: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        committing.main([argument])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
