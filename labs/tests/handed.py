# SPDX-License-Identifier: Apache-2.0
"""Submissions that are no folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from docsis_labs.p4.program import Program

if TYPE_CHECKING:
    from pydantic import BaseModel

    from docsis_labs.student.client import Student


class Handed:
    """A submission of one compiled program, whatever file is asked for."""

    def __init__(self, handed_in: Program) -> None:
        self._program = handed_in

    def program(self, name: str) -> Program:
        """The program."""
        del name
        return self._program

    def text(self, name: str) -> NoReturn:
        """It has no text."""
        raise AssertionError(f"nobody needs the text of {name}")

    def document(self, name: str, model: type[BaseModel]) -> NoReturn:
        """It has no documents."""
        raise AssertionError(f"nobody needs {name} as {model}")

    def printed(self) -> str:
        """It has no Python that could print."""
        return ""

    def python(self, name: str) -> Student:
        """It has no Python."""
        raise AssertionError(f"nobody needs the functions of {name}")
