"""Finds out why code is as it is: the turns, facts and commits that shaped a file or a definition."""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
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
from scrubjay.records.ingest.commits import text_of
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.asked import coverage
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.text.short_ids import short_id

MOST, SHOWN = 100, 240  # reasons among which a query chooses, and characters of each that are shown


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
    """A file of a working tree, and a definition or lines in it."""

    work: WorkTree
    path: str
    symbol: str | None = None
    lines: tuple[int, int] | None = None
    exists: bool = True


@dataclass(eq=False)
class Why(Verb):
    """Reads the anchors of records, and the history in git."""

    _book: Book
    _trees: Trees
    _marking: Marking

    async def reasons_for(self, place: str, folder: str, scope: str, last: int, query: str = "") -> Reasons:
        """Return what shaped `place`, which is FILE, FILE:LINE or FILE:SYMBOL, relative to `folder`.

        If there are more than `last` reasons, the newest are returned, or those with most words of the query.

        Raises:
            InputError: `folder` is not in a repository, or the file is unknown or has no such line or symbol.
        """
        await self._writer.catch_up()
        work = await asyncio.to_thread(self._trees.of, scope, [os.path.join(folder, "")])
        if work is None:
            raise InputError(f"{folder} is not in a git repository, so nothing is known of its files.")
        location = await asyncio.to_thread(_locate, work, place, folder)
        commit_limit = MOST if query else last
        commits = await asyncio.to_thread(commits_of, work, location.path, location.lines, commit_limit)
        named = commits  # with the file's earlier names, which the history of lines does not have
        if location.lines:
            named = await asyncio.to_thread(commits_of, work, location.path, None, commit_limit)
        paths = {location.path, *(path for commit in named for path in commit.files)}
        anchors = await asyncio.to_thread(self._book.about, paths)
        matching = {each: anchor for each, anchor in anchors.items() if _is_about(anchor, location, paths)}
        reasons = [*await self._from_records(matching, scope, folder), *map(_from_commit, commits)]
        if not reasons and not location.exists:
            raise InputError(f"There is no file {place[:200]!r} in {work.root}, and nothing names it.")
        reasons.sort(key=lambda reason: reason.date, reverse=True)
        if query:
            reasons = _most_relevant(reasons, query, last)
        return Reasons(place=place, results=reasons[:last])

    async def _from_records(self, anchors: Mapping[str, Anchor], scope: str, folder: str) -> list[Reason]:
        turns, facts = await self._store.get(Turn, anchors), await self._store.get(Memory, anchors)
        records: list[AnyRecord] = [*turns.values(), *facts.values()]
        now, scopes = self._clock(), (scope, USER_SCOPE)
        hits = [as_hit(each) for each in records if each.scope in scopes and is_current(each, now)]
        marks = await self._marking.marks(hits, folder)
        reasons = []
        for hit in hits:
            kind = "turn" if hit.src == "turn" else "fact"
            name = short_id(hit.src, hit.id, hit.session_id, hit.turn)
            text, mark = hit.memory or "", marks.get(hit.id)
            reasons.append(Reason(kind=kind, name=name, date=hit.date, text=text, mark=mark))
        return reasons


def _from_commit(commit: Commit) -> Reason:
    date = datetime.fromtimestamp(commit.at, UTC)
    text = text_of(commit._replace(files=()))
    return Reason(kind="commit", name=f"commit {commit.short}", date=date, text=text)


def _most_relevant(reasons: Sequence[Reason], query: str, most: int) -> list[Reason]:
    """Return the reasons with most words of a query, in their old order, each cut to its relevant part."""
    shares = coverage(query, [reason.text for reason in reasons[:MOST]]).tolist()
    best = sorted(range(len(shares)), key=lambda index: -shares[index])[:most]
    reasons_with_text = ((reasons[index], " ".join(reasons[index].text.split())) for index in sorted(best))
    return [each.model_copy(update={"text": excerpt(text, query, SHOWN)}) for each, text in reasons_with_text]


def _is_about(anchor: Anchor, place: _Place, paths: Collection[str]) -> bool:
    """Return True if a record names the place; a record without definitions is about the whole file."""
    files = [file for file in anchor.files if file.path in paths]
    symbols = {name for file in files for name, _ in file.symbols}
    return bool(files) and (place.symbol is None or place.symbol in symbols or not symbols)


def _locate(work: WorkTree, place: str, folder: str) -> _Place:
    name, colon, target = place.rpartition(":")
    name, target = (name, target) if colon and name else (place, "")
    path = os.path.relpath(os.path.realpath(os.path.join(folder, name)), work.root).replace(os.sep, "/")
    content = None if path.startswith("../") else read_file(work.root, path)
    if content is None and not (target or path.startswith("../")):
        return _Place(work, path, exists=False)
    if content is None:
        raise InputError(f"There is no file {name[:200]!r} in {work.root}.")
    lines = lines_of(path, content)
    if target.isdecimal():
        enclosing = [each for each, (first, last) in lines.items() if first <= int(target) <= last]
        if not 1 <= int(target) <= content.count(b"\n") + 1:
            raise InputError(f"{name} has no line {target}.")
        symbol = min(enclosing, key=lambda each: lines[each][1] - lines[each][0], default=None)
        return _Place(work, path, ".".join(symbol) if symbol else None, (int(target), int(target)))
    symbol = resolve(lines, target) if target else None
    if target and symbol is None:
        what = f"{name} has no definition {target[:200]!r}, or several."
        raise InputError(f"{what} Give its class too, or a line.")
    return _Place(work, path, ".".join(symbol) if symbol else None, lines[symbol] if symbol else None)
