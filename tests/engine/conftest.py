"""Fixtures of tests about a repository, which the module names `repo`, and of tests that restart an engine."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
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


@dataclass
class Opens:
    """Opens cores of a home, each with its own model, after the one before has ended."""

    home: Home
    clock: Callable[[], datetime]
    running: Core | None = None

    async def __call__(self, make: Callable[[], Encoder] = HashingEncoder) -> Core:
        await self.end()
        self.running = await open_core(self.home, Settings(), self.clock, lambda *_, **__: make())
        return self.running

    async def end(self) -> None:
        """End the core that is running, if any."""
        if self.running is not None:
            running, self.running = self.running, None
            await running.close()


@pytest.fixture
async def opens(home: Home, clock: Callable[[], datetime]) -> AsyncIterator[Opens]:
    opening = Opens(home, clock)
    yield opening
    await opening.end()
