# SPDX-License-Identifier: Apache-2.0
"""Serves the metrics over HTTP on the loopback interface, from threads of their own."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from docsis_control.metrics.bounded_server import BoundedServer
from docsis_control.metrics.families import families
from docsis_control.priority import lower_thread, paced
from docsis_control.status.model import Status

LOOPBACK: Final = "127.0.0.1"

_SECONDS: Final = 8.0
"""How long a scrape waits for the status; Prometheus itself gives up after 10 unless told."""

_LOG: Final = logging.getLogger(__name__)


class _Samples(list[Sample]):
    """Samples of which there may be thousands, written down with pauses."""

    def __iter__(self) -> Iterator[Sample]:
        return paced(super().__iter__())


def _in_pieces(metric: Metric) -> Metric:
    metric.samples = _Samples(metric.samples)
    return metric


class StatusCollector(Collector):
    """Fetches the status from the event loop of the controller at each scrape."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, get: Callable[[], Awaitable[Status]]
    ) -> None:
        """Args: the controller's event loop, and what gets the status in it."""
        self._loop = loop
        self._get = get

    def collect(self) -> Iterator[Metric]:
        """The metrics; docsis_controller_scrape_success tells whether they are all there."""
        # Each scrape has a thread of its own.
        lower_thread()
        try:
            metrics = [_in_pieces(metric) for metric in families(self._status())]
        except Exception as error:
            _LOG.warning("no metrics for this scrape: %s", error or type(error).__name__)
            metrics = []
        yield GaugeMetricFamily(
            "docsis_controller_scrape_success",
            "Whether the controller could tell its status.",
            value=int(bool(metrics)),
        )
        yield from metrics

    def _status(self) -> Status:
        async def get() -> Status:
            return await self._get()

        future = asyncio.run_coroutine_threadsafe(get(), self._loop)
        try:
            return future.result(_SECONDS)
        finally:
            future.cancel()


@contextlib.asynccontextmanager
async def serving_metrics(get: Callable[[], Awaitable[Status]], port: int) -> AsyncIterator[int]:
    """Serves the metrics in the block.

    Args:
        get: Gets the status.
        port: TCP port on the loopback interface; 0 for any that is free.

    Returns:
        The port.

    Raises:
        RuntimeError: The port cannot be had.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StatusCollector(asyncio.get_running_loop(), get))
    try:
        server = BoundedServer((LOOPBACK, port), registry)
    except OSError as error:
        raise RuntimeError(
            f"metrics cannot be served at {LOOPBACK}:{port}: {error.strerror}; "
            "give another --metrics-port"
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        _LOG.info("metrics at http://%s:%d/metrics", LOOPBACK, server.server_port)
        yield server.server_port
    finally:
        # A scrape may be waiting for this loop, so the loop must not wait for its server.
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        await asyncio.to_thread(thread.join)
