"""Says why code is as it is: the turns, facts and commits that shaped a file or a definition."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from scrubjay.code.anchors import Anchor
from scrubjay.code.book import Book
from scrubjay.code.definitions import lines_of, resolve
from scrubjay.code.git import Commit, commits_of, read_file
from scrubjay.code.trees import Trees
from scrubjay.engine.verbs.marking import Marking
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError
from scrubjay.home.repositories import WorkTree
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.records import AnyRecord, Memory, Turn, is_current
from scrubjay.models.results import Mark, Result
from scrubjay.search.hits import as_hit
from scrubjay.text.short_ids import short_id


class Reason(Result):
    """A turn, a fact or a commit; `name` is its short id."""

    kind: str
    name: str
    date: datetime
    text: str
    mark: Mark | None = None


class Reasons(Result):
    """What shaped a place in the code, newest first."""

    place: str
    results: list[Reason]


@dataclass(frozen=True)
class _Place:
    """A file of a working tree, and a definition or lines of it."""

    work: WorkTree
    path: str
    symbol: str | None = None
    lines: tuple[int, int] | None = None


@dataclass(eq=False)
class Why(Verb):
    """Reads what records named, and git."""

    _book: Book
    _trees: Trees
    _marking: Marking

    async def asked(self, place: str, folder: str, scope: str, last: int) -> Reasons:
        """Return what shaped `place`, which is FILE, FILE:LINE or FILE:SYMBOL, relative to `folder`.

        Raises:
            InputError: `folder` is in no repository, or the file is missing, or has no such line or symbol.
        """
        await self._writer.caught_up()
        work = await asyncio.to_thread(self._trees.of, scope, [os.path.join(folder, "")])
        if work is None:
            raise InputError(f"{folder} is not in a git repository, so nothing is known of its files.")
        found = await asyncio.to_thread(_place, work, place, folder)
        anchors = await asyncio.to_thread(self._book.about, found.path)
        commits = await asyncio.to_thread(commits_of, work, found.path, found.lines, last)
        said = await self._said(
            {each: one for each, one in anchors.items() if _names(one, found)}, scope, folder
        )
        reasons = sorted([*said, *map(_commit, commits)], key=lambda reason: reason.date, reverse=True)
        return Reasons(place=place, results=reasons[:last])

    async def _said(self, anchors: Mapping[str, Anchor], scope: str, folder: str) -> list[Reason]:
        turns, facts = await self._store.get(Turn, anchors), await self._store.get(Memory, anchors)
        records: list[AnyRecord] = [*turns.values(), *facts.values()]
        now = self._clock()
        hits = [
            as_hit(each) for each in records if each.scope in (scope, USER_SCOPE) and is_current(each, now)
        ]
        marks = await self._marking.marks(hits, folder)
        return [
            Reason(
                kind="turn" if hit.src == "turn" else "fact",
                name=short_id(hit.src, hit.id, hit.session_id, hit.turn),
                date=hit.date,
                text=hit.memory or "",
                mark=marks.get(hit.id),
            )
            for hit in hits
        ]


def _commit(commit: Commit) -> Reason:
    date = datetime.fromtimestamp(commit.at, UTC)
    return Reason(kind="commit", name=f"commit {commit.id}", date=date, text=commit.subject)


def _names(anchor: Anchor, place: _Place) -> bool:
    """Return True if a record names the place; without a definition, it is about the whole file."""
    files = [file for file in anchor.files if file.path == place.path]
    named = {name for file in files for name, _ in file.symbols}
    return bool(files) and (place.symbol is None or place.symbol in named or not named)


def _place(work: WorkTree, place: str, folder: str) -> _Place:
    name, colon, rest = place.rpartition(":")
    name, rest = (name, rest) if colon and name else (place, "")
    path = os.path.relpath(os.path.realpath(os.path.join(folder, name)), work.root).replace(os.sep, "/")
    content = None if path.startswith("../") else read_file(work.root, path)
    if content is None:
        raise InputError(f"There is no file {name[:200]!r} in {work.root}.")
    lines = lines_of(path, content)
    if rest.isdecimal():
        inside = [each for each, (first, last) in lines.items() if first <= int(rest) <= last]
        if not 1 <= int(rest) <= content.count(b"\n") + 1:
            raise InputError(f"{name} has no line {rest}.")
        symbol = min(inside, key=lambda each: lines[each][1] - lines[each][0], default=None)
        return _Place(work, path, ".".join(symbol) if symbol else None, (int(rest), int(rest)))
    symbol = resolve(lines, rest) if rest else None
    if rest and symbol is None:
        raise InputError(
            f"{name} has no definition {rest[:200]!r}, or several. Give its class too, or a line."
        )
    return _Place(work, path, ".".join(symbol) if symbol else None, lines[symbol] if symbol else None)
