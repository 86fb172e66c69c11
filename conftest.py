# SPDX-License-Identifier: Apache-2.0
"""What all tests have in common."""

from hypothesis import settings

# An example may take as long as a busy machine needs.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
