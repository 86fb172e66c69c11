# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes any program that sleeps: kept with results, so that they compare.

`docsis-switch bench timers` measures it, with sleeps of 1.5 ms, before anything else runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_testbed import switch_report

SECONDS: Final = 2.0
"""Long enough for a p99: some thousand sleeps."""

_POLICIES: Final[Mapping[str, str]] = {
    "realtime": "under SCHED_RR",
    "other": "under the ordinary policy",
}
"""Keys of the switch's report, and words."""


def measured(seconds: float = SECONDS) -> dict[str, Any]:
    """The machine's lateness, for summary.json; its shape is in timing.schema.json.

    Raises:
        TestbedError: The switch is not built, or failed.
    """
    report = switch_report.run("bench", "timers", "--seconds", f"{seconds:g}", "--json")
    return {"seconds": report["seconds"]} | {
        policy: None
        if (found := report.get(policy)) is None
        else {
            "samples": found["samples"],
            "lateness_ms": {
                key: found[f"{name}_ns"] / 1e6
                for key, name in (("p50", "p50"), ("p99", "p99"), ("max", "most"))
            },
        }
        for policy in _POLICIES
    }


def p99_ms(timers: Mapping[str, Any]) -> float:
    """The lateness of the policy that switches run under, at p99, milliseconds."""
    return float((timers["realtime"] or timers["other"])["lateness_ms"]["p99"])


def words(timers: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    if "absent" in timers:
        return f"{timers['absent'][:1].upper()}{timers['absent'][1:]}."
    found = []
    for policy, how in _POLICIES.items():
        if timers[policy] is not None:
            late = timers[policy]["lateness_ms"]
            found.append(f"{late['p50']:.2f} / {late['p99']:.2f} / {late['max']:.2f} ms {how}")
    return f"This machine wakes a thread late by (p50 / p99 / most) {' and '.join(found)}."
