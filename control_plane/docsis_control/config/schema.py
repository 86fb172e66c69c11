# SPDX-License-Identifier: Apache-2.0
"""What JSON Schemas of this project have in common."""

from typing import Final

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""What the schemas are written in."""
