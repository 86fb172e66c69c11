# SPDX-License-Identifier: Apache-2.0
"""The common parts of this project's JSON Schemas."""

from typing import Final

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect in which the schemas are written."""
