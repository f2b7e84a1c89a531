"""Fixtures shared by the tests of searches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime

import pytest

from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings


@pytest.fixture
async def shipped(home: Home, clock: Callable[[], datetime]) -> AsyncIterator[Core]:
    """A core with the shipped model."""
    opened = await open_core(home, Settings(), clock)
    yield opened
    await opened.close()
