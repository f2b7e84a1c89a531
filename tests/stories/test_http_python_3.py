"""supermemory's Python client 3.62.0, the last of v3 and v4, against a served engine. The stories are in
`clients/python_3_*.py`.
"""

from __future__ import annotations

import pytest
from official import CLIENTS, Server, interpreter, server, stories, told

__all__ = ["server"]  # fixtures
pytestmark = pytest.mark.long
SCRIPTS = ("python_3_documents.py", "python_3_memories.py")


@pytest.fixture(scope="module")
def endings(server: Server) -> dict[str, str | None]:
    python = interpreter("3.62.0")
    return {
        name: end
        for script in SCRIPTS
        for name, end in told([python, str(CLIENTS / script)], server.url).items()
    }


@pytest.mark.parametrize("story", [name for script in SCRIPTS for name in stories(script)])
def test_the_client_of_v3_and_v4_works(endings: dict[str, str | None], story: str):
    assert endings[story] is None, endings[story]
