# SPDX-License-Identifier: Apache-2.0
"""The page: one file that opens offline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

from docsis_experiments.reports import embedding
from docsis_experiments.reproduction.page.values import values


def text(content: Mapping[str, Any]) -> str:
    """The page of a results.json.

    Args:
        content: The content of results.json; validated.
    """
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("docsis_experiments.reproduction.page", "."),
                PackageLoader("docsis_experiments.reports", "."),
            ]
        ),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("reproduction.html.j2").render(
        # What the other reports' page has, and this one has not.
        figures=(),
        scripts=(),
        times=(),
        faults=(),
        bad_news=False,
        topology="",
        summary={"versions": {}},
        policy=embedding.policy(()),
        **values(content),
    )
