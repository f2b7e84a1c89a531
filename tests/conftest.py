"""Fixtures shared by all tests: small, and named for the noun they give."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder

from scrubjay.engine.core import Core, open_core
from scrubjay.home import Home, open_home
from scrubjay.settings import Settings
from scrubjay.store.store import Store, open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock(now: datetime) -> Callable[[], datetime]:
    """A clock that goes on by a second each time it is read."""
    ticks = iter(range(10**9))
    return lambda: now + timedelta(seconds=next(ticks))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(str(tmp_path / "home"))


@pytest.fixture
async def store(home: Home) -> Store:
    return await open_store(home.data, dim=64)


@pytest.fixture
async def core(home: Home, clock: Callable[[], datetime]) -> AsyncIterator[Core]:
    """An engine's core over a fresh home, with the hashing encoder for its model."""
    opened = await open_core(home, Settings(), clock, lambda *_, **__: HashingEncoder())
    yield opened
    await opened.close()
