"""supermemory's official clients against a served engine: each in an environment of its own, because they
cannot share one, with each other or with ours.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from answering import answering
from installs import INSTALL_SECONDS, installation
from node import CLIENTS
from user import make_user

PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"
TELLING_SECONDS = 120
KEY = "sm_any_key_opens_a_loopback_door"


def interpreter(version: str) -> str:
    """The Python of an environment with this version of the client."""
    pins = CLIENTS / f"python-{version}.txt"

    def install(folder: Path) -> None:
        venv.create(folder, clear=True, with_pip=False)  # ours installs into it, which takes half the time
        pip = [sys.executable, "-m", "pip", "--python", str(folder / PYTHON)]
        installing = [*pip, *"install --quiet --disable-pip-version-check --no-deps -r".split(), pins]
        done = subprocess.run(
            installing, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        assert done.returncode == 0, f"pip could not install {pins.name}:\n{done.stderr[-2000:]}"

    identity = pins.read_bytes() + sys.version.encode()
    return str(installation(f"supermemory-{version}", identity, install) / PYTHON)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the engine that all official clients share."""
    with answering(make_user(tmp_path_factory.mktemp("o"))) as url:
        yield url


def stories(script: str) -> list[str]:
    """The names of the stories in a script of `clients/`."""
    tree = ast.parse((CLIENTS / script).read_text(encoding="utf-8"))
    return [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("it_")
    ]


def told(command: Sequence[str], url: str, **more: str) -> dict[str, str | None]:
    """How each story of a script ended: None, or the error. `more` are its environment variables."""
    urls = dict.fromkeys(("SUPERMEMORY_BASE_URL", "SUPERMEMORY_LOCAL_URL"), url)
    env = {"PATH": os.environ["PATH"], "SUPERMEMORY_API_KEY": KEY, **urls, **more}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=TELLING_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    endings: dict[str, str | None] = json.loads(done.stdout)
    return endings
