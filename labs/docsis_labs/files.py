# SPDX-License-Identifier: Apache-2.0
"""Reads a student's files, which may be anything: links, pipes, gigabytes."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from docsis_labs.errors import SubmissionError

LONGEST: Final = 64 << 10
"""Bytes of a student's file."""


def check_folder(folder: Path) -> None:
    """Looks whether there is a folder.

    Raises:
        SubmissionError: There is none.
    """
    try:
        mode = os.lstat(folder).st_mode
    except OSError as error:
        raise SubmissionError(
            "missing-file", f"The folder cannot be read: {error.strerror}."
        ) from None
    if not stat.S_ISDIR(mode):
        raise SubmissionError("missing-file", "It is not a folder (a link is none, either).")


def read_bytes(folder: Path, name: str) -> bytes:
    """A file's content.

    Args:
        folder: Where it is.
        name: Its name there.

    Raises:
        SubmissionError: It is missing, is not a file, or is too long.
    """
    check_folder(folder)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(folder / name, flags)
    except FileNotFoundError:
        raise SubmissionError(
            "missing-file",
            f"{name} is missing: hand in the file by this name, in the folder itself.",
        ) from None
    except OSError as error:
        words = "is a link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise SubmissionError("no-file", f"{name} {words}: hand in the file itself.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError("no-file", f"{name} is not a file: hand in the file itself.")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise SubmissionError(
            "too-long", f"{name} is longer than {LONGEST >> 10} kB: hand in your own lines alone."
        )
    return content


def read_text(folder: Path, name: str) -> str:
    """A file's text.

    Raises:
        SubmissionError: As of `read_bytes`, or it is not text.
    """
    try:
        text = read_bytes(folder, name).decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise SubmissionError("not-text", f"{name} is not text in UTF-8: save it as that.")
    return text
