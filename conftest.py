# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of all tests; pytest reads this file for every folder of tests."""

import gc

import pytest
from hypothesis import HealthCheck, settings

# Our folders of tests are all on the path, where only one file can be called conftest.py. So the
# controller's fixtures are in a file with a name of its own.
pytest_plugins = ["controller_fixtures"]

# An example of a property, and drawing it, may take as long as a busy machine needs.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

_FEWER_COLLECTIONS = 20_000
"""Objects that are made before those that nobody has any more are looked for; Python has 700."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has been imported stays to the end, and need not be looked through for garbage again.

    Looking took 4 to 8% of the time of the tests (AMD EPYC, 28 November 2026).
    """
    del session
    gc.collect()
    gc.freeze()
    gc.set_threshold(_FEWER_COLLECTIONS)
