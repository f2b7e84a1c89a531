"""Cuts a record into passages, the pieces that a search looks through, without vectors.

A passage is known by its record and its words and not by its place, so that one line more leaves all other
passages of a record their vectors.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scrubjay.models.records import (
    COMMIT,
    SUMMARY,
    AnyRecord,
    Document,
    Memory,
    Passage,
    Turn,
    derived_id,
    fields_of,
    hidden_since,
)
from scrubjay.reading.kinds import kind_of
from scrubjay.store.changes import Change
from scrubjay.store.facets import facets
from scrubjay.text.chunking import Chunk, chunks, split
from scrubjay.text.developer_words import gloss, searched_words
from scrubjay.text.entities import tie_words
from scrubjay.text.foreign import without_escapes
from scrubjay.text.summary import summarise
from scrubjay.text.terms import expand
from scrubjay.text.titles import opening

TURN_PASSAGE = 900  # characters; whole long turns rank worse than their passages
# Characters of a turn's piece up to which the kinds of what it names are embedded with it; the meaning of a
# longer one holds enough of its own.
GLOSSED = 400
# Partitions of unsorted facts and of events: their names say nothing about the facts in them.
_PLAIN_PARTITIONS = frozenset({"mem_semantic", "mem_hippocampus", "mem_episodic"})
_MOST_VALUES = 2_000  # characters of a document's metadata; each chunk repeats them
_LONGEST_NAMES = 300  # characters of them, likewise
PLAIN_ROLES = frozenset({"user", "assistant", "system", "tool", "document"})  # never spoken of by name


def passages_of(record: AnyRecord) -> tuple[Passage, ...]:
    """Cut a record; the passages are hidden if it is forgotten or replaced."""
    if isinstance(record, Turn):
        return _turn_passages(record)
    if isinstance(record, Memory):
        return (_memory_passage(record),)
    pieces = cut_document(record.content, record.type, record.path, record.metadata)
    return document_passages(record, pieces)


def written(record: AnyRecord, *, is_known: bool = True) -> Change:
    """Return the change that writes a record with its passages; those of a known record are replaced."""
    return Change(record, passages_of(record), rewritten=is_known)


def speeches(turn: Turn) -> list[tuple[str, str]]:
    """Return who said what in a turn, in order: (role, text)."""
    sides = (("user", turn.user), ("assistant", turn.assistant), (turn.role or "", turn.text))
    return [(role, without_escapes(text)) for role, text in sides if text]


def together(turn: Turn) -> str:
    """Summarise in lines what was asked, answered and done in a turn; "" for a turn of nothing."""
    asked, answer = without_escapes(turn.user or ""), without_escapes(turn.assistant or turn.text or "")
    return summarise(asked, answer, tools=turn.tools, files=turn.files, commands=turn.commands)


def _turn_passages(turn: Turn) -> tuple[Passage, ...]:
    """Cut each side of a turn into pieces of `TURN_PASSAGE` characters; its summary is one more.

    A short turn has none to show, but is found by it: by words of the question and the answer together.
    """
    sides = [] if turn.capture == "summary_only" else speeches(turn)
    found = [
        _turn_passage(turn, role, part, text[start:end])
        for role, text in sides
        for part, (start, end) in enumerate(split(text, TURN_PASSAGE))
    ]
    summary = turn.summary or (together(turn) if sides and (turn.user or turn.assistant) else "")
    if summary:
        found.append(_turn_passage(turn, "summary", 0, summary))
    if found:
        main = -1 if summary else 0
        found[main] = _with_ties(turn, found[main], "\n".join(text for _, text in sides))
    return tuple({passage.id: passage for passage in found}.values())


def _turn_passage(turn: Turn, role: str, part: int, text: str) -> Passage:
    named = text if role.lower() in PLAIN_ROLES or role == "summary" else f"{role}: {text}"
    kinds = gloss(text)
    glossed = with_gloss(named, kinds) if len(text) <= GLOSSED else named
    return _passage(
        turn,
        (role, named),
        src="turn",
        part=part,
        role=role,
        text=text,
        search_text=expand(f"{named}\n{searched_words(kinds)}".rstrip()),
        embed_text=glossed if glossed != text else None,
        dated_at=turn.started_at,
        host=turn.came_from,
        **fields_of(turn, "session_id", "turn"),
    )


def _with_ties(turn: Turn, passage: Passage, text: str) -> Passage:
    """Add to a passage what ties its turn to others, and the work that its text does not name."""
    done = (*turn.files, *turn.commands, *(failure.error for failure in turn.failures))
    unnamed = [each for each in done if each not in passage.text]
    search_text = f"{passage.search_text}\n{expand(' '.join(unnamed))}" if unnamed else passage.search_text
    tied = tie_words(text or passage.text, files=turn.files, tags=turn.tags, records=turn.alike)
    return passage.model_copy(update={"search_text": search_text, "tied": tied})


def _memory_passage(memory: Memory) -> Passage:
    content = without_escapes(memory.content)
    kinds = gloss(content)
    labels = label_words(memory.tags, memory.partition_id)
    return _passage(
        memory,
        (content,),
        src="summary" if memory.source == SUMMARY else "memory",
        part=0,
        text=content,
        search_text=expand("\n".join(filter(None, (content, labels, searched_words(kinds))))),
        embed_text=with_gloss(content, kinds) if kinds else None,
        dated_at=memory.created_at,
        **fields_of(memory, "session_id", "turn"),
        tied=tie_words(content, tags=memory.tags, records=(*memory.parent_ids, *memory.alike)),
    )


def with_gloss(text: str, kinds: str) -> str:
    """Append the kinds of the named things to a text, so that a small model knows its subject.

    >>> with_gloss("Atlas uses pnpm.", "package manager")
    'Atlas uses pnpm. (package manager)'
    """
    return f"{text} ({kinds})" if kinds else text


def label_words(tags: Iterable[str], partition_id: str) -> str:
    """Return the words of a fact's tags and of its partition, which count as if the fact said them.

    >>> label_words(["ui"], "mem_preference"), label_words([], "mem_semantic")
    ('ui preference', '')
    """
    name = "" if partition_id in _PLAIN_PARTITIONS else partition_id.removeprefix("mem_").replace("_", " ")
    return " ".join(dict.fromkeys(filter(None, (*tags, name))))


def cut_document(content: str, kind: str, path: str | None, metadata: Mapping[str, Any]) -> list[Chunk]:
    """Cut the text of a document by its structure.

    The language of a source file is that of its name, else what its first line said when it was read.
    """
    language = None
    if kind in ("code", "json"):
        language = kind_of(path or "").language or str(metadata.get("language") or "text")
    return chunks(content, kind, language)


def document_passages(document: Document, pieces: Sequence[Chunk]) -> tuple[Passage, ...]:
    """Make passages of a document's chunks.

    Its title, the headings and a table's header are searched with each chunk but not returned.
    """
    seen: Counter[tuple[str, str]] = Counter()
    place, names = _short_path(document.place), _other_names(document)
    title = title_above(document)  # once: it reads a whole line of the text
    values = " ".join(value for value in document.metadata.values() if isinstance(value, str))[:_MOST_VALUES]
    passages = []
    for part, chunk in enumerate(pieces):
        trail = " > ".join(dict.fromkeys(filter(None, (title, *chunk.headings))))
        above = "\n".join(filter(None, (trail, names, chunk.repeat)))
        text = without_escapes(document.content[chunk.start : chunk.end])
        seen[above, text] += 1
        number = seen[above, text]
        passages.append(
            _passage(
                document,
                (above, text) if number == 1 else (above, text, str(number)),
                src="chunk",
                role=COMMIT if document.type == COMMIT else None,
                part=part,
                text=text,
                search_text=expand("\n".join(filter(None, (above, text, place, values)))),
                embed_text=f"{above}\n{text}" if above else None,
                dated_at=document.dated_at or document.updated_at,
                title=document.title,
                path=document.place,
                line_start=chunk.line_start,
                line_end=chunk.line_end,
            )
        )
    return tuple(passages)


def _other_names(document: Document) -> str:
    """Return the name of a document's file and its aliases, unless its title has them: people ask by them."""
    name = os.path.splitext(os.path.basename((document.place or "").replace("\\", "/")))[0]
    aliases = str(document.metadata.get("aliases") or "").split(", ")
    title = (document.title or "").casefold()
    others = (each for each in (name, *aliases) if each and each.casefold() not in title)
    return ", ".join(others)[:_LONGEST_NAMES]


def title_above(document: Document) -> str | None:
    """Return the title to search with each part of a document: none that only repeats how its text begins."""
    repeats = document.type == "text" and document.title == opening(document.content)
    if document.type == COMMIT:  # its id says nothing about its meaning
        return (document.title or "").partition(" ")[2] or None
    return None if repeats else document.title


def _short_path(path: str | None) -> str:
    """Return the end of a path, which people search for: the file and the two folders it is in."""
    return "/".join((path or "").replace("\\", "/").split("/")[-3:])


def _passage(record: AnyRecord, key: tuple[str, ...], **values: Any) -> Passage:
    """Make a passage with the values of its record; `key` tells the record's passages apart."""
    hidden_at = hidden_since(record)
    return Passage(
        id=derived_id("p", record.id, *key),
        record_id=record.id,
        **fields_of(record, "scope", "partition_id", "tags", "importance_score", "expires_at"),
        facets=facets(record.metadata),
        hidden=hidden_at is not None,
        hidden_at=hidden_at,
        **values,
    )
