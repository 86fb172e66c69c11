# SPDX-License-Identifier: Apache-2.0
"""The grants of an upstream service flow in a configuration file, with every default."""

from dataclasses import replace
from pathlib import Path

import pytest

from docsis_control.modem_config import from_bytes, from_yaml, to_bytes
from docsis_control.modem_config.scheduling import (
    BEST_EFFORT,
    Scheduling,
    SchedulingType,
    scheduling_of,
)

FILE = Path("modem.yaml")
GRANTS = (
    "unsolicited_grant_size: 232 B, nominal_grant_interval: 20 ms, "
    "tolerated_grant_jitter: 800 us, grants_per_interval: 2"
)


def scheduled(keys: str) -> Scheduling:
    """Reads a service flow with these keys from YAML, and from the bytes that are made of it."""
    text = (
        "upstream_service_flows:\n  - {service_flow_reference: 1, qos_parameter_set_type: 7"
        f"{', ' + keys if keys else ''}}}\n"
    )
    configuration = from_yaml(text, FILE)
    found = scheduling_of(configuration.upstream_service_flows[0])
    binary = from_bytes(to_bytes(configuration, FILE), Path("modem.cfg")).configuration
    assert scheduling_of(binary.upstream_service_flows[0]) == found
    return found


def test_nothing_said_is_best_effort() -> None:
    assert scheduled("") == BEST_EFFORT
    assert scheduled("scheduling_type: undefined") == BEST_EFFORT
    assert (BEST_EFFORT.policy, BEST_EFFORT.backoff_eighths, BEST_EFFORT.request_unit) == (0, 8, 4)


@pytest.mark.parametrize(
    ("keys", "policy"),
    [
        (f"scheduling_type: ugs, {GRANTS}", 0x17F),
        (f"scheduling_type: ugs-ad, {GRANTS}", 0x17F),
        ("scheduling_type: rtps, nominal_polling_interval: 10 ms", 0x1F),
        ("scheduling_type: nrtps", 0),
        ("scheduling_type: pgs, guaranteed_grant_rate: 5 Mbps", 0),
        ("scheduling_type: best-effort", 0),
        ("scheduling_type: rtps, nominal_polling_interval: 10 ms, request_transmission_policy: 0",
         0),
        ("request_transmission_policy: 0x10", 0x10),
    ],
)  # fmt: skip
def test_the_policy_follows_from_the_service_unless_given(keys: str, policy: int) -> None:
    assert scheduled(keys).policy == policy


def test_unsolicited_grants() -> None:
    assert scheduled(f"scheduling_type: ugs, {GRANTS}, nominal_polling_interval: 5 ms") == (
        Scheduling(
            SchedulingType.UGS,
            policy=0x17F,
            grant_size=232,
            grant_interval=20_000_000,
            grant_jitter=800_000,
            grants_per_interval=2,
        )
    )


def test_polls_of_ugs_ad_come_as_its_grants_unless_given() -> None:
    found = scheduled(f"scheduling_type: ugs-ad, {GRANTS}")
    assert (found.polling_interval, found.poll_jitter) == (20_000_000, 800_000)
    found = scheduled(
        f"scheduling_type: ugs-ad, {GRANTS}, nominal_polling_interval: 40 ms, "
        "tolerated_poll_jitter: 2 ms"
    )
    assert (found.polling_interval, found.poll_jitter) == (40_000_000, 2_000_000)


def test_polls() -> None:
    found = scheduled("scheduling_type: nrtps")
    assert (found.polling_interval, found.poll_jitter) == (1_000_000_000, 1_000_000_000)
    found = scheduled("scheduling_type: rtps, nominal_polling_interval: 10 ms")
    assert (found.polling_interval, found.poll_jitter) == (10_000_000, 10_000_000)
    found = scheduled(
        "scheduling_type: rtps, nominal_polling_interval: 10 ms, tolerated_poll_jitter: 0 ms"
    )
    assert found.poll_jitter == 0


def test_proactive_grants_and_what_is_said_of_requests() -> None:
    found = scheduled(
        "scheduling_type: pgs, guaranteed_grant_rate: 5 Mbps, guaranteed_grant_interval: 2025 us, "
        "maximum_concatenated_burst: 3044 B, backoff_window_multiplier: 12, "
        "bytes_requested_multiplier: 16, unsolicited_grant_size: 100 B"
    )
    assert found == Scheduling(
        SchedulingType.PGS,
        guaranteed_grant_interval=2_025_000,
        guaranteed_grant_rate=5_000_000,
        max_concatenated_burst=3044,
        backoff_eighths=12,
        request_unit=16,
    )


def test_polls_and_activity_detection_of_proactive_grants() -> None:
    keys = (
        "guaranteed_grant_rate: 5 Mbps, guaranteed_request_interval: 10 ms, "
        "absolute_queue_depth_requests: true, pgs_activity_detection_disable: true"
    )
    assert scheduled(f"scheduling_type: pgs, {keys}") == Scheduling(
        SchedulingType.PGS,
        guaranteed_grant_rate=5_000_000,
        guaranteed_request_interval=10_000_000,
        activity_detection_disable=True,
        absolute_requests=True,
    )
    # Other services have requests alone of them.
    assert scheduled(keys) == replace(BEST_EFFORT, absolute_requests=True)


def test_the_guaranteed_rate_is_in_bits_a_second_whatever_the_rate_unit_is() -> None:
    keys = "maximum_sustained_traffic_rate: 5 Gbps, data_rate_unit: Mbps, scheduling_type: pgs"
    assert scheduled(f"{keys}, guaranteed_grant_rate: 64001 bps").guaranteed_grant_rate == 64_001
