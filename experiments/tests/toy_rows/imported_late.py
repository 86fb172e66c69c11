# SPDX-License-Identifier: Apache-2.0
"""Imported only within a function."""

from __future__ import annotations

from typing import Final

NUMBER: Final = 1.0
