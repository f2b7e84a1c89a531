"""Compares what records named of the code with the working tree, and marks what no longer holds."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from scrubjay.code import git
from scrubjay.code.anchors import Anchor, File
from scrubjay.code.definitions import Definitions, definitions, digest, is_broken
from scrubjay.code.git import Tree
from scrubjay.home.repositories import WorkTree
from scrubjay.models.results import Mark

PATH_SHOWN = 33  # characters of a path or a branch in a mark, which may take 12 tokens
_MOST_FILES = 2_000  # files that are remembered
_MOST_ANSWERS = 5_000  # of git
_WORST = ("gone", "moved", "changed")
_MOST_HOMES = 30  # files that may define a name, and are read
K = TypeVar("K")
T = TypeVar("T")
Head = tuple[str, str | None]  # the commit, and the branch if any
Item = tuple[File, tuple[str, str] | None]  # a file, or a definition in it: its name and hash


def text_of(
    kind: str, now: str | None = None, commits: int | None = None, last: datetime | None = None
) -> str:
    """Return a mark as it is shown.

    >>> text_of("moved", "src/b.py"), text_of("changed", commits=3, last=datetime(2026, 11, 20, tzinfo=UTC))
    ('now in src/b.py', 'changed since (3 commits, last 2026-11-20)')
    """
    if now is not None:
        name = now if len(now) <= PATH_SHOWN else f"…{now[1 - PATH_SHOWN :]}"
        return f"now in {name}" if kind == "moved" else f"only on branch {name}"
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
    """Marks records against working trees; it remembers files by size and time, and git's answers by HEAD."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, _FileNow] = OrderedDict()
        self._answers: OrderedDict[tuple[object, ...], object] = OrderedDict()

    def mark(self, work: WorkTree, head: Head, anchor: Anchor, shown: str) -> Mark | None:
        """Return the mark of a record with this anchor whose text `shown` is recalled; None if it holds.

        What the text names counts: a definition, or a file without one. Of files that only tools named, a
        record is marked when all of them have changed.
        """
        named = _shown([each for file in anchor.files for each in _said(file)], shown)
        items = named or [(file, None) for file in anchor.files]
        look = _Look(self, work, anchor.commit, head[0])
        marks = [mark for mark in (look.state(*item) for item in items) if mark is not None]
        if items and (not marks or not (named or len(marks) == len(items))):
            return None
        worst = min(marks, key=lambda mark: _WORST.index(mark.kind), default=None)
        return look.branch(anchor, head[1]) or worst

    def file(self, root: str, path: str) -> _FileNow | None:
        """Return a file as it is now; None if it cannot be read."""
        place = os.path.join(root, path)
        try:
            stat = os.lstat(place)
        except OSError:
            return None
        known = self._files.get(place)
        if known is None or (known.time, known.size) != (stat.st_mtime_ns, stat.st_size):
            content = git.read_file(root, path)
            if content is None:
                return None
            known = _FileNow(root, path, stat.st_mtime_ns, stat.st_size, digest(content))
        _keep(self._files, place, known, _MOST_FILES)
        return known

    def answer(self, key: tuple[object, ...], ask: Callable[[], T]) -> T:
        """Return what git said before, or ask it."""
        answer = cast(T, self._answers[key]) if key in self._answers else ask()
        _keep(self._answers, key, answer, _MOST_ANSWERS)
        return answer


@dataclass
class _FileNow:
    """A file of a working tree: its time in nanoseconds, size and hash; and its definitions, once needed."""

    root: str
    path: str
    time: int
    size: int
    digest: str

    @cached_property
    def definitions(self) -> Definitions:
        return definitions(self.path, git.read_file(self.root, self.path) or b"")

    def may_define(self, name: str) -> bool:
        """Return True if a file that cannot be parsed now has a line that seems to define a name."""
        content = git.read_file(self.root, self.path) or b""
        return git.may_define(content, name) and is_broken(self.path, content)


