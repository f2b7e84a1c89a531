"""Cuts a record into passages, the pieces that are searched; their vectors are added elsewhere.

The id of a passage depends on its record and its words but not on its position, so that the other passages of
a changed record keep their vectors.
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
from scrubjay.reading.kinds import kind_of, markup_of
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
# Most characters of a piece of a turn that is embedded with the kinds of the things that it names. A longer
# piece has enough meaning of its own.
GLOSSED = 400
# Partitions of unsorted facts and of events, whose names say nothing about the facts in them.
_GENERIC_PARTITIONS = frozenset({"mem_semantic", "mem_hippocampus", "mem_episodic"})
_MOST_VALUES = 2_000  # characters of a document's metadata, which each chunk repeats
_LONGEST_NAMES = 300  # characters of a document's other names, which each chunk repeats
# All other roles are names of speakers.
PLAIN_ROLES = frozenset({"user", "assistant", "system", "tool", "document"})


def passages_of(record: AnyRecord) -> tuple[Passage, ...]:
    """Return the passages of a record; they are hidden if it is forgotten or replaced."""
    if isinstance(record, Turn):
        return _turn_passages(record)
    if isinstance(record, Memory):
        return (_memory_passage(record),)
    pieces = cut_document(record.content, record.type, record.path, record.metadata)
    return document_passages(record, pieces)


def record_change(record: AnyRecord, *, is_known: bool = True) -> Change:
    """Return the change that writes a record and its passages; a known record's passages are replaced."""
    return Change(record, passages_of(record), rewritten=is_known)


def speeches(turn: Turn) -> list[tuple[str, str]]:
    """Return the texts of a turn in order, each with its speaker: (role, text)."""
    sides = (("user", turn.user), ("assistant", turn.assistant), (turn.role or "", turn.text))
    return [(role, without_escapes(text)) for role, text in sides if text]


def turn_summary(turn: Turn) -> str:
    """Return lines that say what was asked, answered and done in a turn; "" for an empty turn."""
    asked, answer = without_escapes(turn.user or ""), without_escapes(turn.assistant or turn.text or "")
    return summarise(asked, answer, tools=turn.tools, files=turn.files, commands=turn.commands)


def _turn_passages(turn: Turn) -> tuple[Passage, ...]:
    """Cut each side of a turn into pieces of `TURN_PASSAGE` characters, and add a passage for its summary.

    A short turn shows no summary, but is searched by one, because it joins words of question and answer.
    """
    sides = [] if turn.capture == "summary_only" else speeches(turn)
    passages = [
        _turn_passage(turn, role, part, text[start:end])
        for role, text in sides
        for part, (start, end) in enumerate(split(text, TURN_PASSAGE))
    ]
    summary = turn.summary or (turn_summary(turn) if sides and (turn.user or turn.assistant) else "")
    if summary:
        passages.append(_turn_passage(turn, "summary", 0, summary))
    if passages:
        main_index = -1 if summary else 0
        passages[main_index] = _with_ties(turn, passages[main_index], "\n".join(text for _, text in sides))
    return tuple({passage.id: passage for passage in passages}.values())


def _turn_passage(turn: Turn, role: str, part: int, text: str) -> Passage:
    spoken = text if role.lower() in PLAIN_ROLES or role == "summary" else f"{role}: {text}"
    kinds = gloss(text)
    embed_text = with_gloss(spoken, kinds) if len(text) <= GLOSSED else spoken
    return _passage(
        turn,
        (role, spoken),
        src="turn",
        part=part,
        role=role,
        text=text,
        search_text=expand(f"{spoken}\n{searched_words(kinds)}".rstrip()),
        embed_text=embed_text if embed_text != text else None,
        dated_at=turn.started_at,
        host=turn.came_from,
        **fields_of(turn, "session_id", "turn"),
    )


def _with_ties(turn: Turn, passage: Passage, text: str) -> Passage:
    """Add the words that tie a turn to others, and its files, commands and errors that the text omits."""
    work = (*turn.files, *turn.commands, *(failure.error for failure in turn.failures))
    unnamed = [item for item in work if item not in passage.text]
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
    """Append the kinds of the things that a text names, so that a small model knows its subject."""
    return f"{text} ({kinds})" if kinds else text


def label_words(tags: Iterable[str], partition_id: str) -> str:
    """Return the words of a fact's tags and partition, which are searched like words of its text."""
    name = "" if partition_id in _GENERIC_PARTITIONS else partition_id.removeprefix("mem_").replace("_", " ")
    return " ".join(dict.fromkeys(filter(None, (*tags, name))))


def cut_document(content: str, kind: str, path: str | None, metadata: Mapping[str, Any]) -> list[Chunk]:
    """Cut the text of a document by its structure.

    The language of a source file comes from its name, else from its first line, as noted in the metadata.
    """
    language = markup_of(path or "") if kind == "text" else None
    if kind in ("code", "json"):
        language = kind_of(path or "").language or str(metadata.get("language") or "text")
    return chunks(content, kind, language)


def document_passages(document: Document, pieces: Sequence[Chunk]) -> tuple[Passage, ...]:
    """Make passages of a document's chunks.

    Each chunk is searched with the title, its headings and its table's header, which are not returned.
    """
    counts: Counter[tuple[str, str]] = Counter()
    path = (document.place or "").replace("\\", "/")
    place = "/".join(path.split("/")[-3:])  # people search for the last parts of a path
    names = _other_names(document, path)
    title = title_above(document)  # computed once, because it reads a whole line of the text
    values = " ".join(value for value in document.metadata.values() if isinstance(value, str))[:_MOST_VALUES]
    passages = []
    for part, chunk in enumerate(pieces):
        trail = " > ".join(dict.fromkeys(filter(None, (title, *chunk.headings))))
        context = "\n".join(filter(None, (trail, names, chunk.repeat)))
        text = without_escapes(document.content[chunk.start : chunk.end])
        counts[context, text] += 1
        number = counts[context, text]
        passages.append(
            _passage(
                document,
                (context, text) if number == 1 else (context, text, str(number)),
                src="chunk",
                role=COMMIT if document.type == COMMIT else None,
                part=part,
                text=text,
                search_text=expand("\n".join(filter(None, (context, text, place, values)))),
                embed_text=f"{context}\n{text}" if context else None,
                dated_at=document.dated_at or document.updated_at,
                title=document.title,
                path=document.place,
                line_start=chunk.line_start,
                line_end=chunk.line_end,
            )
        )
    return tuple(passages)


def _other_names(document: Document, path: str) -> str:
    """Return a document's file name and aliases that its title lacks, because people search for them."""
    name = os.path.splitext(os.path.basename(path))[0]
    aliases = str(document.metadata.get("aliases") or "").split(", ")
    title = (document.title or "").casefold()
    others = (each for each in (name, *aliases) if each and each.casefold() not in title)
    return ", ".join(others)[:_LONGEST_NAMES]


def title_above(document: Document) -> str | None:
    """Return the title to search with each chunk, or None if it only repeats the beginning of the text."""
    is_repeated = document.type == "text" and document.title == opening(document.content)
    if document.type == COMMIT:  # without its id, which has no meaning
        return (document.title or "").partition(" ")[2] or None
    return None if is_repeated else document.title


def _passage(record: AnyRecord, key: tuple[str, ...], **values: Any) -> Passage:
    """Make a passage with the values of its record; `key` distinguishes the record's passages."""
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
