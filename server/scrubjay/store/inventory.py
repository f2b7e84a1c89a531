"""What a store's folder should contain: its files with their checksums, and the rows of its tables.

LanceDB never writes into a file again, so a file keeps the content that it had when it first reached the
disk. The inventory is stored next to the folder, so that it survives the loss of the folder. It is derived:
files whose lines are missing or torn cannot be checked, and the next checkpoint records them again. A copy of
each table's newest manifest is stored with it: a 2 kB file without which the table cannot be read.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EIO
from threading import RLock
from typing import NamedTuple
from uuid import uuid4

from scrubjay.home.files import move_aside_nonfile, read_regular
from scrubjay.store.manifest import newest_manifest, read_manifest

log = logging.getLogger("scrubjay.store")

_LONGEST = 256 << 20  # bytes of an inventory; a line has 120, and a maintained store some 1,000 files
_BLOCK = 1 << 20  # bytes read at once
_REWRITE_RATIO = 4  # lines per current line, beyond which the file is rewritten
_ASIDE = ".aside"  # in the name of anything moved aside; `move_aside_nonfile` adds it too
_ENDINGS = (".manifest", ".lance", ".arrow", ".bin", ".txn", ".json", ".idx")  # of LanceDB's files
_DRAFT = ".tmp"  # begins the name of a file that LanceDB has not finished; a writer that dies leaves it
_DERIVED = ("_versions/latest_version_hint.json",)  # replaced by each commit


class Written(NamedTuple):
    """A file as it was written: its size in bytes, and their CRC-32."""

    size: int
    crc: int


class Rows(NamedTuple):
    """The number of rows of a table at one of its versions."""

    total: int
    version: int


@dataclass(frozen=True)
class Damage:
    """A file in use that differs from what was written, with the fragment or index it belongs to."""

    table: str  # its name on disk
    path: str  # below the store
    what: str
    fragment: int | None = None
    index: str | None = None


@dataclass
class Inventory:
    """The inventory of the store at `root`. All methods read the disk, and block."""

    root: str
    files: dict[str, Written] = field(default_factory=dict)  # by path below the root
    rows: dict[str, Rows] = field(default_factory=dict)  # by the table's name on disk
    lost: dict[str, Rows] = field(default_factory=dict)  # what tables had that lost rows
    _synced: set[str] = field(default_factory=set)
    _lines: int = 0
    _lock: RLock = field(default_factory=RLock, repr=False, compare=False)  # two checkpoints may run at once

    @property
    def folder(self) -> str:
        """The folder of the inventory."""
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
            lines = read_regular(self._path, _LONGEST).decode("utf-8", "replace").split("\n")
        except OSError:  # missing or unreadable
            lines = []
        for line in lines:
            text, _, check = line.rpartition(" ")
            if check == _check(text):
                self._take(text)
        self._lines = len(lines)
        return self

    def _take(self, text: str) -> None:
        kind, first, second, name = text.split(" ", 3)
        if kind == "file":
            if _is_judged(name):
                self.files[name] = Written(int(first), int(second))
        else:
            (self.rows if kind == "rows" else self.lost)[name] = Rows(int(first), int(second))

    def sync_new(self, rows: Mapping[str, Rows]) -> int:
        """Sync every new file, then their folders, and record them; return the number of files.

        `rows` was counted before the call, and is recorded after the files. The record of a table that lost
        rows is kept until `examine` has reported the loss.
        """
        files = set(_files_below(self.root))
        new = files - self._synced
        for path in (*new, *{os.path.dirname(path) for path in new}):
            with suppress(FileNotFoundError):  # compaction and clean-up remove replaced files
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        with self._lock:
            self._synced = files
            self._note(new, rows)
        return len(new)

    def _note(self, new: set[str], rows: Mapping[str, Rows]) -> None:
        lines = []
        for path in sorted(new):
            name = self._name(path)
            if name in self.files or not _is_judged(name):
                continue
            with suppress(FileNotFoundError):
                self.files[name] = written = _read(path)
                lines.append(f"file {written.size} {written.crc} {name}")
        lacking = self.lacking(rows)
        changed = {
            name: now for name, now in rows.items() if self.rows.get(name) != now and name not in lacking
        }
        self.rows.update(changed)
        lines += [f"rows {count} {version} {name}" for name, (count, version) in changed.items()]
        if not lines:
            return
        try:
            for name in changed:
                if (newest := self._newest_noted(name)) is not None:
                    with suppress(FileNotFoundError):
                        shutil.copyfile(os.path.join(self.root, newest), self._copy_of(name))
            self._append(lines)
        except OSError as error:  # a full disk: the store itself has room, or reports it
            log.warning("the inventory cannot be written: %s", error.strerror)

    def _append(self, lines: Sequence[str]) -> None:
        """Append lines without syncing: losing one in a power cut does no harm."""
        self._lines += len(lines)
        if self._lines > _REWRITE_RATIO * (len(self._synced) + 100) or not os.path.isfile(self._path):
            self.write()
            return
        with open(self._path, "a", encoding="utf-8") as file:
            file.writelines(f"{line} {_check(line)}\n" for line in lines)

    def write(self) -> None:
        """Write the whole inventory without superseded lines; `load` reads the same from it.

        Raises:
            OSError: the disk refused.
        """
        with self._lock:
            self._write()

    def _write(self) -> None:
        kept = {self._name(path) for path in _files_below(self.root)}
        for table in self._existing_tables():  # a missing copy counts as a lost file
            kept.update(name for name, _, _ in self._used(table))
        self.files = {name: written for name, written in self.files.items() if name in kept}
        lines = [f"file {size} {crc} {name}" for name, (size, crc) in self.files.items()]
        for kind, tables in (("rows", self.rows), ("lost", self.lost)):
            lines += [f"{kind} {count} {version} {name}" for name, (count, version) in tables.items()]
        move_aside_nonfile(self._path)
        draft = f"{self._path}.draft"
        move_aside_nonfile(draft)
        with open(
            os.open(draft, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600), "w", encoding="utf-8"
        ) as file:
            file.writelines(f"{line} {_check(line)}\n" for line in lines)
        os.replace(draft, self._path)
        self._lines = len(lines)

    def _newest_noted(self, table: str) -> str | None:
        """Return the path, relative to the store, of the newest recorded manifest of a table."""
        beginning = f"{table}.lance/_versions/"
        return min((name for name in self.files if name.startswith(beginning)), default=None)

    def forget(self, *tables: str) -> None:
        """Forget the checksums of dropped tables.

        Raises:
            OSError: the disk refused.
        """
        gone = tuple(f"{name}.lance/" for name in tables)
        with self._lock:
            self.files = {name: each for name, each in self.files.items() if not name.startswith(gone)}
            self._synced = {path for path in self._synced if not self._name(path).startswith(gone)}
            self.write()

    def accept(self) -> None:
        """Accept the current files as the new baseline.

        Raises:
            OSError: the disk refused.
        """
        with self._lock:
            self.files, self.lost, self._synced = {}, {}, set()
            self.write()

    def copy_damaged(self, found: Iterable[Damage]) -> str | None:
        """Copy damaged files to a folder that a purge removes, and return it; None if none of them exists.

        A copy ends where the disk cannot read any further.

        Raises:
            OSError: the disk is full, or writing there is not permitted.
        """
        kept, aside = None, os.path.join(self.folder, f"damaged{_ASIDE}")
        for each in found:
            path = os.path.join(self.root, each.path)
            if os.path.isfile(path):
                os.makedirs(aside, 0o700, exist_ok=True)
                try:
                    shutil.copyfile(path, os.path.join(aside, each.path.replace("/", "_")))
                except OSError as error:
                    if error.errno != EIO:
                        raise
                kept = aside
        return kept

    def remove_remains(self) -> None:
        """Remove everything that was moved aside and every draft, because they may hold purged text.

        The caller prevents writes meanwhile.

        Raises:
            OSError: the disk refused.
        """
        remains = [path for folder in (self.root, self.folder) for path in _remains_below(folder)]
        for path in remains:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    # -- checks and repairs

    def repair_tables(self) -> list[str]:
        """Repair what would make LanceDB hang or fail to open a table; return sentences about the repairs.

        Anything but a regular file in the place of one is moved aside, and a newest manifest that is missing
        or damaged is restored from its copy. Without a copy, the previous version becomes the newest; if that
        is damaged too, the table's folder is moved aside.
        """
        os.makedirs(self.folder, 0o700, exist_ok=True)
        repairs = []
        for name in os.listdir(self.root):
            path = os.path.join(self.root, name)
            if name.endswith(".lance") and not os.path.isdir(path):
                os.rename(path, f"{path}{_ASIDE}")
        existing = self._existing_tables()
        if gone := {name.partition(".lance/")[0] for name in self.files}.difference(existing):
            self.forget(*gone)  # new tables reuse the names of their files
        for table in existing:
            folder = os.path.join(self.root, f"{table}.lance")
            odd = [path for path in _odd_below(folder) if move_aside_nonfile(path)]
            if odd:
                repairs.append(f"Table {table}: something in the place of a file was moved aside.")
            drafts = [path for path in _files_below(folder) if _is_draft(path)]
            # Hints are derived, and a wrong one would mislead.
            for path in (*drafts, *(os.path.join(folder, name) for name in _DERIVED)):
                with suppress(FileNotFoundError):
                    os.unlink(path)
            noted, newest = self._newest_noted(table), newest_manifest(folder)
            if (
                noted is not None
                and (newest is None or noted <= self._name(newest))
                and self._wrong(noted, True)
            ):
                repairs.append(self._mend_manifest(table, noted))
        return repairs

    def _mend_manifest(self, table: str, name: str) -> str:
        path = os.path.join(self.root, name)
        if os.path.lexists(path):
            os.replace(path, f"{path}{_ASIDE}")
        with suppress(OSError):
            if _read(self._copy_of(table)) == self.files[name]:
                os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                shutil.copyfile(self._copy_of(table), path)
                return f"Table {table}: its newest manifest was damaged and was restored from its copy."
        del self.files[name]
        folder = os.path.join(self.root, f"{table}.lance")
        newest = newest_manifest(folder)
        if newest is not None and not self._wrong(self._name(newest), True):
            return f"Table {table}: its newest version was damaged and was moved aside."
        os.rename(folder, os.path.join(self.folder, f"{table}.{uuid4().hex[:8]}{_ASIDE}"))
        return f"Table {table}: none of its versions can be read; its files were moved to {self.folder}."

    def damage(self, *, deep: bool) -> list[Damage]:
        """Compare the files that the newest version of each table uses with what was written.

        Sizes are compared; with `deep`, contents too.
        """
        found = []
        for table in self._existing_tables():
            for name, fragment, index in self._used(table):
                if what := self._wrong(name, deep):
                    found.append(Damage(table, name, what, fragment, index))
        return found

    def _used(self, table: str) -> Iterator[tuple[str, int | None, str | None]]:
        """Yield the files that a table uses, each with its fragment or index."""
        beginning = f"{table}.lance/"
        newest = newest_manifest(os.path.join(self.root, beginning))
        if newest is None:
            return
        manifest = read_manifest(newest)
        # A copy, because other threads may add.
        noted = [name for name in list(self.files) if name.startswith(beginning)]
        for name in dict.fromkeys([*noted, *(beginning + file for file in manifest.files)]):
            file = name.removeprefix(beginning)
            fragment, index = manifest.fragment_of(file), manifest.index_of(file)
            if fragment is not None or index is not None or self._name(newest) == name:
                yield name, fragment, index

    def lacking(self, now: Mapping[str, Rows]) -> list[str]:
        """Return the tables that are at an older version than recorded, or have other rows."""
        return [
            name
            for name, (total, version) in now.items()
            if (noted := self.rows.get(name)) is not None
            and (version < noted.version or (version == noted.version and total != noted.total))
        ]

    def _wrong(self, name: str, deep: bool) -> str | None:
        """Return what is wrong with a file, or None if nothing is known to be wrong."""
        noted, path = self.files.get(name), os.path.join(self.root, name)
        try:
            state = os.lstat(path)
            if not stat.S_ISREG(state.st_mode):
                return "is no file"
            if noted is None:
                return None
            if state.st_size != noted.size:
                return f"has {state.st_size:,} of {noted.size:,} bytes"
            return "differs from what was written" if deep and _read(path) != noted else None
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read ({error.strerror})"

    def _existing_tables(self) -> list[str]:
        try:
            names = os.listdir(self.root)
        except FileNotFoundError:
            return []
        return [name.removesuffix(".lance") for name in sorted(names) if name.endswith(".lance")]

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")


def _is_judged(name: str) -> bool:
    """Return True if LanceDB writes this file once and reads it again; it renames its drafts."""
    table, _, rest = name.partition("/")
    return (
        table.endswith(".lance")
        and rest.startswith(("data/", "_deletions/", "_indices/", "_versions/"))
        and (rest not in _DERIVED and _ASIDE not in rest and not _is_draft(rest))
    )


def _read(path: str) -> Written:
    size = crc = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return Written(size, crc)


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _files_below(folder: str) -> Iterator[str]:
    """Yield the paths of all files, a third faster than `os.walk`."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path)
            elif entry.is_file():  # opening a FIFO would block
                yield entry.path


def _is_draft(path: str) -> bool:
    return os.path.basename(path).startswith(_DRAFT)


def _remains_below(folder: str) -> list[str]:
    """Return everything below a folder that was moved aside, and the drafts existing."""
    remains = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if _ASIDE in entry.name or _is_draft(entry.name):
                remains.append(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                remains += _remains_below(entry.path)
    return remains


def _odd_below(folder: str) -> list[str]:
    """Return what is neither a file nor a folder below a folder, and folders named like a file."""
    odd = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or _ASIDE in entry.name:
                continue
            if entry.is_dir():
                is_file = entry.name.endswith(_ENDINGS)
                odd += [entry.path] if is_file else _odd_below(entry.path)
            elif not entry.is_file():
                odd.append(entry.path)
    return odd
