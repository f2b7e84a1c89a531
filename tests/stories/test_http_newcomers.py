"""A new user of the HTTP interface with one of supermemory's clients: the lines that the README shows, and
the message for a wrong key.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from assistant import PATIENCE
from official import CLIENTS, Server, interpreter, server, stories, told
from user import make_user

__all__ = ["server"]  # fixtures
pytestmark = pytest.mark.long


def test_the_five_lines_of_the_readme_work(server: Server):
    lines = (CLIENTS / "newcomer.py").read_text().replace("http://127.0.0.1:6767", server.url)
    command = [interpreter("3.62.0"), "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("The staging database listens on port 5433.\n", "")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    """An engine with tokens, and two of their keys."""
    user = make_user(tmp_path_factory.mktemp("k"))
    made = {
        "BOUND": user.types("token", "add", "--tag", "mine"),
        "READER": user.types("token", "add", "--read-only"),
    }
    keys = {name: re.findall(r"sm_[\w-]+", done.stdout)[0] for name, done in made.items()}
    serving = Server(user)
    yield serving, keys
    serving.stop()


@pytest.mark.parametrize("version", ["3.62.0", "5.0.1"])
def test_wrong_keys_raise_the_clients_own_exceptions(guarded: tuple[Server, dict[str, str]], version: str):
    serving, keys = guarded
    endings = told([interpreter(version), str(CLIENTS / "keys.py")], serving.url, **keys)
    assert endings == dict.fromkeys(stories("keys.py"))
