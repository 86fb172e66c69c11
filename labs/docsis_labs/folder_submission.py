# SPDX-License-Identifier: Apache-2.0
"""A submission that is a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from docsis_labs import files
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import P4, PYTHON, YAML, Exercise, Kind
from docsis_labs.sandbox.sandbox import Sandbox
from docsis_labs.student.printed import Printed

if TYPE_CHECKING:
    from pydantic import BaseModel

    from docsis_labs.p4.program import Program
    from docsis_labs.student.client import Student

    ModelT = TypeVar("ModelT", bound=BaseModel)


class FolderSubmission:
    """The files of a folder: see `docsis_labs.submission.Submission`."""

    def __init__(self, exercise: Exercise, folder: Path, sandbox: Sandbox) -> None:
        """Reads nothing yet.

        Args:
            exercise: What it is for.
            folder: Where the files are.
            sandbox: Where its programs run.
        """
        self._exercise = exercise
        self._folder = folder
        self._sandbox = sandbox
        self._printed = Printed()
        self._students: dict[str, Student] = {}
        self._programs: dict[str, Program] = {}
        self._failures: dict[str, SubmissionError] = {}

    def text(self, name: str) -> str:
        """A file's text."""
        self._exercise.file(name)
        return files.read_text(self._folder, name)

    def document(self, name: str, model: type[ModelT]) -> ModelT:
        """A YAML file as a model."""
        self._check(name, YAML)
        text = self.text(name)
        from docsis_control.config import yaml_file
        from docsis_control.config.errors import ConfigError

        try:
            document = yaml_file.parse(text, Path(name))
            return yaml_file.validate(document, model, yaml_file.plain(document.root))
        except ConfigError as error:
            mistake = "not-yaml" if "is not YAML" in str(error) else "bad-value"
            raise SubmissionError(mistake, f"{error}.") from None

    def python(self, name: str) -> Student:
        """A Python file's functions, in a process of their own."""
        self._check(name, PYTHON)
        if name in self._failures:
            raise self._failures[name]
        if name not in self._students:
            from docsis_labs.student.client import Student

            try:
                self._students[name] = Student(self._sandbox, name, self.text(name), self._printed)
            except SubmissionError as error:
                # It would fail in the same way for each criterion, and take its time again.
                self._failures[name] = error
                raise
        return self._students[name]

    def printed(self) -> str:
        """What the functions of `python` have printed since this was last asked."""
        return self._printed.take()

    def program(self, name: str) -> Program:
        """A P4 file, compiled."""
        self._check(name, P4)
        if name in self._failures:
            raise self._failures[name]
        if name not in self._programs:
            from docsis_labs.p4.compiling import program

            try:
                self._programs[name] = program(self._exercise, name, self.text(name), self._sandbox)
            except SubmissionError as error:
                self._failures[name] = error
                raise
        return self._programs[name]

    def close(self) -> None:
        """Ends the student's processes."""
        for student in self._students.values():
            student.close()

    def _check(self, name: str, kind: Kind) -> None:
        if self._exercise.file(name).kind is not kind:
            raise ValueError(f"{name} is not {kind}")
