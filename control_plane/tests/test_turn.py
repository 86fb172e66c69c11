# SPDX-License-Identifier: Apache-2.0
"""The lock between a thread and tasks."""

import asyncio
import threading
from typing import Any

import pytest

from docsis_control.turn import Turn


async def test_nobody_has_it_beside_another() -> None:
    turn, inside, most = Turn(), [0], [0]
    count = 400

    def enter() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])

    def work() -> None:
        for _ in range(count):
            with turn:
                enter()
                inside[0] -= 1

    async def task() -> None:
        for _ in range(count):
            async with turn:
                enter()
                await asyncio.sleep(0)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    await asyncio.gather(*(task() for _ in range(3)))
    for thread in threads:
        await asyncio.to_thread(thread.join, 30)
        assert not thread.is_alive()
    assert most == [1]


async def test_who_asks_first_has_it_first(until: Any) -> None:
    turn, order = Turn(), []

    async def task(name: int) -> None:
        async with turn:
            order.append(name)

    def work() -> None:
        with turn:
            order.append(1)

    async with turn:
        first = asyncio.create_task(task(0))
        await until(lambda: len(turn._waiting) == 1)
        thread = threading.Thread(target=work)
        thread.start()
        await until(lambda: len(turn._waiting) == 2)
        last = asyncio.create_task(task(2))
        await until(lambda: len(turn._waiting) == 3)
    await asyncio.gather(first, last)
    await asyncio.to_thread(thread.join, 30)
    assert order == [0, 1, 2]


@pytest.mark.parametrize("granted", [False, True])
async def test_a_task_that_is_cancelled_leaves_it_to_others(until: Any, granted: bool) -> None:
    turn = Turn()

    async def task() -> None:
        async with turn:
            raise AssertionError("it was cancelled")

    await turn.__aenter__()
    waiting = asyncio.create_task(task())
    await until(lambda: len(turn._waiting) == 1)
    if granted:
        # It has it, and has not been told yet.
        await turn.__aexit__(None, None, None)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    if not granted:
        await turn.__aexit__(None, None, None)
    async with asyncio.timeout(60), turn:
        pass
