# SPDX-License-Identifier: Apache-2.0
"""report.html: everything in one file that opens offline."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from docsis_experiments.reports import (
    comparison_page,
    document,
    embedding,
    figures_page,
    population_page,
    repeated_page,
    single_page,
    sweep_page,
)
from docsis_experiments.reports.page import Figure, Page
from docsis_experiments.reports.plots import registry
from docsis_experiments.reports.plots.registry import plots_of
from docsis_testbed.errors import TestbedError

PAGES: Final[Mapping[str, Page]] = {
    "figures": figures_page.PAGE,
    "scenario": single_page.PAGE,
    "sweep": sweep_page.PAGE,
    "repeated": repeated_page.PAGE,
    "comparison": comparison_page.PAGE,
    "population": population_page.PAGE,
}
"""The kinds of pages, by experiment."""


def complete(
    folder: Path, summary: dict[str, Any], details: dict[str, Any], subject: object
) -> None:
    """Write summary.json, details.json, what there is to be drawn, and the report.

    Args:
        folder: The run's folder; what else its report shows is there.
        summary: Validated.
        details: Times, traffic, and what the summary leaves out.
        subject: What the plots of this kind of result are given.

    Raises:
        TestbedError: a file is missing.
    """
    for name, content in (("summary", summary), ("details", details)):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    kind = PAGES[document.experiment_of(summary)].kind
    registry.write(kind, summary, subject, folder / "plots")
    write(folder)


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
        # The code below relies on the shape of the summary.
        document.validate(summary)
        page = PAGES.get(document.experiment_of(summary))
        if page is None:
            raise TestbedError(f"{folder}: has no report of its own to be written anew")
        inputs = folder / "inputs" / "topology.yaml"
        topology = inputs.read_text() if page.has_topology else ""
        figures = [
            _embedded(folder, plot)
            for plot in plots_of(page.kind, summary)
            if (folder / "plots" / plot.file).is_file()
        ]
    except FileNotFoundError as error:
        raise TestbedError(
            f"{error.filename}: is missing; give the folder of a finished run under results/"
        ) from None
    except OSError as error:
        raise TestbedError(
            f"{error.filename}: cannot be read ({error.strerror}); give the folder of a finished "
            "run under results/"
        ) from None
    except json.JSONDecodeError as error:
        raise TestbedError(f"{folder}: summary.json or details.json is broken: {error}") from None
    scripts = embedding.scripts() if any(figure["chart"] for figure in figures) else ()
    environment = Environment(
        loader=PackageLoader("docsis_experiments.reports", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    text = environment.get_template(page.template).render(
        summary=summary,
        details=details,
        figures=figures,
        scripts=scripts,
        policy=embedding.policy(scripts),
        topology=topology,
        # What an experiment may leave out.
        **{"opening": (), "bad_news": False, "times": (), "faults": (), "machine": ""}
        | page.values(summary, details),
    )
    path = folder / "report.html"
    # A policy has hashes of bytes.
    path.write_text(text, encoding="utf-8")
    return path


def _embedded(folder: Path, figure: Figure) -> dict[str, str | None]:
    data = (folder / "plots" / figure.file).read_bytes()
    return {
        "title": figure.title,
        "alt": figure.alt,
        "caption": figure.caption,
        "data": base64.b64encode(data).decode("ascii"),
        "chart": embedding.read(folder / "plots" / figure.chart_file),
    }
