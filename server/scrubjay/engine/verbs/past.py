"""Imports the past from other programs: the turns of sessions, and the facts of other memories."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from scrubjay.engine.verbs.verb import LongVerb
from scrubjay.histories.memory_files import is_gone
from scrubjay.home import purged_facts
from scrubjay.home.capture import CAPTURES
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.envelopes import envelope
from scrubjay.models.kept import KeptFact, KeptMemoryFile, KeptMemoryFiles, KeptSession, KeptSessions
from scrubjay.models.records import AnyRecord, Memory, Turn, content_hash, derived_id
from scrubjay.models.results import FactOutcome, FactsAdded, MemoryFilesKept, NoteOutcome, SessionsRecorded
from scrubjay.records import versions as chains
from scrubjay.records.exchange import import_envelope
from scrubjay.records.host_memories import facts_of_hosts, files_of, is_purged
from scrubjay.redaction.redact import redact
from scrubjay.store import conditions

SOURCE = "import"
MOST_STAGED = 1_000  # records that may wait for their commit in memory


@dataclass(eq=False)
class Past(LongVerb):
    """Imports the past; each call is acknowledged, and existing records do not change."""

    _staged: int = 0

    async def record(self, kept: Sequence[KeptSession]) -> SessionsRecorded:
        """Record the turns that are not recorded yet; when this returns, all of them survive a kill.

        A session that exists in a single scope stays in it, wherever its folder is now.
        """
        async with self._lock:
            await self._writer.drain()
            scopes = await self._stored_scopes(kept)
            sessions = [
                each.model_copy(update={"scope": scopes.get((each.host, each.session_id), each.scope)})
                for each in kept
            ]
            request, setting = KeptSessions(sessions=sessions), self._settings().capture
            record = envelope("sessions", request, scope=USER_SCOPE, source=SOURCE, at=self._clock())
            changes: dict[str, Any] = {"redacted": sum(each.redacted for each in kept)}
            changes |= {"capture": setting if setting in CAPTURES[1:3] else None}
            record = record.model_copy(update=changes)
            answer = cast(SessionsRecorded, await self._writer.write(record))
            await self._limit_staged(sum(each.added + each.completed for each in answer.sessions))
            return answer

    async def add(self, kept: Sequence[KeptFact]) -> FactsAdded:
        """Add facts of other memories, with their times and older values.

        An existing fact does not change, unless the other memory changed it later.
        """
        async with self._lock:
            now = self._clock()
            imported = [_values(each, now) for each in kept]
            stored = await self._store.get(Memory, [values[0].id for values in imported])
            outcomes: list[FactOutcome] = []
            by_scope: dict[str, list[AnyRecord]] = defaultdict(list)
            for values in imported:
                outcome: FactOutcome
                if first := stored.get(values[0].id):
                    outcome, changed = await self._compare_with_stored(first, values)
                else:
                    outcome, changed = "added", list(_version_chain(values[0], values[1:]))
                outcomes.append(outcome)
                for record in changed:
                    by_scope[record.scope].append(record)
            redacted = 0
            for scope, records in by_scope.items():
                message = await asyncio.to_thread(
                    import_envelope, records, scope=scope, source=SOURCE, at=now
                )
                await self._writer.write(message)
                await self._limit_staged(len(records))
                redacted += message.redacted
            return FactsAdded(outcomes=tuple(outcomes), redacted=redacted)

    async def memories(self, kept: KeptMemoryFiles) -> MemoryFilesKept:
        """Update facts from the memory files of hosts; hide the facts of missing files."""
        async with self._lock:
            purged = await asyncio.to_thread(purged_facts.read, self._home)
            sent = [_without_purged(file, purged, kept.machine) for file in kept.memories]
            missing = await self._missing_files(kept)
            request = kept.model_copy(update={"memories": [*sent, *missing], "searched": []})
            message = envelope("host_memories", request, scope=USER_SCOPE, source=SOURCE, at=self._clock())
            message = message.model_copy(update={"redacted": kept.redacted})
            answer = cast(MemoryFilesKept, await self._writer.write(message))
            files = [
                each.model_copy(update={"outcomes": _with_purged(each.outcomes, file, purged)})
                for each, file in zip(answer.files, kept.memories, strict=False)
            ]
            hidden = sum(each.deleted for each in answer.files[len(files) :])
            await self._limit_staged(hidden + sum(len(each.outcomes) + each.deleted for each in files))
            return answer.model_copy(update={"files": tuple(files), "missing": hidden})

    async def _missing_files(self, kept: KeptMemoryFiles) -> list[KeptMemoryFile]:
        """Return the deleted files that stored facts come from, as files without notes."""
        if not kept.searched:
            return []
        facts, prefix = await facts_of_hosts(self._store), _name_on(kept.machine, "")
        sources = {path: fact.source for fact in facts for path in files_of(fact) if path.startswith(prefix)}

        def deleted() -> list[str]:
            return [path for path in sorted(sources) if is_gone(path.removeprefix(prefix), kept.searched)]

        names = await asyncio.to_thread(deleted)
        return [KeptMemoryFile(source=sources[path], path=path, entries=[]) for path in names]

    async def _compare_with_stored(
        self, first: Memory, imported: list[Memory]
    ) -> tuple[FactOutcome, list[Memory]]:
        """Return the outcome for a stored fact, and if it is updated, its last version and the newer ones."""
        latest = await chains.latest(self._store, first)
        texts = [redact(each.content)[0] for each in imported]
        if texts[-1] == latest.content or latest.forgotten_at is not None:
            return "known", []
        if imported[-1].updated_at <= latest.updated_at:
            older = [each.content for each in await chains.history(self._store, latest)]
            return "known" if texts[-1] in older else "different", []
        index = max((number for number, text in enumerate(texts) if text == latest.content), default=-2)
        newer = imported[index + 1 :] if index >= 0 else imported[-1:]
        return "updated", list(_version_chain(latest, newer))

    async def _limit_staged(self, staged: int) -> None:
        self._staged += staged
        if self._staged >= MOST_STAGED:
            self._staged = 0
            await self._writer.settle()

    async def _stored_scopes(self, kept: Iterable[KeptSession]) -> dict[tuple[str, str], str]:
        """Return the scope of each session that is stored in one scope and sent for one, by host and id."""
        sent: dict[tuple[str, str], set[str]] = defaultdict(set)
        for session in kept:
            sent[session.host, session.session_id].add(session.scope)
        stored: dict[tuple[str, str], set[str]] = defaultdict(set)
        ids = {session_id for _, session_id in sent}
        where, columns = conditions.one_of("session_id", ids), ["id", "host", "session_id", "scope"]
        rows = await self._store.select_newest(
            Turn, where, lambda row: row.session_id in ids, columns=columns
        )
        for row in rows:
            stored[row.host or "", row.session_id].add(row.scope)
        return {key: next(iter(stored[key])) for key in sent if len(sent[key]) == len(stored[key]) == 1}


def _name_on(machine: str, path: str) -> str:
    """Return a file's name with its machine, because facts may be restored or shared elsewhere."""
    return f"{machine}:{path}"