@dataclass(frozen=True)
class _Look:
    """Compares what was named at a commit with a working tree whose HEAD is `head`."""

    marker: Marker
    work: WorkTree
    commit: str
    head: str

    def state(self, file: File, symbol: tuple[str, str] | None) -> Mark | None:
        """Return what became of a file, or of a definition in it; None if it is the same, or unknown."""
        now = self.marker.file(self.work.root, file.path)
        if now is None and os.path.lexists(os.path.join(self.work.root, file.path)):
            return None
        if now is not None and now.digest == file.digest:
            return None
        if symbol is None:
            return self._changed(now) if now is not None else self._removed(file.path)
        name, hashed = symbol
        there = now.definitions.get(_key(name)) if now is not None else None
        if now is not None and there is None and now.may_define(name.rpartition(".")[2]):
            return None
        if now is None or there is None:
            return self._moved(file.path, name, hashed, now)
        return None if there == hashed else self._changed(now, name)

    def branch(self, anchor: Anchor, current: str | None) -> Mark | None:
        """Return the mark for a record of a branch whose commit is not in HEAD's history.

        A branch that was merged by squash is not, but what the record names is in HEAD's tree.
        """
        said_on = anchor.branch
        if said_on is None or said_on == current:
            return None
        merged = self._asked("merged", self.commit, ask=lambda: git.is_merged(self.work, self.commit))
        if merged is not False or self._asked("arrived", anchor, ask=lambda: self._has_arrived(anchor)):
            return None
        having = self._asked("branches", self.commit, ask=lambda: git.branches_with(self.work, self.commit))
        name = said_on if said_on in having else next(iter(having), None)
        return None if name is None else self._mark("branch", now=name)

    def _has_arrived(self, anchor: Anchor) -> bool:
        """Return True if all that a record names is in HEAD's tree as it was said."""
        files = [file for file in anchor.files if file.is_said] or anchor.files
        there = Tree(self.work, self.head, git.SECONDS).read([file.path for file in files])
        return bool(files) and all(_is_as_said(file, there.get(file.path)) for file in files)

    def _changed(self, now: _FileNow, symbol: str | None = None) -> Mark:
        def ask() -> list[int] | None:
            return git.changes_since(self.work, self.commit, now.path)

        times = self._asked("changes", self.commit, now.path, ask=ask)
        if times is None or (not times and now.digest == self._at_head(now.path)):
            return self._mark("changed", now.path, symbol)  # from an edit that was not committed here
        last = datetime.fromtimestamp(times[0] if times else now.time / 1e9, UTC)
        return self._mark("changed", now.path, symbol, commits=len(times), last=last)

    def _at_head(self, path: str) -> str | None:
        """Return the hash of a file in HEAD's tree; None without it."""

        def ask() -> str | None:
            content = Tree(self.work, self.head, git.SECONDS).read([path]).get(path)
            return None if content is None else digest(content)

        return self._asked("content", path, ask=ask)

    def _removed(self, path: str) -> Mark | None:
        """Return the mark of a file that is missing; None if git says that it was only not checked out."""
        to = self._new_path(path)
        return None if to is None else self._mark("moved", path, now=to) if to else self._mark("gone", path)

    def _new_path(self, path: str) -> str | None:
        """Return the path to which a file was renamed, "" if it was removed, None if it was not."""
        return self._asked(
            "fate", self.commit, path, ask=lambda: git.fate_since(self.work, self.commit, path)
        )

    def _moved(self, path: str, name: str, hashed: str, now: _FileNow | None) -> Mark | None:
        """Return the mark of a definition that is no longer in its file."""
        if now is None:
            to = self._new_path(path)
            if to is None:
                return None
            if to and self._defines(to, name):
                return self._mark("moved", path, name, now=to)
        seen = now and now.digest
        ask = partial(self._home_of, path, name, hashed)
        home = self._asked("home", self.commit, path, name, hashed, seen, ask=ask)
        if home is None and now is not None:
            return self._changed(now, name)
        return self._mark("moved", path, name, now=home) if home else self._mark("gone", path, name)

    def _home_of(self, path: str, name: str, hashed: str) -> str | None:
        """Return the only other file with the definition: the same, or one that did not have it before.

        "" if there is no such file, None if it is unknown.
        """
        last = name.rpartition(".")[2]
        defining = Tree(self.work, None, git.SECONDS).defining([last])
        if defining is None:
            return None
        places = sorted(defining.get(last, set()) - {path})[:_MOST_HOMES]
        homes = {place: there for place in places if (there := self._defines(place, name))}
        same = [place for place, there in homes.items() if there == hashed]
        if not same and homes:
            before = Tree(self.work, self.commit, git.SECONDS).read(homes)
            same = [place for place in homes if _key(name) not in definitions(place, before.get(place, b""))]
        return same[0] if len(same) == 1 else ""

    def _mark(self, kind: Any, path: str | None = None, symbol: str | None = None, **found: Any) -> Mark:
        text = text_of(kind, **found)
        return Mark(text=text, kind=kind, path=path, symbol=symbol, at=self.commit, **found)

    def _defines(self, path: str, name: str) -> str | None:
        now = self.marker.file(self.work.root, path)
        return None if now is None else now.definitions.get(_key(name))

    def _asked(self, *key: object, ask: Callable[[], T]) -> T:
        return self.marker.answer((self.work.root, self.head, *key), ask)


def _is_as_said(file: File, content: bytes | None) -> bool:
    if content is None or digest(content) == file.digest:
        return content is not None
    found = definitions(file.path, content) if file.symbols else {}
    return bool(found) and all(found.get(_key(name)) == hashed for name, hashed in file.symbols)


def _said(file: File) -> list[Item]:
    """Return what a text names of a file: definitions, or else the file itself."""
    return [(file, symbol) for symbol in file.symbols] or ([(file, None)] if file.is_said else [])


def _shown(items: list[Item], text: str) -> list[Item]:
    """Return the items that a part of the text names; all of them if it names none."""
    names = [
        symbol[0].rpartition(".")[2] if symbol else os.path.basename(file.path) for file, symbol in items
    ]
    return [item for item, name in zip(items, names, strict=True) if name in text] or items


def _key(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def _keep(memory: OrderedDict[K, T], key: K, value: T, most: int) -> None:
    """Put a value at the end of a memory that forgets what was not used for longest."""
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > most:
        memory.popitem(last=False)
