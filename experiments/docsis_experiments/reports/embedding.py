# SPDX-License-Identifier: Apache-2.0
"""Charts in a page that opens offline: their script once, their data, and what may run.

A chart is stored beside its picture as BokehJS reads it. In the page it is data, which no browser
runs; what runs is two scripts of ours and Bokeh's, which the page's policy names by their hashes.
Nothing else may run, nothing may be loaded, and no text becomes code: the policy has no
'unsafe-eval', which BokehJS needs for models that carry code, and charts have none of those.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_experiments.reports.plots.chart import Chart

MOST_BYTES: Final = 2 << 20
"""The largest file of a chart."""

_KEYS: Final = {"doc", "root_id", "target_id", "version"}

_POLICY: Final = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)


def as_data(chart: Chart) -> str:
    """A chart for its file.

    Raises:
        ValueError: It is longer than a file may be.
    """
    from bokeh.embed import json_item

    text = json.dumps(json_item(chart.layout()), separators=(",", ":"))
    if len(text) > MOST_BYTES:
        raise ValueError(f"a chart of {len(text)} bytes; there may be {MOST_BYTES}")
    return text


def read(path: Path) -> str | None:
    """A chart's file as a page may have it within a script element; None where there is none.

    Raises:
        TestbedError: It is no chart.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        if len(content) > MOST_BYTES:
            raise ValueError(f"is longer than {MOST_BYTES} bytes")
        found = json.loads(content)
        if not isinstance(found, dict) or found.keys() != _KEYS:
            raise ValueError("is no chart")
    except (ValueError, RecursionError) as error:
        raise TestbedError(
            f"{path}: is damaged ({error}); without it the page has the picture alone"
        ) from None
    # Within a script element only "<" could end it.
    return json.dumps(found, separators=(",", ":")).replace("<", "\\u003c")


@functools.cache
def scripts() -> tuple[str, ...]:
    """The scripts of a page with charts, in order: BokehJS, and one that places the charts.

    Raises:
        TestbedError: Bokeh's script is not one that a page can hold.
    """
    bokeh = resources.files("bokeh").joinpath("server", "static", "js", "bokeh.min.js")
    ours = resources.files("docsis_experiments.reports").joinpath("charts.js")
    found = tuple(file.read_text(encoding="utf-8") for file in (bokeh, ours))
    # As Python read it, so does a browser: line ends are "\n", and no element ends within it.
    if any("</script" in text.lower() or "<!--" in text for text in found):
        raise TestbedError("Bokeh's script cannot be put into a page: an element ends within it")
    return found


def policy(run: tuple[str, ...]) -> str:
    """The page's content security policy: these scripts, and nothing else.

    Args:
        run: Texts of the script elements that may run.
    """
    if not run:
        return _POLICY
    digests = [hashlib.sha256(text.encode()).digest() for text in run]
    sources = [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests]
    return f"{_POLICY}; script-src {' '.join(sources)}"
