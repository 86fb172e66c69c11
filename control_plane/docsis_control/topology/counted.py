# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in YAML, with the things' name for a unit."""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Counted:
    """Makes an int a number of things: a number in Python, "50 packets" in YAML.

    Attributes:
        unit: Name of the counted things, in the plural.
        least: The least number that may stand there.
        most: The greatest.
        what: Meaning of the number, for messages.
        example: A usual number.
    """

    unit: str
    least: int
    most: int
    what: str
    example: int

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            self._parsed,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(
                self._written, return_schema=core_schema.str_schema()
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema, handler
        example = self._written(self.example)
        return {"type": "string", "pattern": f"^[0-9]+ {self.unit}$", "examples": [example]}

    def _written(self, number: int) -> str:
        return f"{number} {self.unit}"

    def _parsed(self, value: object) -> int:
        """The number that stands there."""
        suffix = f" {self.unit}"
        if isinstance(value, int) and not isinstance(value, bool):
            raise ValueError(f'{value} has no unit; write "{self._written(value)}"')
        if not isinstance(value, str) or not value.removesuffix(suffix).isdecimal():
            example = self._written(self.example)
            raise ValueError(f'"{value}" is no number of {self.unit}; write "{example}"')
        number = int(value.removesuffix(suffix))
        if not value.endswith(suffix) or not self.least <= number <= self.most:
            raise ValueError(
                f'"{value}" is not within "{self._written(self.least)}" and '
                f'"{self._written(self.most)}"; {self.what} has its unit with it'
            )
        return number
