"""Facts from the files in which hosts keep what they remember: how each file's notes become and stay facts.

A fact lists the files that say it (`FILES` in its metadata). A changed note becomes a new version of its
fact; a fact that no file says any more is forgotten with the reason `DELETED`, and restored when a file says
it again. What a person wrote, forgot or restored is not touched.
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
from scrubjay.records.passages import written
from scrubjay.store import conditions
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store

FILES = "memory_files"
DELETED = "deleted by its host"
SUFFIX = " memory"  # of the source of these facts
_ALIKE = 0.4  # of the words of both: the same note, changed


async def facts_of_hosts(store: Store) -> list[Memory]:
    """Return all facts that came from hosts' memories, forgotten and replaced ones too."""
    return await store.select_newest(Memory, conditions.contains("source", SUFFIX), is_of_host)


def is_of_host(memory: Memory) -> bool:
    """Return True if a fact came from a host's memory."""
    return memory.source.endswith(SUFFIX) and FILES in memory.metadata


def files_of(memory: Memory) -> tuple[str, ...]:
    """Return the files that say a fact."""
    return tuple(map(str, memory.metadata.get(FILES, ())))


def purged_digest(fact: Memory) -> str:
    """Return the digest by which a purged fact is noted."""
    return derived_id("gone", fact.scope, fact.content_hash)


def is_purged(note: KeptNote, digests: frozenset[str]) -> bool:
    """Return True if a fact with the words of this note was purged."""
    hashes = fact_hashes(note.content) if digests else ()
    return any(derived_id("gone", note.scope, each) in digests for each in hashes)


async def plan_memories(store: Store, envelope: Envelope, now: datetime) -> Plan[MemoryFilesKept]:
    """Plan the changes that bring the facts of some files in step with them."""
    request = parse(KeptMemoryFiles, envelope.args)
    known = {fact.id: fact for fact in await facts_of_hosts(store)}
    hashes: dict[str, set[str]] = defaultdict(set)
    for note in (note for file in request.memories for note in file.entries):
        hashes[note.scope] |= fact_hashes(note.content)
    for scope, wanted in hashes.items():
        known |= {fact.id: fact for fact in await facts_with_text(store, scope, wanted)}
    book = _Book(known, envelope.at)
    answer = MemoryFilesKept(files=tuple(map(book.take, request.memories)), redacted=request.redacted)
    return Plan(answer, book.changes())


