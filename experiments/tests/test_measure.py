# SPDX-License-Identifier: Apache-2.0
"""Statistics, voice quality, and goodput from the kernel's counts."""

from __future__ import annotations

import math
import os
import socket
import threading

import numpy as np
import pytest

from docsis_experiments.measurement import statistics, voice
from docsis_experiments.stages.mininet import goodput
from docsis_testbed.errors import TestbedError


def test_quantiles_of_a_known_sample() -> None:
    latency = statistics.latency(np.arange(101, dtype=np.float64))
    assert latency == statistics.Latency(50.0, 90.0, 99.0, 100.0)


def test_induced_latency_is_less_the_idle_median() -> None:
    induced = statistics.induced(np.arange(101, dtype=np.float64), np.array([1.0, 2.0, 30.0]))
    assert induced == statistics.InducedLatency(48.0, 88.0, 97.0)


def test_no_probe_is_an_error_and_not_a_zero() -> None:
    with pytest.raises(TestbedError, match="no probe arrived"):
        statistics.latency(np.zeros(0))


def test_rating_without_impairment_is_4_41() -> None:
    assert voice.mean_opinion_score(93.2) == pytest.approx(4.41, abs=0.005)
    assert voice.mean_opinion_score(-1) == 1.0
    assert voice.mean_opinion_score(101) == 4.5


def test_delay_impairment_bends_at_177_ms() -> None:
    assert voice.delay_impairment(100) == pytest.approx(2.4)
    assert voice.delay_impairment(277.3) == pytest.approx(0.024 * 277.3 + 11)


def test_loss_impairment_of_concealed_g711() -> None:
    assert voice.loss_impairment(0) == 0
    # G.107: Ie_eff = 95 * 5 / (5 + 25.1)
    assert voice.loss_impairment(5) == pytest.approx(15.78, abs=0.01)


def test_call_on_an_idle_path_is_excellent() -> None:
    # 20 ms of packetisation and 60 ms of jitter buffer: R = 93.2 - 0.024 * 80.4.
    assert voice.mos(np.full(1000, 0.4), 0) == pytest.approx(4.37, abs=0.01)


def test_late_packets_count_as_lost() -> None:
    delays = np.full(1000, 5.0)
    delays[:100] = 66.0
    # Exactly as if those 10% had been lost on the way.
    assert voice.mos(delays, 0) == pytest.approx(voice.mos(np.full(900, 5.0), 0.1))
    assert voice.mos(delays, 0) < 3.5


def test_quality_falls_with_delay_and_loss() -> None:
    same = np.full(1000, 10.0)
    assert voice.mos(same + 300, 0) < voice.mos(same, 0)
    assert voice.mos(same[:950], 0.05) < voice.mos(same, 0)
    assert voice.mos(np.zeros(0), 1.0) == 1.0


def test_call_that_sent_nothing_has_no_quality() -> None:
    assert math.isnan(voice.mos(np.zeros(0), math.nan))


def test_goodput_of_a_window_is_interpolated() -> None:
    second = 10**9
    series = goodput.GoodputSeries(
        np.array([0, 1, 2, 3], dtype=np.int64) * second,
        np.array([0, 125_000, 375_000, 375_000], dtype=np.int64),
    )
    assert series.mbps(0, 2 * second) == pytest.approx(1.5)
    assert series.mbps(second // 2, 3 * second // 2) == pytest.approx(1.5)
    middles, mbps = series.binned(1.0)
    np.testing.assert_array_equal(middles, np.array([0.5, 1.5]) * second)
    np.testing.assert_allclose(mbps, [1.0, 2.0])


def test_kernel_counts_payload_once_and_in_order() -> None:
    """The count read over sock_diag is what was written to the connection."""
    payload = 1_234_567
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        connection, _ = server.accept()
        received = 0

        def drain() -> None:
            nonlocal received
            while received < payload:
                received += len(connection.recv(65536))

        reader = threading.Thread(target=drain)
        reader.start()
        client.sendall(bytes(payload))
        reader.join(timeout=60)
        with client, connection, goodput.netlink_socket_in(os.getpid()) as diag:
            counts = goodput.received_bytes(diag, [port])
            assert counts == {(port, client.getsockname()[1]): payload}
            assert goodput.received_bytes(diag, [1]) == {}


@pytest.mark.root
def test_sampler_collects_until_stopped() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        connection, _ = server.accept()
        sampler = goodput.GoodputSampler([goodput.Watched(os.getpid(), (port,))])
        sampler.start()
        client.sendall(bytes(1000))
        assert len(connection.recv(1000, socket.MSG_WAITALL)) == 1000
        deadline = threading.Event()
        for _ in range(100):
            if sampler.latest() >= 1000:
                break
            deadline.wait(0.05)
        client.close()
        connection.close()
        series = sampler.stop()
    # The connection is gone, what it received is not.
    assert series.total_bytes[-1] == 1000
    assert (np.diff(series.total_bytes) >= 0).all()
