# SPDX-License-Identifier: Apache-2.0
"""Numbers in texts of somebody else's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.digits import decimal


@given(number=st.integers(0, 2**130), last=st.integers(0, 2**130))
def test_a_number_is_read_up_to_the_last(number: int, last: int) -> None:
    assert decimal(str(number), last) == (number if number <= last else None)


@given(text=st.text())
def test_any_text_is_a_number_or_none(text: str) -> None:
    found = decimal(text, 65535)
    assert found is None or text.lstrip("0") in (str(found), "")


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "\u0661", "\u00b2", "9" * 5000])
def test_what_is_no_number(text: str) -> None:
    assert decimal(text, 65535) is None
