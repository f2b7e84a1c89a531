"""Compares the code that records named with the working tree, and marks records that no longer hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

from scrubjay.code import git
from scrubjay.code.anchors import Anchor, File
from scrubjay.code.definitions import Definitions, definitions, digest, is_broken
from scrubjay.code.git import Tree
from scrubjay.home.repositories import WorkTree
from scrubjay.models.results import Mark

PATH_SHOWN = 32  # characters of a path or branch in a mark, which may have 12 tokens
_MOST_FILES = 2_000  # files that are cached
_MOST_ANSWERS = 5_000  # answers of git that are cached
_WORST = ("gone", "changed", "moved")
_BEFORE_NAME = {"moved": "now in", "changed": "changed, now in", "branch": "only on branch"}
_MOST_CANDIDATES = 30  # files that are read to find the definition of a name
T = TypeVar("T")
Head = tuple[str, str | None]  # HEAD's commit, and its branch unless HEAD is detached
Item = tuple[File, tuple[str, str] | None]  # a file, or a definition in it: its name and hash


def text_of(
    kind: str, now: str | None = None, commits: int | None = None, last: datetime | None = None
) -> str:
    """Return the text of a mark.

    >>> text_of("moved", "src/b.py"), text_of("changed", commits=3, last=datetime(2026, 11, 20, tzinfo=UTC))
    ('now in src/b.py', 'changed since (3 commits, last 2026-11-20)')
    >>> text_of("changed", "src/b.py")
    'changed, now in src/b.py'
    """
    if now is not None:
        name = now if len(now) <= PATH_SHOWN else f"…{now[1 - PATH_SHOWN :]}"
        return f"{_BEFORE_NAME[kind]} {name}"
    if kind == "gone":
        return "gone"
    if last is None:
        return "changed since"
    day = f"{last.astimezone():%Y-%m-%d}"
    if not commits:
        return f"changed since (not committed, {day})"
    count = f"{commits}{'+' if commits == git.MOST_COMMITS else ''} commit{'s' if commits > 1 else ''}"
    return f"changed since ({count}, last {day})"


class Marker:
    """Marks records by working trees; it caches files by size and time, and git's answers by HEAD."""

    def __init__(self) -> None:
        self._file_at = lru_cache(_MOST_FILES)(_file_at)
        # Gets the id of HEAD, a function that asks git, and its arguments.
        self.answer = lru_cache(_MOST_ANSWERS)(lambda head, question, *arguments: question(*arguments))

    def mark(self, work: WorkTree, head: Head, anchor: Anchor, recalled_text: str) -> Mark | None:
        """Return the mark of a record with this anchor and this recalled text, or None if it still holds.

        What counts is what the text names: definitions, or files without a named definition. If only tools
        named files, the record is marked when all of these files have changed.
        """
        named_items = _named_in(recalled_text, anchor)
        items = named_items or [(file, None) for file in anchor.files]
        comparison = _Comparison(self, work, anchor.commit, head[0])
        marks = [mark for mark in (comparison.mark_of(*item) for item in items) if mark is not None]
        if items and (not marks or not (named_items or len(marks) == len(items))):
            return None
        worst = min(marks, key=lambda mark: _WORST.index(mark.kind), default=None)
        return comparison.branch_mark(anchor, head[1]) or worst

    def file(self, root: str, path: str) -> _CurrentFile | None:
        """Return a file as it is now; None if it cannot be read."""
        try:
            stat = os.lstat(os.path.join(root, path))
            return self._file_at(root, path, stat.st_mtime_ns, stat.st_size)
        except OSError:
            return None


@dataclass
class _CurrentFile:
    """A file of a working tree: its time in nanoseconds, its hash, and (on demand) its definitions."""

    root: str
    path: str
    time: int
    digest: str

    @cached_property
    def definitions(self) -> Definitions:
        return definitions(self.path, git.read_file(self.root, self.path) or b"")

    def may_define(self, name: str) -> bool:
        """Return True if the file cannot be parsed now, but has a line that seems to define a name."""
        content = git.read_file(self.root, self.path) or b""
        return git.may_define(content, name) and is_broken(self.path, content)


def _file_at(root: str, path: str, time: int, _size: int) -> _CurrentFile:
    """Read a file; raise OSError, which no cache keeps, if it cannot be read now."""
    content = git.read_file(root, path)
    if content is None:
        raise OSError(f"{path} cannot be read")
    return _CurrentFile(root, path, time, digest(content))