class _Book:
    """The known facts, and what the files change in them."""

    def __init__(self, known: dict[str, Memory], at: datetime) -> None:
        self._facts, self._at = dict(known), at
        self._before = known
        self._by_text: dict[tuple[str, str], list[str]] = defaultdict(list)
        for fact in known.values():
            self._by_text[fact.scope, fact.content_hash].append(fact.id)

    def changes(self) -> list[Change]:
        """Return the changes of all facts that differ now."""
        found = []
        for fact in self._facts.values():
            if (before := self._before.get(fact.id)) is fact:
                continue
            is_hidden = fact.forgotten_at is not None or not fact.is_latest
            is_known = before is not None
            found.append(
                Change(fact, hidden=True) if is_known and is_hidden else written(fact, is_known=is_known)
            )
        return found

    def take(self, file: KeptMemoryFile) -> MemoryFileKept:
        """Bring the facts of a file in step with it."""
        held = {fact.id for fact in self._facts.values() if file.path in files_of(fact)}
        stays: set[str] = set()
        outcomes: list[NoteOutcome | None] = []
        for note in file.entries:
            same = self._same(note)
            stays |= {fact.id for fact in same if fact.id in held}
            outcomes.append(self._known(file, same))
        gone = [self._facts[each] for each in sorted(held - stays)] if file.is_whole else []
        fresh = [note for note, outcome in zip(file.entries, outcomes, strict=True) if outcome is None]
        pairs = _pairs([fact for fact in gone if self._is_only_of(fact, file)], fresh)
        answers = iter([self._learn(file, pairs.get(number), note) for number, note in enumerate(fresh)])
        replaced = {fact.id for fact in pairs.values()}
        deleted = sum(self._leave(file, fact) for fact in gone if fact.id not in replaced)
        every: list[NoteOutcome] = [next(answers) if each is None else each for each in outcomes]
        return MemoryFileKept(outcomes=tuple(every), deleted=deleted)

    def _same(self, note: KeptNote) -> list[Memory]:
        """Return the facts with the words of a note."""
        hashes = fact_hashes(note.content)
        return [self._facts[each] for one in hashes for each in self._by_text.get((note.scope, one), ())]

    def _known(self, file: KeptMemoryFile, same: Sequence[Memory]) -> NoteOutcome | None:
        """Note that a file says known words; return None for new ones, or only those of an older version."""
        if not same or all(_is_outdated(fact) and file.path not in files_of(fact) for fact in same):
            return None
        for fact in same:
            if is_of_host(fact) and fact.is_latest and file.path not in files_of(fact):
                values = {"metadata": _with_files(fact, *files_of(fact), file.path), "updated_at": self._at}
                is_back = (fact.forget_reason or "").startswith(DELETED)
                if is_back:
                    values |= NOT_FORGOTTEN
                self._put(fact.model_copy(update=values))
                if is_back:
                    return "restored"
        return "known"

    def _is_only_of(self, fact: Memory, file: KeptMemoryFile) -> bool:
        """Return True if a fact is visible, and no other file says it."""
        return fact.is_latest and fact.forgotten_at is None and files_of(fact) == (file.path,)

    def _learn(self, file: KeptMemoryFile, older: Memory | None, note: KeptNote) -> NoteOutcome:
        """Add a new note as a fact, or as a new version of an older one."""
        if known := self._known(file, self._same(note)):  # the file says it twice
            return known
        at = note.at or self._at
        digest = content_hash(note.content)
        times = str(len(self._by_text[note.scope, digest]))  # the words may be those of an older version
        fact = Memory(
            id=derived_id("mem", file.source, note.scope, digest, times),
            scope=note.scope,
            partition_id="mem_semantic",
            tags=tuple(dict.fromkeys(note.tags)),
            source=file.source,
            metadata={**note.metadata, FILES: [file.path]},
            created_at=at,
            updated_at=at,
            last_accessed_at=at,
            root_id="",
            content=note.content,
            content_hash=digest,
            session_id=note.session_id,
        )
        if older is None:
            self._put(fact.model_copy(update={"root_id": fact.id}))
            return "added"
        since = max(at, older.created_at)
        left = older.model_copy(update={"metadata": _with_files(older)})
        changed = versions.replace(left, since).record
        assert isinstance(changed, Memory)
        self._put(changed)
        inherited: dict[str, Any] = {"created_at": since, "updated_at": since, "root_id": older.root_id}
        inherited |= {"version": older.version + 1, "relation": "updates", "parent_ids": (older.id,)}
        self._put(fact.model_copy(update=inherited | {"importance_score": older.importance_score}))
        return "updated"

    def _leave(self, file: KeptMemoryFile, fact: Memory) -> bool:
        """Note that a file does not say a fact any more; return True if that hides it."""
        left = [path for path in files_of(fact) if path != file.path]
        values: dict[str, Any] = {"metadata": _with_files(fact, *left), "updated_at": self._at}
        is_hidden = not left and fact.is_latest and fact.forgotten_at is None
        if is_hidden:
            host = fact.source.removesuffix(SUFFIX)
            values |= {"forgotten_at": self._at, "forget_reason": f"{DELETED} ({host})"}
        self._put(fact.model_copy(update=values))
        return is_hidden

    def _put(self, fact: Memory) -> None:
        if fact.id not in self._facts:
            self._by_text[fact.scope, fact.content_hash].append(fact.id)
        self._facts[fact.id] = fact


def _is_outdated(fact: Memory) -> bool:
    """Return True if a host's fact has a newer version."""
    return is_of_host(fact) and not fact.is_latest


def _with_files(fact: Memory, *paths: str) -> dict[str, Any]:
    return {**fact.metadata, FILES: sorted(set(paths))}


def _pairs(gone: Iterable[Memory], fresh: Sequence[KeptNote]) -> dict[int, Memory]:
    """Return the vanished fact that each new note replaces, by the number of the note."""
    words = [set(note.content.casefold().split()) for note in fresh]
    scored = []
    for fact in gone:
        old, topic = set(fact.content.casefold().split()), fact.metadata.get("topic")
        for number, note in enumerate(fresh):
            alike = len(old & words[number]) / len(old | words[number])
            alike += 1 if topic and topic == note.metadata.get("topic") else 0
            if alike >= _ALIKE and note.scope == fact.scope:
                scored.append((alike, number, fact))
    pairs: dict[int, Memory] = {}
    taken: set[str] = set()
    for _, number, fact in sorted(scored, key=lambda pair: (-pair[0], pair[1], pair[2].id)):
        if number not in pairs and fact.id not in taken:
            pairs[number] = fact
            taken.add(fact.id)
    return pairs
