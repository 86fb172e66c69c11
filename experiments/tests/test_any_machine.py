# SPDX-License-Identifier: Apache-2.0
"""No property of this folder fails because a machine is busy."""

from hypothesis import HealthCheck, settings


def test_examples_may_take_as_long_as_a_busy_machine_needs() -> None:
    of_all = settings.default
    assert of_all is not None
    assert of_all.deadline is None
    assert HealthCheck.too_slow in of_all.suppress_health_check
