"""supermemory's Python client 5.0.1 against a served engine. The stories are in `clients/python_5.py`."""

from __future__ import annotations

import pytest
from official import CLIENTS, Server, interpreter, server, stories, told

__all__ = ["server"]  # fixtures
pytestmark = pytest.mark.long
SCRIPT = "python_5.py"


@pytest.fixture(scope="module")
def endings(server: Server) -> dict[str, str | None]:
    return told([interpreter("5.0.1"), str(CLIENTS / SCRIPT)], server.url)


@pytest.mark.parametrize("story", stories(SCRIPT))
def test_the_client_of_v5_works(endings: dict[str, str | None], story: str):
    assert endings[story] is None, endings[story]
