"""Facts from the memory files of hosts: each note becomes a fact, which follows the note's changes.

A fact lists its files (`FILES` in its metadata). A changed note becomes a new version of its fact. A fact
that is in no file any more is forgotten with the reason `DELETED`, and restored when a file contains it
again. A fact that a person wrote, forgot or restored is not changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from scrubjay.models.envelopes import Envelope
from scrubjay.models.kept import KeptMemoryFile, KeptMemoryFiles, KeptNote
from scrubjay.models.records import NOT_FORGOTTEN, Memory, content_hash, derived_id, fact_hashes
from scrubjay.models.requests import parse
from scrubjay.models.results import MemoryFileKept, MemoryFilesKept, NoteOutcome
from scrubjay.records import versions
from scrubjay.records.memories import facts_with_text
from scrubjay.records.passages import record_change
from scrubjay.store import conditions
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store

FILES = "memory_files"
DELETED = "deleted by its host"
SUFFIX = " memory"  # end of the source of these facts
_SIMILAR = 0.4  # a note with at least this share of common words counts as a changed version of a fact


async def facts_of_hosts(store: Store) -> list[Memory]:
    """Return all facts from memory files of hosts, forgotten and replaced ones too."""
    return await store.select_newest(Memory, conditions.contains("source", SUFFIX), is_of_host)


def is_of_host(memory: Memory) -> bool:
    """Return True if a fact came from a memory file of a host."""
    return memory.source.endswith(SUFFIX) and FILES in memory.metadata


def files_of(memory: Memory) -> tuple[str, ...]:
    """Return the files that contain a fact."""
    return tuple(map(str, memory.metadata.get(FILES, ())))


def purged_digest(fact: Memory) -> str:
    """Return the digest that is stored to recognise a purged fact."""
    return derived_id("gone", fact.scope, fact.content_hash)


def is_purged(note: KeptNote, digests: frozenset[str]) -> bool:
    """Return True if a fact with the text of this note was purged."""
    hashes = fact_hashes(note.content) if digests else ()
    return any(derived_id("gone", note.scope, each) in digests for each in hashes)


async def plan_memories(store: Store, envelope: Envelope, now: datetime) -> Plan[MemoryFilesKept]:
    """Plan the changes that bring facts up to date with the files that contain them."""
    request = parse(KeptMemoryFiles, envelope.args)
    facts = {fact.id: fact for fact in await facts_of_hosts(store)}
    hashes: dict[str, set[str]] = defaultdict(set)
    for note in (note for file in request.memories for note in file.entries):
        hashes[note.scope] |= fact_hashes(note.content)
    for scope, note_hashes in hashes.items():
        facts |= {fact.id: fact for fact in await facts_with_text(store, scope, note_hashes)}
    reconciler = _Reconciler(facts, envelope.at)
    answer = MemoryFilesKept(files=tuple(map(reconciler.update, request.memories)), redacted=request.redacted)
    return Plan(answer, reconciler.changes())


class _Reconciler:
    """The stored facts, and the changes that the files make to them."""

    def __init__(self, facts: dict[str, Memory], at: datetime) -> None:
        self._stored, self._facts, self._at = facts, dict(facts), at
        self._by_text: dict[tuple[str, str], list[str]] = defaultdict(list)
        for fact in facts.values():
            self._by_text[fact.scope, fact.content_hash].append(fact.id)

    def changes(self) -> list[Change]:
        """Return the changes of all facts that differ from the stored ones."""
        changed_facts = (fact for fact in self._facts.values() if self._stored.get(fact.id) is not fact)
        return [record_change(fact, is_known=fact.id in self._stored) for fact in changed_facts]

    def update(self, file: KeptMemoryFile) -> MemoryFileKept:
        """Update the facts of a file to its notes."""
        file_facts = {fact.id for fact in self._facts.values() if file.path in files_of(fact)}
        remaining: set[str] = set()
        outcomes: list[NoteOutcome | None] = []
        for note in file.entries:
            equal_facts = self._equal_facts(note)
            remaining |= {fact.id for fact in equal_facts if fact.id in file_facts}
            outcomes.append(self._recognise(file, equal_facts))
        missing = [self._facts[each] for each in sorted(file_facts - remaining)] if file.is_whole else []
        new_notes = [note for note, outcome in zip(file.entries, outcomes, strict=True) if outcome is None]
        only_here = [
            fact
            for fact in missing
            if fact.is_latest and fact.forgotten_at is None and files_of(fact) == (file.path,)
        ]
        pairs = _pairs(only_here, new_notes)
        added = iter([self._add(file, pairs.get(number), note) for number, note in enumerate(new_notes)])
        replaced = {fact.id for fact in pairs.values()}
        deleted = sum(self._remove(file, fact) for fact in missing if fact.id not in replaced)
        all_outcomes: list[NoteOutcome] = [next(added) if each is None else each for each in outcomes]
        return MemoryFileKept(outcomes=tuple(all_outcomes), deleted=deleted)

    def _equal_facts(self, note: KeptNote) -> list[Memory]:
        """Return the facts with the text of a note."""
        hashes = fact_hashes(note.content)
        ids = (fact_id for digest in hashes for fact_id in self._by_text.get((note.scope, digest), ()))
        return [self._facts[each] for each in ids]

    def _recognise(self, file: KeptMemoryFile, facts: Sequence[Memory]) -> NoteOutcome | None:
        """Add a file to the facts that equal its note; return None if the note needs a new fact."""
        lacking = [fact for fact in facts if is_of_host(fact) and file.path not in files_of(fact)]
        latest = [fact for fact in lacking if fact.is_latest]
        if len(lacking) == len(facts) and not latest:  # only older versions say the same
            return None
        for fact in latest:
            values = {"metadata": _with_files(fact, *files_of(fact), file.path), "updated_at": self._at}
            is_restored = (fact.forget_reason or "").startswith(DELETED)
            self._put(fact.model_copy(update=values | (NOT_FORGOTTEN if is_restored else {})))
            if is_restored:
                return "restored"
        return "known"

    def _add(self, file: KeptMemoryFile, older: Memory | None, note: KeptNote) -> NoteOutcome:
        """Add a new note as a fact, or as a new version of an older fact."""
        if outcome := self._recognise(file, self._equal_facts(note)):  # the file contains the note twice
            return outcome
        written_at = note.at or self._at
        digest = content_hash(note.content)
        repetition = str(len(self._by_text[note.scope, digest]))  # an older version may have the same text
        fact = Memory(
            id=derived_id("mem", file.source, note.scope, digest, repetition),
            scope=note.scope,
            partition_id="mem_semantic",
            tags=tuple(dict.fromkeys(note.tags)),
            source=file.source,
            metadata={**note.metadata, FILES: [file.path]},
            created_at=written_at,
            updated_at=written_at,
            last_accessed_at=written_at,
            root_id="",
            content=note.content,
            content_hash=digest,
            session_id=note.session_id,
        )
        if older is None:
            self._put(fact.model_copy(update={"root_id": fact.id}))
            return "added"
        start = max(written_at, older.created_at)
        unlinked = older.model_copy(update={"metadata": _with_files(older)})
        replaced = versions.replace(unlinked, start).record
        assert isinstance(replaced, Memory)
        self._put(replaced)
        inherited: dict[str, Any] = {"created_at": start, "updated_at": start, "root_id": older.root_id}
        inherited |= {"version": older.version + 1, "relation": "updates", "parent_ids": (older.id,)}
        self._put(fact.model_copy(update=inherited | {"importance_score": older.importance_score}))
        return "updated"

    def _remove(self, file: KeptMemoryFile, fact: Memory) -> bool:
        """Remove a file from the files of a fact; return True if that hides the fact."""
        other_files = [path for path in files_of(fact) if path != file.path]
        values: dict[str, Any] = {"metadata": _with_files(fact, *other_files), "updated_at": self._at}
        is_hidden = not other_files and fact.is_latest and fact.forgotten_at is None
        if is_hidden:
            host = fact.source.removesuffix(SUFFIX)
            values |= {"forgotten_at": self._at, "forget_reason": f"{DELETED} ({host})"}
        self._put(fact.model_copy(update=values))
        return is_hidden

    def _put(self, fact: Memory) -> None:
        if fact.id not in self._facts:
            self._by_text[fact.scope, fact.content_hash].append(fact.id)
        self._facts[fact.id] = fact


def _with_files(fact: Memory, *paths: str) -> dict[str, Any]:
    return {**fact.metadata, FILES: sorted(set(paths))}


def _pairs(missing: Iterable[Memory], new_notes: Sequence[KeptNote]) -> dict[int, Memory]:
    """Return the missing fact that each new note replaces, by the number of the note."""
    note_words = [set(note.content.casefold().split()) for note in new_notes]
    scored = []
    for fact in missing:
        fact_words, topic = set(fact.content.casefold().split()), fact.metadata.get("topic")
        for number, note in enumerate(new_notes):
            similarity = len(fact_words & note_words[number]) / len(fact_words | note_words[number])
            similarity += 1 if topic and topic == note.metadata.get("topic") else 0
            if similarity >= _SIMILAR and note.scope == fact.scope:
                scored.append((similarity, number, fact))
    pairs: dict[int, Memory] = {}
    paired_ids: set[str] = set()
    for _, number, fact in sorted(scored, key=lambda pair: (-pair[0], pair[1], pair[2].id)):
        if number not in pairs and fact.id not in paired_ids:
            pairs[number] = fact
            paired_ids.add(fact.id)
    return pairs
