# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 config`: the configuration file of a modem, from TLVs to YAML and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_control.config.errors import ConfigError
    from docsis_control.modem_config import Channel, Limits

app = typer.Typer(
    no_args_is_help=True,
    help="Convert a modem's configuration file to YAML and back.",
)

_SHOWN: Final = 20
"""Problems of a file that are printed."""

_LARGEST: Final = 1 << 20
"""Bytes that are read of a file; all that is valid is shorter."""

_NO_LIMIT: Final = 1 << 63
"""bit/s of a channel that is not given."""

Output = Annotated[
    Path, typer.Option("--output", "-o", help="File to write; - is standard output.")
]
Secret = Annotated[
    Path | None,
    typer.Option(
        "--shared-secret",
        metavar="FILE",
        help="File with the secret that provisioning and CMTS share, for the CMTS MIC; "
        "line ends at its end are ignored.",
    ),
]
ServiceFlows = Annotated[
    int,
    typer.Option(
        "--service-flows",
        min=1,
        help="Service flows that the modem has room for in each direction.",
    ),
]
Classifiers = Annotated[
    int,
    typer.Option(
        "--classifiers", min=1, help="Classifiers that the modem has room for in each direction."
    ),
]
UpstreamChannel = Annotated[
    str | None,
    typer.Option(
        "--upstream-channel",
        metavar="RATE",
        help='Refuse minimum rates that exceed this, as in "100 Mbps".',
    ),
]
DownstreamChannel = Annotated[
    str | None,
    typer.Option("--downstream-channel", metavar="RATE", help="The same for the downstream."),
]

_STANDARD: Final = Path("-")


@app.command()
def decode(
    file: Annotated[Path, typer.Argument(help="Binary file (.cfg); - is standard input.")],
    output: Output = _STANDARD,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
    secret: Secret = None,
    service_flows: ServiceFlows = 32,
    classifiers: Classifiers = 64,
    upstream_channel: UpstreamChannel = None,
    downstream_channel: DownstreamChannel = None,
) -> None:
    """Turn a binary configuration file into YAML; nothing is lost."""
    from json import dumps

    from docsis_control.config.errors import ConfigError
    from docsis_control.modem_config import from_bytes, to_plain, to_yaml

    data = _read(file)
    try:
        decoded = from_bytes(
            data,
            _shown(file),
            secret=_secret(secret),
            limits=_limits(service_flows, classifiers),
            channel=_channel(upstream_channel, downstream_channel),
        )
    except ConfigError as error:
        raise _as_sentences(error) from None
    for warning in decoded.warnings:
        typer.echo(f"docsis-p4: {_shown(file)}: {warning}", err=True)
    if json:
        text = dumps(to_plain(decoded.configuration), indent=2) + "\n"
    else:
        text = to_yaml(decoded.configuration)
    _write(output, text.encode())


@app.command()
def encode(
    file: Annotated[Path, typer.Argument(help="YAML file (JSON is YAML); - is standard input.")],
    output: Output = _STANDARD,
    secret: Secret = None,
    service_flows: ServiceFlows = 32,
    classifiers: Classifiers = 64,
    upstream_channel: UpstreamChannel = None,
    downstream_channel: DownstreamChannel = None,
) -> None:
    """Turn YAML into a binary configuration file.

    It gets its message integrity checks.
    """
    from docsis_control.config.errors import ConfigError
    from docsis_control.modem_config import from_yaml, to_bytes

    shown = _shown(file)
    if output == _STANDARD and sys.stdout.isatty():
        raise TestbedError("the binary file would go to the terminal; name a file with --output")
    try:
        text = _read(file).decode("utf-8")
    except UnicodeDecodeError:
        raise TestbedError(
            f"{shown}: is not text, so it is no YAML; `docsis-p4 config decode` reads binary files"
        ) from None
    try:
        configuration = from_yaml(
            text,
            shown,
            limits=_limits(service_flows, classifiers),
            channel=_channel(upstream_channel, downstream_channel),
        )
        data = to_bytes(configuration, shown, secret=_secret(secret))
    except ConfigError as error:
        raise _as_sentences(error) from None
    _write(output, data)


def _shown(file: Path) -> Path:
    return Path("standard input") if file == _STANDARD else file


def _read(file: Path) -> bytes:
    try:
        if file == _STANDARD:
            data = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        raise TestbedError(f"{file}: there is no such file") from None
    except OSError as error:
        raise TestbedError(f"{file}: cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise TestbedError(f"{_shown(file)}: is longer than {_LARGEST} bytes, so it is no modem's")
    return data


def _write(output: Path, data: bytes) -> None:
    if output == _STANDARD:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise TestbedError(f"{output}: cannot be written: {error.strerror}") from None


def _secret(file: Path | None) -> bytes | None:
    if file is None:
        return None
    secret = _read(file).rstrip(b"\r\n")
    if not secret:
        raise TestbedError(f"{file}: is empty; the shared secret needs at least one byte")
    return secret


def _limits(service_flows: int, classifiers: int) -> Limits:
    from docsis_control.modem_config import Limits

    return Limits(service_flows=service_flows, classifiers=classifiers)


def _channel(upstream: str | None, downstream: str | None) -> Channel | None:
    from docsis_control.config.units import parse_rate
    from docsis_control.modem_config import Channel

    if upstream is None and downstream is None:
        return None
    rates = []
    for option, value in (("--upstream-channel", upstream), ("--downstream-channel", downstream)):
        try:
            rates.append(_NO_LIMIT if value is None else parse_rate(value))
        except ValueError as error:
            raise TestbedError(f"{option}: {error}") from None
    return Channel(*rates)


def _as_sentences(error: ConfigError) -> TestbedError:
    """Every problem a line, so that one pass mends them all."""
    lines = [str(problem) for problem in error.problems[:_SHOWN]]
    more = len(error.problems) - len(lines)
    if more:
        lines.append(f"and {more} more")
    return TestbedError("\ndocsis-p4: ".join(lines))
