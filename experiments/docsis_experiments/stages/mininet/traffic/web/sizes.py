# SPDX-License-Identifier: Apache-2.0
"""Sizes of a page's objects: log-normally distributed, and scaled to the page's bytes. Pure."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from random import Random

from docsis_experiments.traffic.senders import WebPages


def object_sizes(random: Random, pages: WebPages) -> list[int]:
    """Bytes of each object, one at least; with the HTML they are those of the page.

    The variance of the logarithm of a log-normal distribution is ln(1 + CV^2). A page may have no
    objects: then the HTML is all of it.
    """
    if not pages.objects:
        return []
    deviation = math.sqrt(math.log1p((pages.variation_permille / 1000) ** 2))
    weights = [random.lognormvariate(0.0, deviation) for _ in range(pages.objects)]
    spare = pages.page - pages.html - pages.objects
    whole = sum(weights)
    ends = [round(spare * end / whole) for end in accumulate(weights, initial=0.0)]
    return [1 + end - start for start, end in pairwise(ends)]
