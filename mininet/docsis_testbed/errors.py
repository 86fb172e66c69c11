# SPDX-License-Identifier: Apache-2.0
"""The error that every part of the testbed raises for something the user can mend."""


class TestbedError(Exception):
    """One clear sentence: what is wrong, where, and what to do about it."""

    __test__ = False  # not a test class, whatever its name makes pytest think

    exit_status = 1


class NoVerdict(TestbedError):
    """A run was made and its results are written, but nothing can be said: time was not right."""

    exit_status = 3
