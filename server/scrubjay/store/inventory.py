"""What should lie in the folder of a store: its files with their checksums, and the rows of its tables.

LanceDB never writes into a file again, so what a file held when it was first on disk it holds for ever. The
inventory lies beside the folder, so that it tells of a folder that is gone. It is derived: lines that are
missing or torn are of files that nobody can judge, and the next checkpoint notes them. With it lies a copy of
each table's newest manifest: few bytes without which all others say nothing.
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

from scrubjay.home.files import clear_way, read_regular
from scrubjay.store.manifest import newest_manifest, read_manifest

log = logging.getLogger("scrubjay.store")

_LONGEST = (
    256 << 20
)  # bytes of an inventory; a line has 120, and a store that is looked after some 1,000 files
_BLOCK = 1 << 20  # bytes that are read at once
_WORTH_WRITING_ANEW = 4  # lines for each that still says something
_ASIDE = ".aside"  # in the name of what was moved aside; `clear_way` adds it too
_ENDINGS = (".manifest", ".lance", ".arrow", ".bin", ".txn", ".json", ".idx")  # of LanceDB's files
_DRAFT = ".tmp"  # begins the name of a file that LanceDB has not finished; a writer that dies leaves it
_DERIVED = ("_versions/latest_version_hint.json",)  # which each commit replaces


class Written(NamedTuple):
    """A file as it was written: its bytes, and their CRC-32."""

    size: int
    crc: int


class Rows(NamedTuple):
    """How many rows a table has, and as of which of its versions."""

    total: int
    version: int


@dataclass(frozen=True)
class Damage:
    """A file that a table uses and that is not as it was written; of which fragment or index it is."""

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
    lost: dict[str, Rows] = field(default_factory=dict)  # tables that once had so much, and have it no more
    _synced: set[str] = field(default_factory=set)
    _lines: int = 0
    _lock: RLock = field(default_factory=RLock, repr=False, compare=False)  # two checkpoints may meet

    @property
    def folder(self) -> str:
        """Where the inventory lies."""
        return f"{self.root}.inventory"

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "files")

    def _copy_of(self, table: str) -> str:
        return os.path.join(self.folder, f"{table}.manifest")

    @classmethod
    def load(cls, root: str) -> Inventory:
        """Read the inventory of a store; an empty one if there is none."""
        self = cls(root)
        try:
            lines = read_regular(self._path, _LONGEST).decode("utf-8", "replace").split("\n")
        except OSError:  # nothing is there, or nothing that can be read
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
        """Sync every new file, then the folders of these, and note them; return the number of files.

        `rows` is what tables had before; they are noted behind their files. Of a table that lacks rows what
        was noted stays, until `examine` has said so.
        """
        files = set(_files_below(self.root))
        new = files - self._synced
        for path in (*new, *{os.path.dirname(path) for path in new}):
            with suppress(FileNotFoundError):  # compaction and clean-up remove what newer versions replaced
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
        except OSError as error:  # a full disk: the store itself has room, or says so
            log.warning("the inventory cannot be written: %s", error.strerror)

    def _append(self, lines: Sequence[str]) -> None:
        """Add lines; not synced, because a line that a power cut takes is one that nobody misses."""
        self._lines += len(lines)
        if self._lines > _WORTH_WRITING_ANEW * (len(self._synced) + 100) or not os.path.isfile(self._path):
            self.write()
            return
        with open(self._path, "a", encoding="utf-8") as file:
            file.writelines(f"{line} {_check(line)}\n" for line in lines)

    def write(self) -> None:
        """Write the whole inventory, without files that nobody misses; `load` reads the same from it.

        Raises:
            OSError: as the disk says.
        """
        with self._lock:
            self._write()

    def _write(self) -> None:
        kept = {self._name(path) for path in _files_below(self.root)}
        for table in self._tables_there():  # whose file is lost if it is not there
            kept.update(name for name, _, _ in self._used(table))
        self.files = {name: written for name, written in self.files.items() if name in kept}
        lines = [f"file {size} {crc} {name}" for name, (size, crc) in self.files.items()]
        for kind, tables in (("rows", self.rows), ("lost", self.lost)):
            lines += [f"{kind} {count} {version} {name}" for name, (count, version) in tables.items()]
        clear_way(self._path)
        draft = f"{self._path}.draft"
        clear_way(draft)
        with open(
            os.open(draft, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600), "w", encoding="utf-8"
        ) as file:
            file.writelines(f"{line} {_check(line)}\n" for line in lines)
        os.replace(draft, self._path)
        self._lines = len(lines)

    def _newest_noted(self, table: str) -> str | None:
        """Return the newest manifest of a table that was noted, by its path below the store."""
        beginning = f"{table}.lance/_versions/"
        return min((name for name in self.files if name.startswith(beginning)), default=None)

    def forget(self, *tables: str) -> None:
        """Judge the files of these tables, which are gone, no more by what was noted of them.

        Raises:
            OSError: as the disk says.
        """
        gone = tuple(f"{name}.lance/" for name in tables)
        with self._lock:
            self.files = {name: each for name, each in self.files.items() if not name.startswith(gone)}
            self._synced = {path for path in self._synced if not self._name(path).startswith(gone)}
            self.write()

    def accept(self) -> None:
        """Take what is there for all there is.

        Raises:
            OSError: as the disk says.
        """
        with self._lock:
            self.files, self.lost, self._synced = {}, {}, set()
            self.write()

    def set_aside(self, found: Iterable[Damage]) -> str | None:
        """Copy damaged files to where a purge removes them, and return that folder; None if none is there.

        A copy ends where the disk itself cannot read on, because there is nothing more to keep.

        Raises:
            OSError: there is no room, or no right to write there.
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
        """Remove what was moved aside and every draft, because they may hold what somebody wants gone.

        The caller lets nobody write meanwhile.

        Raises:
            OSError: as the disk says.
        """
        remains = [path for folder in (self.root, self.folder) for path in _remains_below(folder)]
        for path in remains:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    # -- what is not as it should be

    def clear_ways(self) -> list[str]:
        """Put right what would keep LanceDB waiting or from opening a table; say what was done.

        What is no file where its files should be is moved aside, and a newest manifest that is missing or
        damaged is put back from its copy. Without a copy the one before is the newest; without any, the
        folder of the table is moved aside.
        """
        os.makedirs(self.folder, 0o700, exist_ok=True)
        said = []
        for name in os.listdir(self.root):
            path = os.path.join(self.root, name)
            if name.endswith(".lance") and not os.path.isdir(path):
                os.rename(path, f"{path}{_ASIDE}")
        there = self._tables_there()
        if gone := {name.partition(".lance/")[0] for name in self.files}.difference(there):
            self.forget(*gone)  # what takes their place has files of the same names
        for table in there:
            folder = os.path.join(self.root, f"{table}.lance")
            odd = [path for path in _odd_below(folder) if clear_way(path)]
            if odd:
                said.append(f"Table {table}: what stood in place of a file was moved aside.")
            drafts = [path for path in _files_below(folder) if _is_draft(path)]
            # What was derived would mislead where it is wrong.
            for path in (*drafts, *(os.path.join(folder, name) for name in _DERIVED)):
                with suppress(FileNotFoundError):
                    os.unlink(path)
            noted, newest = self._newest_noted(table), newest_manifest(folder)
            if (
                noted is not None
                and (newest is None or noted <= self._name(newest))
                and self._wrong(noted, True)
            ):
                said.append(self._mend_manifest(table, noted))
        return said

    def _mend_manifest(self, table: str, name: str) -> str:
        path = os.path.join(self.root, name)
        if os.path.lexists(path):
            os.replace(path, f"{path}{_ASIDE}")
        with suppress(OSError):
            if _read(self._copy_of(table)) == self.files[name]:
                os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                shutil.copyfile(self._copy_of(table), path)
                return f"Table {table}: its newest manifest was damaged and was put back from its copy."
        del self.files[name]
        folder = os.path.join(self.root, f"{table}.lance")
        newest = newest_manifest(folder)
        if newest is not None and not self._wrong(self._name(newest), True):
            return f"Table {table}: its newest version was damaged and was set aside."
        os.rename(folder, os.path.join(self.folder, f"{table}.{uuid4().hex[:8]}{_ASIDE}"))
        return f"Table {table}: no version of it can be read, and its files are in {self.folder}."

    def damage(self, *, deep: bool) -> list[Damage]:
        """Compare the files that the newest version of each table uses with what was written.

        Whether they are there with all of their bytes; with `deep`, whether these are the same bytes.
        """
        found = []
        for table in self._tables_there():
            for name, fragment, index in self._used(table):
                if what := self._wrong(name, deep):
                    found.append(Damage(table, name, what, fragment, index))
        return found

    def _used(self, table: str) -> Iterator[tuple[str, int | None, str | None]]:
        """Yield the files that a table uses, and of which fragment or index each is."""
        beginning = f"{table}.lance/"
        newest = newest_manifest(os.path.join(self.root, beginning))
        if newest is None:
            return
        manifest = read_manifest(newest)
        noted = [name for name in list(self.files) if name.startswith(beginning)]  # a copy: others may add
        for name in dict.fromkeys([*noted, *(beginning + file for file in manifest.files)]):
            file = name.removeprefix(beginning)
            fragment, index = manifest.fragment_of(file), manifest.index_of(file)
            if fragment is not None or index is not None or self._name(newest) == name:
                yield name, fragment, index

    def lacking(self, now: Mapping[str, Rows]) -> list[str]:
        """Return the tables that are an older version than the one that was noted, or have other rows."""
        return [
            name
            for name, (total, version) in now.items()
            if (noted := self.rows.get(name)) is not None
            and (version < noted.version or (version == noted.version and total != noted.total))
        ]

    def _wrong(self, name: str, deep: bool) -> str | None:
        """Return what is wrong with a file, None if nothing is or nobody can tell."""
        noted, path = self.files.get(name), os.path.join(self.root, name)
        try:
            state = os.lstat(path)
            if not stat.S_ISREG(state.st_mode):
                return "is no file"
            if noted is None:
                return None
            if state.st_size != noted.size:
                return f"has {state.st_size:,} of {noted.size:,} bytes"
            return "has other bytes than were written" if deep and _read(path) != noted else None
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read ({error.strerror})"

    def _tables_there(self) -> list[str]:
        try:
            names = os.listdir(self.root)
        except FileNotFoundError:
            return []
        return [name.removesuffix(".lance") for name in sorted(names) if name.endswith(".lance")]

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")


def _is_judged(name: str) -> bool:
    """Whether a file is one that LanceDB writes once and reads again; it renames its drafts."""
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
    """Yield the paths of all files; a third quicker than `os.walk`."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path)
            elif entry.is_file():  # to open a FIFO would wait
                yield entry.path


def _is_draft(path: str) -> bool:
    return os.path.basename(path).startswith(_DRAFT)


def _remains_below(folder: str) -> list[str]:
    """Return what was moved aside below a folder, and the drafts there."""
    remains = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if _ASIDE in entry.name or _is_draft(entry.name):
                remains.append(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                remains += _remains_below(entry.path)
    return remains


def _odd_below(folder: str) -> list[str]:
    """Return what is neither a file nor a folder below a folder, and folders with the name of a file."""
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
