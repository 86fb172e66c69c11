# SPDX-License-Identifier: Apache-2.0
"""What all tests share, whichever folder pytest was asked for."""

from hypothesis import HealthCheck, settings

# pytest knows one conftest.py by that name, so the fixtures of a folder are in a file of their own.
pytest_plugins = ["controller_fixtures"]

# An example of a property, and drawing it, may take as long as a busy machine needs.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
