# SPDX-License-Identifier: Apache-2.0
"""The referee's results: a file of figures, in the shape of results.schema.json.

The referee itself is no part of the project: its licence is another one. What it measured is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jsonschema

from docsis_testbed.errors import TestbedError

_PACKAGE: Final = "docsis_experiments.acceptance.referee"

RECORDED: Final = Path(str(resources.files(_PACKAGE).joinpath("docsis-ns3.json")))
"""The measurements of docsis-ns3, made as docs/virtual-time.md says."""


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema of this package: `results` or `referee`."""
    file = resources.files(_PACKAGE).joinpath(f"{name}.schema.json")
    parsed: dict[str, Any] = json.loads(file.read_text())
    return parsed


@dataclass(frozen=True)
class Results:
    """The referee's measurements.

    Attributes:
        about: Which programs, when, and on which machine.
        runs: By queue manager, one mapping of quantities for each run.
    """

    about: dict[str, Any]
    runs: dict[str, list[dict[str, float]]]

    def values(self, manager: str, quantity: str) -> list[float]:
        """One of each run, in order."""
        return [run[quantity] for run in self.runs[manager]]


def load(path: Path) -> Results:
    """Reads a referee's results.

    Raises:
        TestbedError: The file cannot be read, or is not in that shape.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text())
        jsonschema.validate(content, schema("results"))
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise TestbedError(f"{path}: is not JSON ({error})") from None
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top"
        raise TestbedError(f"{path}: {place}: {error.message}") from None
    return Results(content["about"], content["runs"])
