"""supermemory's official clients against a served engine: the scripts in `clients/`, the lines that the README
shows, and the message for a wrong key.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from answering import answering
from assistant import PATIENCE
from node import CLIENTS, installed, node
from official import interpreter, server, stories, told
from user import make_user

__all__ = ["installed", "server"]  # fixtures
pytestmark = pytest.mark.long
NPM = "npm_4.mjs"  # of the npm client 4.25.4
SCRIPTS = {  # of the Python clients: 3.62.0 is the last of v3 and v4
    "python_3_documents.py": "3.62.0",
    "python_3_memories.py": "3.62.0",
    "python_5.py": "5.0.1",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_story_of_a_python_client_ends_well(server: str, script: str):
    endings = told([interpreter(SCRIPTS[script]), str(CLIENTS / script)], server)
    assert endings == dict.fromkeys(stories(script))


def test_every_story_of_the_npm_client_ends_well(server: str, installed: Path):
    names = re.findall(r"^async function (it_\w+)", (CLIENTS / NPM).read_text("utf-8"), re.MULTILINE)
    assert told([node(), str(installed / NPM)], server) == dict.fromkeys(names)


def test_the_five_lines_of_the_readme_work(server: str):
    lines = (CLIENTS / "newcomer.py").read_text().replace("http://127.0.0.1:6767", server)
    command = [interpreter("3.62.0"), "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("The staging database listens on port 5433.\n", "")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of an engine with tokens, and two of their keys."""
    user = make_user(tmp_path_factory.mktemp("k"))
    options = {"BOUND": ("--tag", "mine"), "READER": ("--read-only",)}
    made = {name: user.types("token", "add", *flags).stdout for name, flags in options.items()}
    with answering(user) as url:
        yield url, {name: re.findall(r"sm_[\w-]+", said)[0] for name, said in made.items()}


@pytest.mark.parametrize("version", ["3.62.0", "5.0.1"])
def test_wrong_keys_raise_the_clients_own_exceptions(guarded: tuple[str, dict[str, str]], version: str):
    url, keys = guarded
    endings = told([interpreter(version), str(CLIENTS / "keys.py")], url, **keys)
    assert endings == dict.fromkeys(stories("keys.py"))
