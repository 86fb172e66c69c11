# SPDX-License-Identifier: Apache-2.0
"""Tells BMv2 its queues' rates and depths over Thrift, by the client that BMv2 brings.

That client, simple_switch_CLI, is of the same version as the switch and finds its own Python
modules; this Python has Apache Thrift for them, which the python3 on PATH need not. It ends with
status 0 whatever it is told, so what it prints is looked at.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from typing import Final

from docsis_control.bmv2.queues import PortQueue

PROGRAM: Final = "simple_switch_CLI"

_PROMPT: Final = "RuntimeCmd: "
_SECONDS: Final = 20.0
_MOST_SAID: Final = 300
"""Characters of what the client prints that are told on."""


class QueuesError(RuntimeError):
    """BMv2's queues could not be told their rates and depths; the message says why."""


def commands(queues: Iterable[PortQueue]) -> list[str]:
    """The client's commands for some queues."""
    return [
        " ".join(
            str(word) for word in (name, value, queue.port, queue.priority) if word is not None
        )
        for queue in queues
        for name, value in (
            ("set_queue_depth", queue.packets),
            ("set_queue_rate", queue.packets_per_second),
        )
    ]


def set_queues(address: str, queues: Iterable[PortQueue]) -> None:
    """Sets rates and depths; returns when the switch has them.

    Args:
        address: host:port of the switch's Thrift server. The switch has a program.
        queues: Settings of queues; the other queues stay as they are.

    Raises:
        QueuesError: The client is not installed, or the switch did not take it.
    """
    host, port = address.rsplit(":", 1)
    program = shutil.which(PROGRAM)
    if program is None:
        raise QueuesError(
            f"{PROGRAM} is not on PATH; install BMv2 with its Thrift client, as the package "
            "p4lang-bmv2 brings it"
        )
    lines = commands(queues)
    try:
        done = subprocess.run(
            [sys.executable, program, "--thrift-ip", host, "--thrift-port", port],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise QueuesError(
            f"{PROGRAM} did not end within {_SECONDS:.0f} s; is {address} the Thrift server of "
            "a BMv2?"
        ) from None
    if done.returncode != 0:
        raise QueuesError(
            f"{PROGRAM} ended with exit status {done.returncode}: "
            f"{_last(done.stderr.strip() or done.stdout)}"
        )
    refused(lines, done.stdout)


def refused(lines: list[str], said: str) -> None:
    """Raises what the client says of its commands: it says nothing of one that was carried out.

    Args:
        lines: The commands.
        said: Its output: a greeting, and a prompt for each command and for the end of input.

    Raises:
        QueuesError: It said something, or did not come to the end.
    """
    _, *answers = said.split(_PROMPT)
    if len(answers) != len(lines) + 1:
        raise QueuesError(
            f"{PROGRAM} carried out {max(0, len(answers) - 1)} of {len(lines)} commands: "
            f"{_last(answers[-1] if answers else said)}"
        )
    for line, answer in zip(lines, answers, strict=False):
        if answer.strip():
            raise QueuesError(f"{PROGRAM} {line}: {_last(answer)}")


def _last(text: str) -> str:
    """The last line, where an exception's message stands; bounded."""
    lines = text.strip().splitlines()
    return lines[-1][:_MOST_SAID] if lines else "it said nothing"
