# SPDX-License-Identifier: Apache-2.0
"""The hints that students get from p4c's words. The words are those of p4c 1.2.4.4."""

from __future__ import annotations

from typing import Final

import pytest

from docsis_labs.p4.compiler_words import first_error

NAME: Final = "token_bucket.p4"

COLLECTOR: Final = """\
GC Warning: pthread_getattr_np or pthread_attr_getstack failed for main thread
GC Warning: Could not open /proc/stat
"""
"""p4c's garbage collector says this in the sandbox, in front of everything else."""

WIDTH: Final = """\
token_bucket.p4(73): [--Werror=type-error] error: AssignmentStatement
            tokens = now - updated;
                   ^
  ---- Actual error:
  Cannot cast implicitly type 'bit<48>' to type 'bit<64>'
  ---- Originating from:
  token_bucket.p4(73): Source expression 'now - updated' produces a result of type 'bit<48>'
              tokens = now - updated;
                       ^^^^^^^^^^^^^
"""

CALL: Final = """\
token_bucket.p4(97): [--Werror=type-error] error: bucket_tokens.write
            bucket_tokens.write(standard_metadata.ingress_port, tokens);
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  ---- Actual error:
  Cannot cast implicitly type 'bit<9>' to type 'bit<32>'
  ---- Originating from:
  token_bucket.p4(97): Type of argument 'standard_metadata.ingress_port' (bit<9>) does not match
              bucket_tokens.write(standard_metadata.ingress_port, tokens);
                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  /usr/share/p4c/p4include/v1model.p4(351)
      void write(in bit<32> index, in T value);
                            ^^^^^
"""


def hint(words: str) -> str:
    """The hint as students get it."""
    return first_error(NAME, (COLLECTOR + words).encode())


def test_a_type_that_does_not_fit_is_told_with_p4c_s_own_sentence() -> None:
    assert hint(WIDTH) == (
        "token_bucket.p4, line 73: p4c says: Cannot cast implicitly type 'bit<48>' to type "
        "'bit<64>'. Source expression 'now - updated' produces a result of type 'bit<48>'"
    )
    assert hint(CALL) == (
        "token_bucket.p4, line 97: p4c says: Cannot cast implicitly type 'bit<9>' to type "
        "'bit<32>'. Type of argument 'standard_metadata.ingress_port' (bit<9>) does not match"
    )


def test_an_explanation_that_has_a_place_is_told_without_it() -> None:
    cast = "Cannot cast implicitly type 'tuple<bit<48>>' to type 'bit<64>'"
    told = hint(f"{NAME}(73): error: AssignmentStatement\n---- Actual error:\n  {NAME}(73): {cast}")
    assert told == f"{NAME}, line 73: p4c says: {cast}"


def test_an_origin_that_is_too_long_is_left_out() -> None:
    told = hint(WIDTH.replace("now - updated", "now - updated" * 20))
    assert told.endswith("p4c says: Cannot cast implicitly type 'bit<48>' to type 'bit<64>'")


def test_an_error_has_no_explanation_of_the_next_one() -> None:
    first = f"{NAME}(60): [--Werror=not-found] error: tokns: declaration not found\n  tokns = 1;\n"
    assert hint(first + WIDTH) == f"{NAME}, line 60: p4c says: tokns: declaration not found"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "token_bucket.p4:13:10: fatal error: v1modl.p4: No such file or directory\n"
            "   13 | #include <v1modl.p4>\n"
            "      |          ^~~~~~~~~~~\n"
            "compilation terminated.\n"
            "[--Werror=I/O error] error: Preprocessor returned exit code 256; aborting compilation",
            "token_bucket.p4, line 13: p4c says: v1modl.p4: No such file or directory",
        ),
        (
            "token_bucket.p4:14: error: unterminated #ifdef\n"
            "   14 | #ifdef FOO\n"
            "[--Werror=I/O error] error: Preprocessor returned exit code 256; aborting compilation",
            "token_bucket.p4, line 14: p4c says: unterminated #ifdef",
        ),
        (
            "token_bucket.p4(28): [--Wwarn=unused] warning: bucket_tokens: unused instance\n"
            "[--Wwarn=missing] warning: Program does not contain a `main' module",
            "token_bucket.p4 does not compile; p4c says: Program does not contain a `main' module. "
            "Is the file empty, or has it lost its end, `V1Switch(...) main;`?",
        ),
        (
            "token_bucket.p4(45): [--Wwarn=unused] warning: Unused action parameter rate_bps\n"
            "[--Werror=unsupported] error: bit<65536>: Compiler only supports widths up to 2048",
            "token_bucket.p4 does not compile; p4c says: bit<65536>: Compiler only supports widths "
            "up to 2048",
        ),
        (
            'token_bucket.p4(60):syntax error, unexpected IDENTIFIER "burst"',
            'token_bucket.p4, line 60: p4c says: syntax error, unexpected IDENTIFIER "burst"',
        ),
        ("", "token_bucket.p4 does not compile; p4c says: nothing"),
        (
            "libboost.so: cannot open shared object file",
            "token_bucket.p4 does not compile; p4c says: libboost.so: cannot open shared object "
            "file",
        ),
    ],
    ids=["include", "endif", "main", "no-line", "syntax", "nothing", "library"],
)
def test_the_first_error_is_told_and_nothing_of_the_garbage_collector(
    words: str, told: str
) -> None:
    assert hint(words) == told


def test_a_line_of_another_file_is_not_told_as_the_student_s() -> None:
    other = "/usr/share/p4c/p4include/v1model.p4(351): error: syntax\n"
    assert hint(other) == f"{NAME} does not compile; p4c says of v1model.p4, line 351: syntax"
    own = f"{NAME}(73): error: random\n"
    assert hint(other + own) == f"{NAME}, line 73: p4c says: random"


def test_what_a_terminal_would_obey_is_not_told() -> None:
    assert "\x1b" not in hint(f"{NAME}(1): error: \x1b[31mred")
    assert len(hint(f"{NAME}(1): error: {'a' * 5000}")) < 400
