# SPDX-License-Identifier: Apache-2.0
"""The verdicts as JUnit XML for build servers: a suite is a section, a case a requirement."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from docsis_ptf.verdicts import Judged, Outcome

# XML 1.0, section 2.2: characters that no document may have.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(judged: Iterable[Judged], *, target: str, taken: str) -> bytes:
    """The XML.

    Args:
        judged: The requirements in the plan's order.
        target: The tested target.
        taken: When, in ISO 8601.
    """
    everything = tuple(judged)
    root = ElementTree.Element("testsuites", name=_text(target), **_sums(everything))
    for section, members in groupby(everything, key=lambda one: one.requirement.section):
        own = tuple(members)
        suite = ElementTree.SubElement(
            root, "testsuite", name=section, timestamp=taken, hostname=_text(target), **_sums(own)
        )
        for one in own:
            _case(suite, one)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ElementTree.Element, one: Judged) -> None:
    requirement = one.requirement
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=requirement.key,
        classname=requirement.section,
        time=f"{one.seconds:.3f}",
    )
    if one.outcome is Outcome.FAILED:
        failure = ElementTree.SubElement(case, "failure", message=_text(one.words))
        failure.text = _text("\n".join(v.detail for v in one.verdicts if v.detail))
    elif one.outcome is not Outcome.PASSED:
        # JUnit has no "in part": what was not tested is what a reader has to know of.
        ElementTree.SubElement(case, "skipped", message=_text(f"{one.outcome}: {one.words}"))
    tests = (f"{v.test}: {v.outcome}, {v.seconds:.3f} s" for v in one.verdicts)
    out = ElementTree.SubElement(case, "system-out")
    out.text = _text("\n".join((requirement.text, *tests)))


def _sums(judged: tuple[Judged, ...]) -> dict[str, Any]:
    outcomes = [one.outcome for one in judged]
    failed = outcomes.count(Outcome.FAILED)
    return {
        "tests": str(len(outcomes)),
        "failures": str(failed),
        "errors": "0",
        "skipped": str(len(outcomes) - failed - outcomes.count(Outcome.PASSED)),
        "time": f"{sum(one.seconds for one in judged):.3f}",
    }


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