@dataclass(frozen=True)
class _Comparison:
    """Compares the code named at a commit with a working tree whose HEAD is `head`."""

    marker: Marker
    work: WorkTree
    commit: str
    head: str

    def mark_of(self, file: File, symbol: tuple[str, str] | None) -> Mark | None:
        """Return the mark of a file, or of a definition in it; None if it is unchanged or unknown."""
        current = self.marker.file(self.work.root, file.path)
        if current is None and os.path.lexists(os.path.join(self.work.root, file.path)):
            return None
        if current is not None and current.digest == file.digest:
            return None
        if symbol is None:
            return self._changed_mark(current) if current is not None else self._removed_mark(file)
        name, old_hash = symbol
        current_hash = current.definitions.get(_key(name)) if current is not None else None
        if current is not None and current_hash is None and current.may_define(name.rpartition(".")[2]):
            return None
        if current is None or current_hash is None:
            return self._moved_mark(file.path, name, old_hash, current)
        return None if current_hash == old_hash else self._changed_mark(current, name)

    def branch_mark(self, anchor: Anchor, current: str | None) -> Mark | None:
        """Return the mark for a record of another branch whose commit is not in HEAD's history.

        The commits of a squash-merged branch are not in that history either. But the code that its records
        name is in HEAD's tree, so these records get no mark.
        """
        recorded_on = anchor.branch
        if recorded_on is None or recorded_on == current:
            return None
        is_merged = self._ask(git.is_merged, self.commit)
        if is_merged is not False or self._ask(_is_in_tree, self.head, anchor):
            return None
        branches = self._ask(git.branches_with, self.commit)
        name = recorded_on if recorded_on in branches else next(iter(branches), None)
        return None if name is None else self._mark("branch", now=name)

    def _changed_mark(self, current: _CurrentFile, symbol: str | None = None) -> Mark:
        times = self._ask(git.changes_since, self.commit, current.path)
        if times is None or (not times and current.digest == self._ask(_digest_at, self.head, current.path)):
            return self._mark("changed", current.path, symbol)  # the record is about an uncommitted edit
        last = datetime.fromtimestamp(times[0] if times else current.time / 1e9, UTC)
        return self._mark("changed", current.path, symbol, commits=len(times), last=last)

    def _removed_mark(self, file: File) -> Mark | None:
        """Return the mark of a missing file; None if it is only not checked out."""
        new_path = self._ask(git.new_path_since, self.commit, file.path)
        if not new_path:
            return None if new_path is None else self._mark("gone", file.path)
        new_file = self.marker.file(self.work.root, new_path)
        is_changed = new_file is not None and new_file.digest != file.digest
        return self._mark("changed" if is_changed else "moved", file.path, now=new_path)

    def _moved_mark(self, path: str, name: str, old_hash: str, current: _CurrentFile | None) -> Mark | None:
        """Return the mark of a definition that is no longer in its file."""
        new_path = None
        if current is None:
            new_path = self._ask(git.new_path_since, self.commit, path)
            if new_path is None:
                return None
        if not new_path or not self._current_hash(new_path, name):
            new_path = self._ask(self._file_with, path, name, old_hash, current and current.digest)
        if new_path is None and current is not None:
            return self._changed_mark(current, name)
        if not new_path:
            return self._mark("gone", path, name)
        is_changed = self._current_hash(new_path, name) != old_hash
        return self._mark("changed" if is_changed else "moved", path, name, now=new_path)

    def _file_with(self, work: WorkTree, path: str, name: str, old_hash: str, _: str | None) -> str | None:
        """Return the first other file with the same definition, or the only one that defines the name since.

        Return "" if there is no such file, None if git does not answer. The last argument is the hash of the
        file at `path` now, with which the answer may change.
        """
        own_name = name.rpartition(".")[2]
        defining = Tree(work, None, git.SECONDS).files_defining([own_name])
        if defining is None:
            return None
        candidates = sorted(defining.get(own_name, set()) - {path})[:_MOST_CANDIDATES]
        hashes = {candidate: self._current_hash(candidate, name) for candidate in candidates}
        if same := [candidate for candidate in candidates if hashes[candidate] == old_hash]:
            return same[0]
        others = [candidate for candidate in candidates if hashes[candidate]]
        old_contents = Tree(work, self.commit, git.SECONDS).read(others)
        new = [each for each in others if _key(name) not in definitions(each, old_contents.get(each, b""))]
        return new[0] if len(new) == 1 else ""

    def _mark(self, kind: Any, path: str | None = None, symbol: str | None = None, **details: Any) -> Mark:
        text = text_of(kind, **details)
        return Mark(text=text, kind=kind, path=path, symbol=symbol, at=self.commit, **details)

    def _current_hash(self, path: str, name: str) -> str | None:
        current = self.marker.file(self.work.root, path)
        return None if current is None else current.definitions.get(_key(name))

    def _ask(self, question: Callable[..., T], *arguments: object) -> T:
        """Return the answer of a function that asks git about the working tree, cached while HEAD stays."""
        return cast(T, self.marker.answer(self.head, question, self.work, *arguments))


def _is_in_tree(work: WorkTree, head: str, anchor: Anchor) -> bool:
    """Return True if all the code that a record names is unchanged in HEAD's tree."""
    files = [file for file in anchor.files if file.is_in_text] or anchor.files
    contents = Tree(work, head, git.SECONDS).read([file.path for file in files])
    return bool(files) and all(_is_unchanged(file, contents.get(file.path)) for file in files)


def _digest_at(work: WorkTree, commit: str, path: str) -> str | None:
    """Return the hash of a file at a commit, or None if the commit lacks the file."""
    content = Tree(work, commit, git.SECONDS).read([path]).get(path)
    return None if content is None else digest(content)


def _is_unchanged(file: File, content: bytes | None) -> bool:
    if content is None or digest(content) == file.digest:
        return content is not None
    current = definitions(file.path, content) if file.symbols else {}
    return bool(current) and all(current.get(_key(name)) == old_hash for name, old_hash in file.symbols)


def _named_in(text: str, anchor: Anchor) -> list[Item]:
    """Return the items of an anchor that this text names, or all that a text named if it names none.

    A file counts only if the text named no definition in it.
    """
    items: list[Item] = []
    for file in anchor.files:
        items += [(file, symbol) for symbol in file.symbols] or [(file, None)] * file.is_in_text
    return [
        (file, symbol)
        for file, symbol in items
        if (symbol[0].rpartition(".")[2] if symbol else os.path.basename(file.path)) in text
    ] or items


def _key(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))
