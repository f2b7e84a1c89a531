"""What a store's folder should contain: its files with their checksums, and the row counts of its tables.

LanceDB never changes a file that it has written. The inventory is stored next to the folder, so that it
survives the folder's loss, with a copy of each table's newest manifest, without which the table cannot be
read. It is derived: a file whose line is missing or torn cannot be checked until the next checkpoint.
Methods that change the inventory raise OSError if the disk refuses.
"""

from __future__ import annotations

import logging
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import NamedTuple
from uuid import uuid4

from scrubjay.home.files import read_regular, sync_folder, write_whole
from scrubjay.store.manifest import is_whole, newest_manifest, read_manifest

log = logging.getLogger("scrubjay.store")

_MAX_BYTES = 256 << 20  # of an inventory; a line has 120 bytes, and a maintained store has about 1,000 files
_BLOCK = 1 << 20  # bytes read at once
_ASIDE = ".aside"  # in the name of anything moved aside; `move_aside_nonfile` adds it too
_DRAFT = ".tmp"  # begins the name of an unfinished file of LanceDB; a writer that dies leaves it
_HINT = "_versions/latest_version_hint.json"  # derived, and replaced by each commit


class Written(NamedTuple):
    """A file as it was written: its size in bytes, and the CRC-32 of its content."""

    size: int
    crc: int


class Rows(NamedTuple):
    """The number of rows of a table at one of its versions."""

    total: int
    version: int


