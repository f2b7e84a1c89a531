"""Fixtures of tests about a repository, which the module names `repo`, and of tests that restart an engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime

import pytest
from git_made import Repository
from hashing_encoder import HashingEncoder

from scrubjay.encoders import Encoder
from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import Home
from scrubjay.home.scopes import scope_of
from scrubjay.home.settings import Settings


@pytest.fixture
def scope(home: Home, repo: Repository) -> str:
    found = scope_of(home, str(repo.folder))
    assert found is not None
    return found


class Opens:
    """Opens cores of a home, each with a model of its own, after the one before has ended."""

    def __init__(self, home: Home, clock: Callable[[], datetime]) -> None:
        self._home, self._clock = home, clock
        self._running: list[Core] = []

    async def __call__(self, make: Callable[[], Encoder] = HashingEncoder) -> Core:
        await self.end()
        core = await open_core(self._home, Settings(), self._clock, lambda *_, **__: make())
        self._running.append(core)
        return core

    async def end(self) -> None:
        """End the core that is running, if any."""
        while self._running:
            await self._running.pop().close()


@pytest.fixture
async def opens(home: Home, clock: Callable[[], datetime]) -> AsyncIterator[Opens]:
    opening = Opens(home, clock)
    yield opening
    await opening.end()
