# SPDX-License-Identifier: Apache-2.0
"""The error that every part of the testbed raises for something the user can mend."""


class TestbedError(Exception):
    """One clear sentence: what is wrong, where, and what to do about it."""

    __test__ = False  # not a test class, whatever its name makes pytest think
