"""Fixtures of tests about a repository, which the module names `repo`."""

from __future__ import annotations

import pytest
from git_made import Repository

from scrubjay.home.paths import Home
from scrubjay.home.scopes import scope_of


@pytest.fixture
def scope(home: Home, repo: Repository) -> str:
    found = scope_of(home, str(repo.folder))
    assert found is not None
    return found
