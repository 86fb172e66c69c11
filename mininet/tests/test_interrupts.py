# SPDX-License-Identifier: Apache-2.0
"""Signals reach a run whatever its main thread is doing."""

import signal
import subprocess
import sys

import pytest

SECONDS = 60.0
"""Far more than anything here takes."""

WAITING = """
import ctypes, signal, sys
from docsis_testbed.interrupts import terminated_like_interrupted

with terminated_like_interrupted():
    # The kernel hands it to another thread, so that it does not end the waiting.
    signal.pthread_sigmask(signal.SIG_BLOCK, {NUMBER})
    print("waiting", flush=True)
    ctypes.CDLL(None).pause()
    sys.exit("nobody handled it")
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_that_does_not_end_the_waiting_is_handled(number: signal.Signals) -> None:
    code = WAITING.replace("NUMBER", str(int(number)))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(number)
            assert process.wait(timeout=SECONDS) == 128 + number
        finally:
            process.kill()