@dataclass
class Inventory:
    """The inventory of the store at `root`. All methods read the disk and block."""

    root: str
    files: dict[str, Written] = field(default_factory=dict)  # by path below the root
    rows: dict[str, Rows] = field(default_factory=dict)  # by the table's name on disk
    lost: dict[str, Rows] = field(default_factory=dict)  # the rows that damaged tables had before
    _lock: RLock = field(default_factory=RLock, repr=False, compare=False)  # two checkpoints may run at once

    @property
    def folder(self) -> str:
        """Return the folder of the inventory."""
        return f"{self.root}.inventory"

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "files")

    def _copy_of(self, table: str) -> str:
        return os.path.join(self.folder, f"{table}.manifest")

    @classmethod
    def load(cls, root: str) -> Inventory:
        """Read the inventory of a store; it is empty if the file is missing."""
        self = cls(root)
        try:
            lines = read_regular(self._path, _MAX_BYTES).decode("utf-8", "replace").split("\n")
        except OSError:  # missing or unreadable
            lines = []
        for text, _, checksum in (line.rpartition(" ") for line in lines):
            if checksum != _checksum(text):
                continue
            kind, first, second, name = text.split(" ", 3)
            if kind == "file":
                self.files[name] = Written(int(first), int(second))
            else:
                (self.rows if kind == "rows" else self.lost)[name] = Rows(int(first), int(second))
        return self

    def sync_new(self, rows: Mapping[str, Rows]) -> int:
        """Sync all new files, then their folders, and record the files; return the number of files.

        `rows` was counted before. The entry of a table that lost rows stays until `examine` has reported it.
        """
        with self._lock:
            names = set(_files_below(self.root))
            new = sorted(name for name in names - self.files.keys() if _is_final(name))
            for name in (*new, *{os.path.dirname(name) for name in new}):
                with suppress(FileNotFoundError):  # compaction and clean-up remove replaced files
                    sync_folder(os.path.join(self.root, name))  # which syncs a file as well
            self._record(names, new, rows)
        return len(new)

    def _record(self, names: set[str], new: list[str], rows: Mapping[str, Rows]) -> None:
        for name in new:
            with suppress(FileNotFoundError):
                self.files[name] = _read(os.path.join(self.root, name))
        lacking = self.lacking(rows)
        differing = {name: count for name, count in rows.items() if self.rows.get(name) != count}
        changed = {name: count for name, count in differing.items() if name not in lacking}
        if not (new or changed):
            return
        self.rows.update(changed)
        try:
            for name in changed:
                if (newest := self._newest_recorded(name)) is not None:
                    with suppress(FileNotFoundError):
                        shutil.copyfile(os.path.join(self.root, newest), self._copy_of(name))
            if removed := self.files.keys() - names:
                for name in removed - self._used():  # a missing file that is in use stays listed
                    del self.files[name]
            elif os.path.isfile(self._path):
                lines = _lines({name: self.files[name] for name in new if name in self.files}, changed, {})
                with open(self._path, "a", encoding="utf-8") as file:
                    file.writelines(lines)  # not synced: losing one in a power cut does no harm
                return
            self._write()
        except OSError as error:  # a full disk: the store itself has room, or reports it
            log.warning("the inventory cannot be written: %s", error.strerror)

    def _write(self) -> None:
        write_whole(self._path, "".join(_lines(self.files, self.rows, self.lost)).encode())

    def _newest_recorded(self, table: str) -> str | None:
        """Return the path, relative to the store, of the newest recorded manifest of a table."""
        beginning = f"{table}.lance/_versions/"
        return min((name for name in self.files if name.startswith(beginning)), default=None)

    def forget(self, *tables: str) -> None:
        """Forget the checksums of dropped tables."""
        with self._lock:
            for name in [name for name in self.files if name.partition(".lance/")[0] in tables]:
                del self.files[name]
            self._write()

    def accept(self) -> None:
        """Accept the current files as the new baseline."""
        with self._lock:
            self.files, self.lost = {}, {}
            self._write()

    def link_aside(self) -> str:
        """Hard-link the store's files into a new folder, which the next purge removes; return its path."""
        aside = os.path.join(self.folder, f"{uuid4().hex[:8]}{_ASIDE}")
        shutil.copytree(self.root, aside, copy_function=os.link)
        return aside

    def remove_remains(self) -> None:
        """Remove everything that was moved aside and all drafts, because they may hold purged text.

        The caller prevents writes during this.
        """
        for root in (self.root, self.folder):
            for folder, folders, names in os.walk(root):
                for name in filter(_is_left_over, folders):
                    shutil.rmtree(os.path.join(folder, name))
                for name in filter(_is_left_over, names):
                    os.unlink(os.path.join(folder, name))

    # -- checks and repairs

    def repair_tables(self) -> list[str]:
        """Repair what would keep LanceDB from opening a table; return sentences about the repairs.

        A missing or damaged newest manifest is restored from its copy, else the previous version becomes the
        newest.
        """
        os.makedirs(self.folder, 0o700, exist_ok=True)
        tables = self._tables()
        if removed := {name.partition(".lance/")[0] for name in self.files}.difference(tables):
            self.forget(*removed)  # new tables reuse the names of their files
        for name in _files_below(self.root):
            # Hints are derived, and a wrong one would mislead.
            if name.endswith(_HINT) or os.path.basename(name).startswith(_DRAFT):
                os.unlink(os.path.join(self.root, name))
        repairs = []
        for table in tables:
            recorded, newest = self._newest_recorded(table), self._newest(table)
            if recorded and (newest is None or recorded <= newest):
                if self._is_damaged(recorded, deep=True):
                    repairs.append(self._mend_manifest(table, recorded))
            elif newest and not is_whole(os.path.join(self.root, newest)):
                repairs.append(self._move_aside(table, newest))
        for sentence in repairs:
            log.warning("%s", sentence)
        return repairs

    def _mend_manifest(self, table: str, name: str) -> str:
        path, copy = os.path.join(self.root, name), self._copy_of(table)
        with suppress(OSError):
            if _read(copy) == self.files[name]:
                os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                if os.path.lexists(path):
                    os.replace(path, f"{path}{_ASIDE}")
                shutil.copyfile(copy, path)
                return f"Table {table}: its newest manifest was damaged and was restored from its copy."
        del self.files[name]
        return self._move_aside(table, name)

    def _move_aside(self, table: str, name: str) -> str:
        """Move a manifest aside, so that the previous version becomes the newest.

        A power loss can leave the newest one empty; its writes are still in the write-ahead log.
        """
        with suppress(FileNotFoundError):
            os.replace(os.path.join(self.root, name), os.path.join(self.root, f"{name}{_ASIDE}"))
        if self._newest(table) is None:  # LanceDB would create a new table among the same files
            aside = os.path.join(self.folder, f"{table}.{uuid4().hex[:8]}{_ASIDE}")
            os.rename(os.path.join(self.root, f"{table}.lance"), aside)
            return f"Table {table}: none of its versions can be read; its files were moved to {aside}."
        return f"Table {table}: its newest version was damaged and was moved aside."

    def damage(self, *, deep: bool) -> list[str]:
        """Return the recorded files in use that are missing or differ in size or, with `deep`, in content."""
        return sorted(name for name in self._used() if self._is_damaged(name, deep=deep))

    def _used(self) -> set[str]:
        """Return the recorded files that the newest versions of the tables use."""
        used: set[str] = set()
        for table in self._tables():
            if (newest := self._newest(table)) is not None:
                manifest, beginning = read_manifest(os.path.join(self.root, newest)), f"{table}.lance/"
                recorded = [name for name in list(self.files) if name.startswith(beginning)]
                used.update(name for name in recorded if manifest.uses(name.removeprefix(beginning)))
        return used

    def _newest(self, table: str) -> str | None:
        """Return the path, relative to the store, of the newest existing manifest of a table."""
        path = newest_manifest(os.path.join(self.root, f"{table}.lance"))
        return path and f"{table}.lance/_versions/{os.path.basename(path)}"

    def lacking(self, counts: Mapping[str, Rows]) -> list[str]:
        """Return the tables with an older version than recorded, or another number of rows."""
        return [
            name
            for name, (total, version) in counts.items()
            if (recorded := self.rows.get(name)) is not None
            and (version < recorded.version or (version == recorded.version and total != recorded.total))
        ]

    def _is_damaged(self, name: str, *, deep: bool) -> bool:
        """Return True if a file is missing or differs from what was recorded."""
        path, recorded = os.path.join(self.root, name), self.files.get(name)
        try:
            if not os.path.isfile(path):  # reading a FIFO would block
                return True
            return recorded is not None and (
                os.path.getsize(path) != recorded.size or (deep and _read(path) != recorded)
            )
        except OSError:  # the disk cannot read it
            return True

    def _tables(self) -> list[str]:
        with suppress(FileNotFoundError):
            names = sorted(os.listdir(self.root))
            return [name.removesuffix(".lance") for name in names if name.endswith(".lance")]
        return []


def _is_final(name: str) -> bool:
    """Return True if this is a finished file of LanceDB, which never changes."""
    return ".lance/" in name and not name.endswith(_HINT) and not _is_left_over(name)


def _is_left_over(name: str) -> bool:
    """Return True if this was moved aside, or is the draft of a writer that died."""
    return _ASIDE in name or os.path.basename(name).startswith(_DRAFT)


def _lines(files: Mapping[str, Written], rows: Mapping[str, Rows], lost: Mapping[str, Rows]) -> Iterator[str]:
    for kind, entries in (("file", files), ("rows", rows), ("lost", lost)):
        for name, (first, second) in entries.items():
            text = f"{kind} {first} {second} {name}"
            yield f"{text} {_checksum(text)}\n"


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _read(path: str) -> Written:
    size = crc = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return Written(size, crc)


def _files_below(root: str, folder: str = "") -> Iterator[str]:
    """Yield the paths of all files relative to `root`, a third faster than `os.walk`."""
    with suppress(FileNotFoundError), os.scandir(os.path.join(root, folder)) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(root, f"{folder}{entry.name}/")
            elif entry.is_file():  # opening a FIFO would block
                yield folder + entry.name
