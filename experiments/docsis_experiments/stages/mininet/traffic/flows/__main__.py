# SPDX-License-Identifier: Apache-2.0
"""Sends or receives the flows of a file, until it is ended."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from docsis_experiments.stages.mininet.traffic.flows import Flow, read, write_retransmitted
from docsis_experiments.stages.mininet.traffic.flows.receiver import Receiver
from docsis_experiments.stages.mininet.traffic.flows.sender import Sender, SendingError

_LEAD_SECONDS: Final = 0.3
"""The time from "ready" to the start of the timetable."""


def main(arguments: Sequence[str]) -> None:
    """Send or receive the flows of a file."""
    flows = read(Path(arguments[1]))
    with suppress(KeyboardInterrupt):
        if arguments[0] == "send":
            send(flows, Path(arguments[2]) if len(arguments) > 2 else None)
            return
        with Path(arguments[2]).open("w") as goodput, Path(arguments[3]).open("w") as messages:
            receiver = Receiver(flows, messages)
            print("ready", flush=True)
            receiver.run(goodput)


def send(flows: Sequence[Flow], retransmitted: Path | None) -> None:
    """Send until the process is ended, and write then what had to be sent again.

    Args:
        flows: What is sent.
        retransmitted: The file of the counts; None if nobody wants them.
    """

    def end(number: int, _frame: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    sender = Sender(flows, time.monotonic() + _LEAD_SECONDS)
    print(f"ready {time.time_ns() + round(_LEAD_SECONDS * 1e9)}", flush=True)
    try:
        sender.run()
        # Whoever started it ends it; an early end would be a failure.
        threading.Event().wait()
    except SendingError as error:
        sys.exit(str(error))
    finally:
        if retransmitted is not None:
            write_retransmitted(sender.retransmitted(), retransmitted)


if __name__ == "__main__":
    main(sys.argv[1:])
