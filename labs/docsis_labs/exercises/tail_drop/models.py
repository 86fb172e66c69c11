# SPDX-License-Identifier: Apache-2.0
"""The choices of students in exercise 4."""

from __future__ import annotations

from typing import Final

from pydantic import Field, field_validator

from docsis_control.config.models import MAX_FRAME, Model
from docsis_control.config.units import Buffer, BufferLimit

RATE: Final = 20_000_000
"""Maximum Sustained Traffic Rate of the exercise's modem, bit/s."""

_LARGEST: Final = 10_000_000


class Choice(Model):
    """buffer.yaml."""

    buffer: Buffer = Field(description='Bytes that may wait, such as "30 KB".')

    @field_validator("buffer")
    @classmethod
    def _possible(cls, value: BufferLimit) -> BufferLimit:
        if not MAX_FRAME <= value.bytes_at(RATE) <= _LARGEST:
            raise ValueError(
                f"a buffer has from {MAX_FRAME} B, a largest frame, to {_LARGEST // 10**6} MB"
            )
        return value