def _without_purged(file: KeptMemoryFile, purged: frozenset[str], machine: str) -> KeptMemoryFile:
    """Return a file with its machine in its name, and without the notes whose facts were purged."""
    entries = [note for note in file.entries if not is_purged(note, purged)]
    return file.model_copy(update={"entries": entries, "path": _name_on(machine, file.path)})


def _with_purged(
    outcomes: Iterable[NoteOutcome], file: KeptMemoryFile, purged: frozenset[str]
) -> tuple[NoteOutcome, ...]:
    """Return an outcome for every note of a file; `outcomes` are those of the notes that are not purged."""
    others = iter(outcomes)
    return tuple("known" if is_purged(note, purged) else next(others) for note in file.entries)


def _version_chain(latest: Memory, newer: Iterable[Memory]) -> Iterator[Memory]:
    """Yield a fact and its newer values as versions of one memory, each after the one that it replaces."""
    for version in newer:
        since = max(version.created_at, latest.created_at) if version.version > 1 else version.updated_at
        yield latest.model_copy(update={"is_latest": False, "replaced_at": since, "updated_at": since})
        changes: dict[str, Any] = {
            "id": derived_id("mem", SOURCE, latest.id, version.content),
            "scope": latest.scope,
            "root_id": latest.root_id,
            "version": latest.version + 1,
            "relation": "updates",
            "parent_ids": (latest.id,),
            "created_at": since,
            "updated_at": max(since, version.updated_at),
        }
        latest = version.model_copy(update=changes)
    yield latest


def _values(kept: KeptFact, now: datetime) -> list[Memory]:
    """Return the fact's older values and its current one, each as a fact without links; all have one id.

    `version` is the number of the value, from 1 on.
    """
    began = kept.created_at or kept.updated_at or now
    values = [(content, since or began) for content, since in kept.earlier]
    values.append((kept.content, (kept.updated_at or began) if values else began))
    memory_id = derived_id("mem", SOURCE, kept.source, kept.id)
    return [
        Memory(
            id=memory_id,
            root_id=memory_id,
            scope=kept.scope,
            partition_id="mem_semantic",
            tags=tuple(dict.fromkeys(kept.tags)),
            importance_score=kept.importance,
            source=f"{SOURCE}:{kept.source}"[:60],
            metadata=kept.metadata,
            created_at=since,
            updated_at=kept.updated_at or since,
            last_accessed_at=since,
            version=number,
            content=content,
            content_hash=content_hash(content),
            session_id=kept.session_id,
        )
        for number, (content, since) in enumerate(values, 1)
    ]
