"""What tests of hooks share."""

import time
from pathlib import Path

import pytest
from claude_code_host import Host

QUICK_S = 0.5  # a hook gives up after 1.5 s
TRIES = 30


@pytest.fixture(scope="session", autouse=True)
def quick_hooks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Run hooks until one is quick: the first have no byte code, and other workers still import the engine."""
    host = Host(tmp_path_factory.mktemp("first"))
    for _ in range(TRIES):
        start = time.monotonic()
        host.raw_output(b"{}", "stop")
        if time.monotonic() - start < QUICK_S:
            return


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)
