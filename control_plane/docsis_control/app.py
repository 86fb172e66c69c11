# SPDX-License-Identifier: Apache-2.0
"""The controller's process: command line, signals, priority, record."""

import argparse
import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.controller import Controller
from docsis_control.digits import LAST_TCP_PORT, decimal
from docsis_control.dynamic.server import serving_changes
from docsis_control.http2.calls import unix_path
from docsis_control.local_socket import default_folder
from docsis_control.options import Options
from docsis_control.p4rt.device import LAST_ELECTION_ID
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import BUILD_FOLDER, PipelineError
from docsis_control.plan import Deployment
from docsis_control.priority import lower_helpers, raise_priority
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.document import from_argument
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.recording import save
from docsis_control.status.collect import Collector
from docsis_control.status.health import serving_health
from docsis_control.status.server import serving
from docsis_control.status.shared import SharedStatus
from docsis_control.topology import load_topology

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Views:
    """The views that the process offers of itself.

    Attributes:
        status_folder: Gets the status's socket.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.
    """

    status_folder: Path
    metrics_port: int | None = None


def _switch_address(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    if name and equals and unix_path(address):
        return name, address
    return _address(text)


def _address(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    host, colon, port = address.rpartition(":")
    if not (equals and name and colon and host and decimal(port, LAST_TCP_PORT)):
        raise argparse.ArgumentTypeError(
            f'"{text}" is not NAME=HOST:PORT, as in cm1=127.0.0.1:50051'
        )
    return name, address


def _port(text: str) -> int:
    if port := decimal(text, LAST_TCP_PORT):
        return port
    raise argparse.ArgumentTypeError(f'"{text}" is not a TCP port; give 1 to 65535')


def _election_id(text: str) -> int:
    if election_id := decimal(text, LAST_ELECTION_ID):
        return election_id
    raise argparse.ArgumentTypeError(
        f'"{text}" is not a P4Runtime election id; give 1 to {LAST_ELECTION_ID} (2^128 - 1)'
    )


def _management(text: str) -> QueueManagement:
    try:
        return from_argument(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="docsis-p4 controller",
        description="Provisions the switches of a topology and runs their queue management.",
    )
    parser.add_argument("--topology", type=Path, required=True, help="topology file")
    parser.add_argument("--tier", help="service tier instead of the topology's")
    parser.add_argument(
        "--aqm",
        type=_management,
        default=Preset.DOCSIS_PIE.value,
        metavar="PRESET|FILE.yaml",
        help="queue manager of the upstream service flows (default: %(default)s): a file with "
        f"its parameters, or one of {', '.join(Preset)}",
    )
    parser.add_argument(
        "--downstream-aqm",
        type=_management,
        metavar="PRESET|FILE.yaml",
        help="queue manager of the downstream service flows (default: what is configured)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FOLDER",
        help="write stats.json and samples there at the end",
    )
    parser.add_argument(
        "--address",
        type=_switch_address,
        action="append",
        default=[],
        metavar="NAME=HOST:PORT|NAME=unix:PATH",
        help="P4Runtime address of a switch, instead of 127.0.0.1 and the topology's port",
    )
    parser.add_argument(
        "--thrift",
        type=_address,
        action="append",
        default=[],
        metavar="NAME=HOST:PORT",
        help="Thrift server of a switch that is a BMv2: its queues get rate and depth, in packets",
    )
    parser.add_argument(
        "--pipelines",
        type=Path,
        default=BUILD_FOLDER,
        metavar="FOLDER",
        help="folder of the compiled programs",
    )
    parser.add_argument(
        "--status-folder",
        type=Path,
        default=default_folder(),
        metavar="FOLDER",
        help="folder of the socket at which `docsis-p4 show` asks for the status "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--metrics-port",
        type=_port,
        metavar="PORT",
        help="serve Prometheus metrics at this TCP port of 127.0.0.1 (default: not at all)",
    )
    parser.add_argument(
        "--election-id",
        type=_election_id,
        default=1,
        metavar="NUMBER",
        help="P4Runtime election id; the highest one becomes the primary controller (default: 1)",
    )
    parser.add_argument(
        "--connect-timeout",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how long to wait for the switches to answer (default: 10)",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the controller until SIGTERM or SIGINT.

    Prints one line that starts with "ready" to stdout when every device has been
    provisioned.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Returns:
        The exit code: 0 after a signal, 1 after an error, which is one sentence on
        stderr.
    """
    arguments = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="controller: %(message)s")
    # The packages below log each failed call, which this program puts into words itself.
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    try:
        topology = load_topology(arguments.topology, arguments.tier)
        deployment = deploy(topology, arguments.aqm, arguments.downstream_aqm)
        addresses = _addresses(deployment, arguments.address, "--address")
        options = Options(
            election_id=arguments.election_id,
            connect_timeout=arguments.connect_timeout,
            pipelines=arguments.pipelines,
            addresses=addresses,
            thrift=_addresses(deployment, arguments.thrift, "--thrift"),
        )
        raise_priority()
        views = Views(arguments.status_folder, arguments.metrics_port)
        asyncio.run(_serve(deployment, options, arguments.record, views))
    except KeyedError as error:
        print(f"docsis-p4 controller: {arguments.topology}: {error.key}: {error}", file=sys.stderr)
        return 1
    except (ConfigError, PipelineError, P4RuntimeError, ConnectionLost, RuntimeError) as error:
        print(f"docsis-p4 controller: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"docsis-p4 controller: {error.filename or ''}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _addresses(deployment: Deployment, given: list[tuple[str, str]], option: str) -> dict[str, str]:
    known = [plan.name for plan in deployment.devices]
    for name, _ in given:
        if name not in known:
            raise RuntimeError(f'{option}: there is no switch "{name}"; there are {known}')
    return dict(given)


def _settle_memory() -> None:
    """Freezes all objects: they live to the end, and later collections need not look at them."""
    gc.collect()
    gc.freeze()


async def _serve(
    deployment: Deployment, options: Options, record: Path | None, views: Views
) -> None:
    lower_helpers()
    controller = Controller(deployment, options)
    _settle_memory()
    running = asyncio.create_task(controller.run(), name="controller")
    stopping = False

    def stop() -> None:
        nonlocal stopping
        stopping = True
        running.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    announcing = asyncio.create_task(_announce(controller), name="announce")
    try:
        async with _serving(controller, views):
            await running
    except asyncio.CancelledError:
        if not stopping:
            raise
    finally:
        announcing.cancel()
        if record is not None:
            save(controller.records, record)


@contextlib.asynccontextmanager
async def _serving(controller: Controller, views: Views) -> AsyncIterator[None]:
    """The views on the controller, which does its work, too, where the first cannot be had."""
    status = SharedStatus(Collector(controller).status)
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(serving(status.get, views.status_folder))
            await stack.enter_async_context(serving_changes(controller, views.status_folder))
            await stack.enter_async_context(serving_health(controller, views.status_folder))
        except OSError as error:
            place = error.filename or views.status_folder
            _LOG.warning("nothing for docsis-p4 show and sf: %s: %s", place, error.strerror)
        if views.metrics_port is not None:
            # A controller without metrics need not load the library.
            from docsis_control.metrics import serving_metrics

            await stack.enter_async_context(serving_metrics(status.get, views.metrics_port))
        yield


async def _announce(controller: Controller) -> None:
    await controller.ready.wait()
    # The loops run by now, so nothing is collected.
    gc.freeze()
    state = ", ".join(f"{name} ({record.access})" for name, record in controller.records.items())
    print(f"ready: {state}", flush=True)
