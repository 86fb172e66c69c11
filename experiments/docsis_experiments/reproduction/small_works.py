# SPDX-License-Identifier: Apache-2.0
"""Works that are no runs: decisions drawn from the pipeline, and computations.

Each is known by what it is asked for and by the code that answers, as a run is.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from docsis_experiments.experiment.canonical import canonical, digest
from docsis_experiments.reproduction.row import Computation, Draws
from docsis_experiments.runs import loaded_code, sources
from docsis_experiments.runs.workers import Job
from docsis_testbed import switch_report
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4_BUILD
from docsis_testbed.versions import package

_SAMPLES: Final = "docsis_testbed.switch_report"
"""The module that asks the switch for draws."""


def key(work: Draws | Computation) -> str:
    """A hash of what is asked for and of what answers.

    Raises:
        TestbedError: The code cannot be read.
        TypeError: A computation is no function of a module.
    """
    return _key(_asked(work))


def _key(asked: Mapping[str, Any]) -> str:
    return digest({"asked": asked, "by": _answers(asked)})


def condition(work: Draws | Computation) -> str:
    """The same without the seed and the code: works of one condition cost about the same."""
    asked = _asked(work)
    if isinstance(work, Draws):
        words = ("", *work.arguments)
        asked = {"draws": [w for before, w in pairwise(words) if before != "--seed"]}
    return digest({**asked, "seed": None})


def job(work: Draws | Computation) -> Job[Draws | Computation]:
    """The work for another process."""
    name = "sampled" if isinstance(work, Draws) else "computed"
    words = f"{work.label}, seed {work.seed}"
    return Job(work, words, f"{__name__}:{name}", canonical(_asked(work)).encode())


def _asked(work: Draws | Computation) -> dict[str, Any]:
    if isinstance(work, Draws):
        return {"draws": list(work.arguments), "seed": work.seed}
    function, arguments = _function(work.compute)
    return {"computation": function, "arguments": arguments, "seed": work.seed}


def _answers(asked: Mapping[str, Any]) -> Mapping[str, str]:
    if "draws" in asked:
        return {
            "code": sources.code(_SAMPLES),
            "pipeline": sources.pipeline(),
            "switch": sources.switch(),
        }
    return {
        "code": sources.code(asked["computation"].partition(":")[0]),
        "pipeline": sources.pipeline(),
        "world": sources.parts("virtual")["world"],
        "python": sources.python(),
        "numpy": package("numpy"),
        "scipy": package("scipy"),
    }


def _function(compute: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """ "module:name" of a function, and what it gets beside the seed."""
    arguments: dict[str, Any] = {}
    if isinstance(compute, functools.partial):
        if compute.args:
            raise TypeError("a computation gets its seed by place, and all else by its name")
        arguments, compute = dict(compute.keywords), compute.func
    name = getattr(compute, "__qualname__", "")
    module = getattr(compute, "__module__", "")
    if not name.isidentifier() or getattr(importlib.import_module(module), name, 0) is not compute:
        raise TypeError(f"{compute!r} is no function of a module, so it cannot be a computation")
    return f"{module}:{name}", arguments


def check_draws() -> None:
    """Sees to it that `sampled` can ask the switch.

    Raises:
        TestbedError: It is not built, or was built without draws.
    """
    switch_report.check("sample", "drops")


def sampled(content: bytes, scratch: Path) -> bytes:
    """Asks the switch for draws, in a worker: its report as JSON, with the key as it is here.

    Raises:
        TestbedError: It is not built, refuses, or is another one than at this worker's first draw,
            as the pipeline may be.
    """
    del scratch
    program = str(P4_BUILD / "cm.json")
    loaded_code.of(_SAMPLES)
    asked = json.loads(content)
    arguments = asked["draws"]
    given = () if "--program" in arguments else ("--program", program)
    with sources.switch_unchanged():
        found = switch_report.run("sample", *arguments, *given)
    return canonical({"key": _key(asked), "found": found}).encode()


def computed(content: bytes, scratch: Path) -> bytes:
    """Computes, in a worker: numbers by their names, as JSON, with the key as it is here.

    Raises:
        TestbedError: The pipeline was changed, or code that this worker had not loaded yet.
        TypeError: The function gives something else.
    """
    del scratch
    asked = json.loads(content)
    module, _, name = asked["computation"].partition(":")
    compute = getattr(importlib.import_module(module), name)
    loaded_code.of(module)
    with sources.pipeline_unchanged():
        found = compute(asked["seed"], **asked["arguments"])
    numbers = {str(name): float(value) for name, value in found.items()}
    return json.dumps({"key": _key(asked), "found": numbers}, sort_keys=True).encode()


def understood(work: Draws | Computation, content: bytes) -> dict[str, Any]:
    """Reads the result of a work; it is validated.

    Raises:
        ValueError: It is nothing of the kind.
        TestbedError: Another version of the code made it than the one that was asked.
    """
    answer = json.loads(content)
    found = answer.get("found") if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        raise ValueError("it is no mapping")
    if answer.get("key") != key(work):
        raise TestbedError(sources.CHANGED)
    if isinstance(work, Computation) and not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in found.values()
    ):
        raise ValueError("it is no mapping to numbers")
    return found
