"""supermemory's npm client 4.25.4 against a served engine. The stories are in `clients/npm_4.mjs`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from node import CLIENTS, installed, node
from official import Server, server, told

__all__ = ["installed", "server"]  # fixtures
pytestmark = pytest.mark.long
SCRIPT = CLIENTS / "npm_4.mjs"
STORIES = re.findall(r"^async function (it_\w+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def endings(server: Server, installed: Path) -> dict[str, str | None]:
    return told([node(), str(installed / SCRIPT.name)], server.url)


@pytest.mark.parametrize("story", STORIES)
def test_the_npm_client_works(endings: dict[str, str | None], story: str):
    assert endings[story] is None, endings[story]
