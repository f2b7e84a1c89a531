"""A disk of 6 MB for a test, and what fills it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BALLAST = "ballast"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MB, unmounted when the test ends."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if sys.platform != "linux" or mount is None:
        pytest.skip("only Linux lets a test have a small disk of its own")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], capture_output=True, timeout=20, check=False
    )
    if made.returncode:
        pytest.skip(f"this user may not mount a small disk: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True, timeout=20)


def fill(disk: Path) -> None:
    """Write until the disk is full."""
    with open(disk / BALLAST, "wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
