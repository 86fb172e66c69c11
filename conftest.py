# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of all tests; pytest reads this file for every folder of tests."""

from hypothesis import HealthCheck, settings

# Our folders of tests are all on the path, where only one file can be called conftest.py. So the
# controller's fixtures are in a file with a name of its own.
pytest_plugins = ["controller_fixtures"]

# An example of a property, and drawing it, may take as long as a busy machine needs.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
