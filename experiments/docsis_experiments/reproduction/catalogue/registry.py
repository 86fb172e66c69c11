# SPDX-License-Identifier: Apache-2.0
"""The history of the rules' hashes: a changed rule shows as such, with its date.

`hashes.json` has for each rule the hashes that it had, oldest first, and for each paper those of
what its rules have in common. Who changes a rule adds an `amended` entry to the file, with the hash
that it had, and the new hash here. The first hashes of all are those that were registered before
any run that counts: `REGISTERED` is of them, and never changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from docsis_control.config.errors import ConfigError, Problem
from docsis_experiments.experiment.canonical import digest
from docsis_experiments.reproduction.catalogue.rule import Amendment

HASHES: Final = Path(__file__).with_name("hashes.json")

REGISTERED: Final = "8ff42da52a18c4f573f7ef3ef2e025b2cea662c26c6463f6c7c0c5acd632367d"
"""The hash over the first hash of every rule and paper."""

_MOST_BYTES: Final = 1_000_000

Hashes = Mapping[str, tuple[str, ...]]


def read_hashes(file: Path = HASHES) -> Hashes:
    """Reads the hashes of the file.

    Raises:
        ConfigError: It cannot be read, or is something else.
    """
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigError([Problem(file, 0, "", f"has more than {_MOST_BYTES} bytes")])
        found = json.loads(file.read_text(encoding="utf-8"))
        return TypeAdapter(dict[str, tuple[str, ...]]).validate_python(found)
    except (OSError, UnicodeDecodeError, RecursionError, json.JSONDecodeError) as error:
        raise ConfigError([Problem(file, 0, "", f"cannot be read: {error}")]) from None
    except ValidationError:
        raise ConfigError(
            [Problem(file, 0, "", "has to have a list of hashes for every rule and paper")]
        ) from None


def first_of(hashes: Hashes) -> str:
    """The hash of what was registered at first; see `REGISTERED`."""
    return digest({name: of[0] for name, of in hashes.items() if of})


def fault(name: str, now: str, amended: Sequence[Amendment], hashes: Hashes) -> str:
    """Tells what is wrong with a rule's history, in words; "" where nothing is.

    Args:
        name: The rule's id, or the paper.
        now: The hash that it has.
        amended: What its file says.
        hashes: All of the registry.
    """
    had = hashes.get(name)
    if not had:
        return "is not registered: hashes.json has no hash of it"
    said = (*(one.before for one in amended), now)
    if said == had:
        return ""
    if now not in had:
        return (
            f"was changed and has the hash {now}, which is not registered: add an entry to "
            f"`amended` with the hash {had[-1]} that it had, and {now} to hashes.json"
        )
    return (
        f"has {len(amended)} entries in `amended`, which do not tell how it came from "
        f"{' by '.join(had)} to {now}"
    )


def gone(names: Iterable[str], hashes: Hashes) -> list[str]:
    """The registered names that are no longer there."""
    return sorted(hashes.keys() - set(names))
