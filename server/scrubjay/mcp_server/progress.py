"""Reports the progress of a call to its client."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from scrubjay.text.foreign import one_line

QUIET_SECONDS = 1.0  # before the first report of a call, and between two signs of life
REPORT_SECONDS = 0.25  # the least time between two progress notifications

Report = Callable[[int, int, str], Awaitable[None]]


@asynccontextmanager
async def reporting(
    send: Callable[[float, float | None, str | None], Awaitable[None]],
) -> AsyncIterator[Report]:
    """Yield a function that reports a call's progress through `send`, except in the first second.

    It sends at most a few reports a second. If a call reports no progress, because it waits or has a single
    step, a sign of life is sent each second.
    """
    loop = asyncio.get_running_loop()
    reported, next_report = 0.0, loop.time() + QUIET_SECONDS

    async def send_report(done: float, total: float | None, what: str | None) -> None:
        nonlocal reported, next_report
        reported, next_report = done, loop.time() + REPORT_SECONDS
        await send(done, total, what)

    async def report(done: int, total: int, what: str) -> None:
        if done > reported and (loop.time() >= next_report or (reported and done == total)):
            await send_report(done, total, one_line(os.path.basename(what)) or None)

    async def send_signs_of_life() -> None:
        for number in itertools.count(2):
            await asyncio.sleep(QUIET_SECONDS)
            if reported < 1:  # progress must grow, so signs of life are fractions of the first step
                await send_report(1 - 1 / number, None, None)

    background = asyncio.create_task(send_signs_of_life())
    try:
        yield report
    finally:
        background.cancel()
