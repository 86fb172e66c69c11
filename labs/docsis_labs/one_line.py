# SPDX-License-Identifier: Apache-2.0
"""Words of somebody else's in a line of ours."""


def in_one_line(words: str) -> str:
    """The words with a space for each character that ends a line or that a terminal would obey."""
    return "".join(character if character.isprintable() else " " for character in words)
