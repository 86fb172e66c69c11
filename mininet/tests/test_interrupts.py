# SPDX-License-Identifier: Apache-2.0
"""Signals reach a run whatever its main thread is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from docsis_testbed.interrupts import interrupts_deferred, raising_when_terminated

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


@contextmanager
def handled(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def test_an_interrupt_comes_though_what_it_waited_for_fails() -> None:
    def fail() -> None:
        with raising_when_terminated(), interrupts_deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            raise OSError("the interface is there already")

    with pytest.raises(SystemExit, match="143") as raised:
        fail()
    # And the failure is told, too.
    assert isinstance(raised.value.__context__, OSError)


def test_who_asks_for_an_end_gets_it_also_behind_a_ctrl_c() -> None:
    """A command line takes Ctrl-C for the end of a command, and goes on."""

    def both() -> None:
        with raising_when_terminated(), interrupts_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit, match="143"):
        both()


def test_what_nohup_ignores_ends_nothing() -> None:
    with handled(signal.SIGHUP, signal.SIG_IGN), raising_when_terminated():
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(SystemExit, match="143"):
            os.kill(os.getpid(), signal.SIGTERM)


def test_what_is_ignored_stays_ignored_and_what_is_started_inherits_that() -> None:
    with handled(signal.SIGINT, signal.SIG_IGN), interrupts_deferred():
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_need_not_defer_what_never_comes_to_them() -> None:
    done = []

    def make() -> None:
        with interrupts_deferred():
            done.append("made")

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert done == ["made"]
