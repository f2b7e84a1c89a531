"""Pauses between events, which background work waits for. Knows nothing of the work."""

from __future__ import annotations

import asyncio


async def passed(seconds: float, event: asyncio.Event) -> bool:
    """Whether that long went by without the event; returns at once where it comes."""
    try:
        async with asyncio.timeout(seconds):  # Python 3.11's wait_for can swallow a cancellation
            await event.wait()
    except TimeoutError:
        return True
    return False
