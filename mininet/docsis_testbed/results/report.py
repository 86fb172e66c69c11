# SPDX-License-Identifier: Apache-2.0
"""report.html: everything in one file that opens offline."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docsis_control.plan import AqmChoice
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from docsis_testbed.errors import TestbedError
from docsis_testbed.measure import voice
from docsis_testbed.results import summary as summary_file
from docsis_testbed.results.plots import STYLES


@dataclass(frozen=True)
class Figure:
    """A picture of the report.

    Attributes:
        file: Name in plots/.
        title: Heading.
        alt: What it shows, for those who do not see it.
        caption: How to read it.
    """

    file: str
    title: str
    alt: str
    caption: str


LATENCY: Final = Figure(
    "latency-cdf.png",
    "Latency",
    "Cumulative distributions of one-way upstream latency, one line for each queue manager.",
    "Probes are frames of 218 bytes every 20 ms, from the first host to the first server. "
    "The path's propagation delay is on the way back, so this is what the upstream queue adds.",
)
OVER_TIME: Final = Figure(
    "over-time.png",
    "Over time",
    "Goodput, queue delay and drop probability over time.",
    "All runs laid over each other; zero is the start of the measured time, grey is ramp-up.",
)


def write(folder: Path) -> Path:
    """Write a run's report from its files.

    Args:
        folder: The run's folder, with summary.json, details.json, inputs and plots.

    Raises:
        TestbedError: a file is missing or broken.
    """
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
        details: dict[str, Any] = json.loads((folder / "details.json").read_text())
        topology = (folder / "inputs" / "topology.yaml").read_text()
        figures = [_embedded(folder, figure) for figure in (LATENCY, OVER_TIME)]
    except FileNotFoundError as error:
        raise TestbedError(
            f"{error.filename}: is missing; give the folder of a finished run under results/"
        ) from None
    except json.JSONDecodeError as error:
        raise TestbedError(f"{folder}: summary.json or details.json is broken: {error}") from None
    summary_file.validate(summary)
    environment = Environment(
        loader=PackageLoader("docsis_testbed.results", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    rows = [
        {
            "run": run,
            "label": STYLES[AqmChoice(run["aqm"])].label,
            "colour": STYLES[AqmChoice(run["aqm"])].colour,
        }
        for run in summary["runs"]
    ]
    page = environment.get_template("report.html.j2").render(
        title=f"Upstream latency under load: {summary['topology']}, {summary['tier']}",
        subtitle=f"{details['started']}, {summary['target']} switch",
        summary=summary,
        details=details,
        rows=rows,
        figures=figures,
        topology=topology,
        jitter_buffer_ms=voice.JITTER_BUFFER_MS,
    )
    path = folder / "report.html"
    path.write_text(page)
    return path


def _embedded(folder: Path, figure: Figure) -> dict[str, str]:
    data = (folder / "plots" / figure.file).read_bytes()
    return {
        "title": figure.title,
        "alt": figure.alt,
        "caption": figure.caption,
        "data": base64.b64encode(data).decode("ascii"),
    }
