# SPDX-License-Identifier: Apache-2.0
"""Rows of no paper, for tests of what makes and judges them.

Its code counts as the project's, in the process of a test and in the workers that compute for it.
"""

from pathlib import Path
from types import MappingProxyType

from docsis_experiments.runs import closure

_HERE = {__name__: Path(__file__).parent}
closure.PACKAGES = MappingProxyType({**closure.PACKAGES, **_HERE})  # type: ignore[misc]
