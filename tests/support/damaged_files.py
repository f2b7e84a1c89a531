"""Ways to damage a file of a store, and the files that a table uses."""

from __future__ import annotations

import shutil
from pathlib import Path

from scrubjay.home.paths import Home
from scrubjay.store.manifest import newest_manifest, read_manifest


def used(home: Home, table: str, part: str) -> list[Path]:
    """The files of a part of a table that its newest version reads, such as `data` or `_indices`."""
    folder = Path(home.data, f"{table}.lance")
    manifest = read_manifest(newest_manifest(str(folder)) or "")
    files = [each for each in sorted(folder.glob(f"{part}/**/*")) if each.is_file()]
    return [each for each in files if manifest.uses(each.relative_to(folder).as_posix())]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
