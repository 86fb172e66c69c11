# SPDX-License-Identifier: Apache-2.0
"""A submission as criteria see it: text, documents, Python in a sandbox, a compiled P4 program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    from docsis_labs.p4.program import Program
    from docsis_labs.student.client import Student

ModelT = TypeVar("ModelT", bound="BaseModel")


class Submission(Protocol):
    """A student's files. Whatever is wrong with them raises a `SubmissionError`."""

    def text(self, name: str) -> str:
        """A file's text.

        Raises:
            SubmissionError: It is missing, too long, no file or no UTF-8.
        """

    def document(self, name: str, model: type[ModelT]) -> ModelT:
        """A YAML file as a model.

        Raises:
            SubmissionError: As of `text`; it is no YAML; a key has a value that it cannot have.
        """

    def python(self, name: str) -> Student:
        """A Python file's functions, in a process of their own. The same one each time.

        Raises:
            SubmissionError: As of `text`; it cannot be imported.
        """

    def printed(self) -> str:
        """What the functions of `python` have printed since this was last asked.

        It is short, and has whatever the student's code has put into it.
        """

    def program(self, name: str) -> Program:
        """A P4 file, compiled.

        Raises:
            SubmissionError: As of `text`; it does not compile; there is no compiler.
        """
