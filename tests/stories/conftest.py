"""A user per story, whose engines end half a second after their last client and leave no process
behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from assistant import Assistant, engines, until
from user import User, make_user

from scrubjay.home.paths import open_home


@pytest.fixture
def new_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., User]]:
    """Makes users, each with a home of their own, in a given folder or a new one."""
    users: list[User] = []

    def made(folder: Path | None = None) -> User:
        users.append(make_user(folder or tmp_path_factory.mktemp("s")))
        Path(open_home(users[-1].home.root).config).write_text("idle_minutes = 0.01\n")
        return users[-1]

    yield made
    for each in users:
        for engine in engines(each.home.root):
            engine.kill()
        until(lambda root=each.home.root: not engines(root), "the engines are gone")


@pytest.fixture
def user(new_user: Callable[..., User]) -> User:
    return new_user()


@pytest.fixture
def opens(user: User) -> Iterator[Callable[..., Assistant]]:
    """Opens assistants, by default those of the user; all are closed when the story ends."""
    assistants: list[Assistant] = []

    def opened(of: User = user, **options: Any) -> Assistant:
        assistants.append(Assistant(of, **options))
        return assistants[-1]

    yield opened
    for assistant in assistants:
        assistant.kill()
