"""Reads the stores of other memories as facts.

They are claude-mem, mcp-memory-service, basic-memory, server-memory of the MCP project, mem0, Hebb Mind and
MemPalace. A fact is one of their entries, word for word, with its time, tags and project. Deleted and expired
entries are left out. If the transcript behind an entry still exists, the transcript is read instead.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any

from scrubjay.histories import hosts
from scrubjay.histories.disk import Disk, embedded, files_below, parsed
from scrubjay.histories.facts import digest, flattened, paragraphs, rows_of, storable_facts, strings, tags_of
from scrubjay.histories.stored import LONGEST, Fact, Fields, History, Stored, instant, seconds
from scrubjay.home.files import read_regular
from scrubjay.hosts.machine import Machine
from scrubjay.text.front_matter import end_of_front_matter, front_matter
from scrubjay.transcripts.json_lines import mapping, string

_MAX_CONFIG = 10 * 2**20  # bytes of a host's configuration that is searched for a path
_MAX_NOTE = 50 * 2**20  # bytes, as of any document

_Facts = Callable[[sqlite3.Connection], Iterable[Fact]]


def _in_database(source: str, name: str, facts: _Facts, place: str) -> History:
    """Return the history of a memory that has one database; copies with a longer name also fit."""
    stem, ending = os.path.splitext(name)

    def fits(path: str) -> bool:
        return stem in os.path.basename(path) and path.endswith(ending)

    def stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
        yield _stored(source, path, at, lambda: facts(disk.database(path)))

    return History(source, lambda machine: [machine.path(place)], fits, stored)


def _stored(source: str, path: str, at: float, facts: Callable[[], Iterable[Fact]]) -> Stored:
    return Stored(source, path, at, lambda: storable_facts(facts()))


def _first(row: Fields, *names: str) -> str:
    """Return the first text in these columns, which differ by version."""
    return next(filter(None, (string(row.get(name)) for name in names)), "")


def _time(row: Fields, *names: str) -> str | None:
    """Return the first time in these columns."""
    return next(filter(None, (instant(row.get(name)) for name in names)), None)


# claude-mem, up to 13.15: what a model wrote about sessions


_SESSION_ID = ("memory_session_id", "sdk_session_id")  # of claude-mem itself; the host has others


def _claude_mem(database: sqlite3.Connection) -> Iterator[Fact]:
    """Yield observations and summaries. Prompts are left out: unlike in transcripts, they have no answers."""
    sessions = {
        _first(row, *_SESSION_ID): _first(row, "content_session_id", "claude_session_id")
        for row in rows_of(database, "sdk_sessions")
    }
    for row in rows_of(database, "observations", required=True):
        narrative = _first(row, "narrative", "text", "subtitle")
        points = "\n".join(f"- {each}" for each in strings(row.get("facts")))
        content = paragraphs(string(row.get("title")), narrative, points)
        tags = tags_of(string(row.get("type")), *strings(row.get("concepts")))
        files = list(dict.fromkeys([*strings(row.get("files_modified")), *strings(row.get("files_read"))]))
        yield _claude_mem_fact(row, "observation", sessions, content, tags, {"files": files})
    for row in rows_of(database, "session_summaries"):
        labels = ("request", "investigated", "learned", "completed", "next_steps", "notes")
        texts = {label: string(row.get(label)).strip() for label in labels}
        lines = (f"{label.replace('_', ' ').capitalize()}: {text}" for label, text in texts.items() if text)
        yield _claude_mem_fact(row, "summary", sessions, "\n".join(lines), ("session-summary",), {})


def _claude_mem_fact(
    row: Fields, kind: str, sessions: Mapping[str, str], content: str, tags: tuple[str, ...], metadata: Fields
) -> Fact:
    session = _first(row, *_SESSION_ID)
    return Fact(
        "claude-mem",
        f"{kind}/{session}/{row['id']}",
        content,
        created_at=_time(row, "created_at_epoch", "created_at"),
        project=_first(row, "merged_into_project", "project") or None,
        session_id=sessions.get(session) or None,
        tags=tags,
        metadata=metadata,
    )


# mcp-memory-service


def _mcp_memory_service(database: sqlite3.Connection) -> Iterator[Fact]:
    for row in rows_of(database, "memories", required=True):
        if row.get("deleted_at") is None:
            yield Fact(
                "mcp-memory-service",
                string(row["content_hash"]),
                string(row["content"]),
                created_at=_time(row, "created_at", "created_at_iso"),
                updated_at=_time(row, "updated_at", "updated_at_iso"),
                tags=tags_of(*string(row.get("tags")).split(","), string(row.get("memory_type"))),
                metadata=flattened(embedded(row.get("metadata"))),
            )


# mem0: its history, because its vectors may be in any store


_SET_AT = ("updated_at", "created_at")


def _mem0(database: sqlite3.Connection) -> Iterator[Fact]:
    versions: dict[str, list[Fields]] = {}
    for row in rows_of(database, "history", required=True):
        versions.setdefault(string(row["memory_id"]), []).append(row)
    for memory_id, rows in versions.items():
        rows.sort(key=lambda row: seconds(_time(row, *_SET_AT)) or 0.0)
        last = rows[-1]
        if last.get("event") == "DELETE" or last.get("is_deleted"):
            continue
        values = [(string(row.get("new_memory")), _time(row, *_SET_AT)) for row in rows]
        *earlier, (content, updated_at) = [value for value in values if value[0].strip()] or [("", None)]
        yield Fact(
            "mem0",
            memory_id,
            content,
            created_at=instant(rows[0].get("created_at")),
            updated_at=updated_at,
            earlier=tuple((value[:LONGEST], at) for value, at in earlier),
            metadata=flattened({"actor": last.get("actor_id"), "role": last.get("role")}),
        )


# Hebb Mind


def _hebb_mind(database: sqlite3.Connection, now: Callable[[], float] = time.time) -> Iterator[Fact]:
    for row in rows_of(database, "memories", required=True):
        expires_at = seconds(row.get("expires_at"))
        if expires_at is not None and expires_at <= now():
            continue
        tags, source = strings(row.get("tags")), string(row.get("source"))
        metadata = embedded(row.get("metadata"))
        score = row.get("importance_score")
        yield Fact(
            "hebb-mind",
            string(row["id"]),
            string(row["content"]),
            created_at=instant(row.get("created_at")),
            updated_at=instant(row.get("updated_at")),
            # Hebb Mind's hook tags a turn with its project only
            project=tags[0] if tags and source.startswith("hook:") else None,
            session_id=string(metadata.get("session_id")) or None,
            tags=tags_of(*tags),
            importance=min(10.0, max(0.0, float(score))) if isinstance(score, int | float) else 5.0,
            metadata=flattened({**metadata, "partition": row.get("partition_id"), "source": source}),
        )


# server-memory, the reference server of the MCP project: a file of entities and relations

_MEMORY_FILE = re.compile(r"MEMORY_FILE_PATH[\"']?\s*[:=]\s*(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)')")

_CONFIGURATIONS = (
    "{claude_json} {settings}/Claude/claude_desktop_config.json {home}/.cursor/mcp.json {codes}/mcp.json "
    "{codex}/config.toml {gemini}/settings.json {home}/.qwen/settings.json "
    "{home}/.codeium/windsurf/mcp_config.json"
).split()


def _server_memory_places(machine: Machine) -> Iterator[str]:
    """Yield the files that MEMORY_FILE_PATH names, here or in a host's configuration, and npm's defaults."""
    yield from filter(None, [machine.env.get("MEMORY_FILE_PATH")])
    for path in (path for place in _CONFIGURATIONS for path in machine.paths(place)):
        try:
            text = read_regular(path, _MAX_CONFIG).decode("utf-8", "replace")
        except OSError:
            continue
        for quoted, plain in _MEMORY_FILE.findall(text):
            yield plain or re.sub(r"\\(.)", r"\1", quoted)
    npx_folder = machine.path("{npm_cache}/_npx")
    package = ("node_modules", "@modelcontextprotocol", "server-memory", "dist", "memory.jsonl")
    for run in sorted(os.listdir(npx_folder)) if os.path.isdir(npx_folder) else ():
        yield machine.join(npx_folder, run, *package)


def _server_memory_stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
    yield _stored("server-memory", path, at, partial(_server_memory, disk, path, at))


def _server_memory(disk: Disk, path: str, at: float) -> Iterator[Fact]:
    """Yield a fact for each observation and relation; they have no times, so they get the file's."""
    for raw in disk.lines(path):
        entry = embedded(raw)
        if entry.get("type") == "entity":
            contents = [f"{entry.get('name')}: {each}" for each in strings(entry.get("observations"))]
            tags = tags_of(string(entry.get("entityType")))
        elif entry.get("type") == "relation":
            verb = string(entry.get("relationType")).replace("_", " ")
            contents, tags = [f"{entry.get('from')} {verb} {entry.get('to')}"], ("relation",)
        else:
            continue
        for each in contents:
            yield Fact("server-memory", digest(each), each, created_at=instant(at), tags=tags)


# basic-memory: notes in Markdown

# Matches `- [category] text #tag (context)`, but not a task or a link.
_OBSERVATION = re.compile(r"\s*[-*] \[(?![ xX-]\])([^\[\]()\n]+)\] (.+)")
_HASHTAG = re.compile(r"(?<!\S)#([^\s#]+)")


def _basic_memory_stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """List a note, or the notes of every project in a configuration; those of the default get no project."""
    if not path.endswith(".json"):
        yield _stored("basic-memory", path, at, partial(_basic_memory, path, at, None))
        return
    settings = mapping(disk.json(path))
    for name, value in mapping(settings.get("projects")).items():
        folder = os.path.expanduser(string(value) or string(mapping(value).get("path")))
        project = None if name == settings.get("default_project", "main") else name
        for note, changed in files_below(folder, lambda path: path.endswith(".md")):
            yield _stored("basic-memory", note, changed, partial(_basic_memory, note, changed, project))


def _basic_memory(path: str, at: float, project: str | None) -> Iterator[Fact]:
    """Yield a fact for each observation, and one for the rest of a note."""
    text = read_regular(path, _MAX_NOTE).decode("utf-8-sig", "replace")
    fields = {name: value for name, value in front_matter(text).items() if value is not None}
    title = str(fields.get("title") or os.path.basename(path).removesuffix(".md"))
    tags = [tag.strip().lstrip("#") for tag in _listed(fields.get("tags"))]
    permalink = str(fields.get("permalink", ""))
    note = Fact(
        "basic-memory",
        f"{project or ''}:{permalink}" if permalink else path,  # a permalink stays when the file moves
        "",
        created_at=instant(str(fields.get("created"))) or instant(at),
        updated_at=instant(str(fields.get("modified"))) or instant(at),
        project=project,
        metadata=flattened({name: str(fields[name]) for name in ("permalink", "type") if name in fields}),
    )
    rest = []
    for line in text[end_of_front_matter(text) :].splitlines():
        observation = _OBSERVATION.fullmatch(line)
        if observation is None:
            rest.append(line)
            continue
        category, words = observation[1].strip(), observation[2].strip()
        own_tags = tags_of(category, *tags, *_HASHTAG.findall(words))
        yield replace(note, id=f"{note.id}#{digest(line)}", content=f"{title}: {words}", tags=own_tags)
    if any(line.strip() and not line.startswith("#") for line in rest):
        words = "\n".join(rest).strip()
        whole = words if title in words.partition("\n")[0] else f"{title}\n\n{words}"
        yield replace(note, content=whole, tags=tags_of(*tags))


def _listed(value: Any) -> list[str]:
    """Return the values of a list, or of a text with commas between them."""
    return [str(each) for each in value] if isinstance(value, list) else str(value or "").split(",")


# MemPalace: the drawers of its palace, which Chroma stores in SQLite

_DRAWERS = """
    SELECT e.id, e.embedding_id, m.key, m.string_value, m.int_value, m.float_value
    FROM embeddings e JOIN embedding_metadata m ON m.id = e.id
    WHERE e.segment_id NOT IN (
        SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection WHERE c.name LIKE '%closets%'
    )
    ORDER BY e.id
"""
_HOSTS = {".claude": "claude-code", ".codex": "codex", ".gemini": "gemini-cli", ".qwen": "qwen-code"}


def _mempalace_places(machine: Machine) -> Iterator[str]:
    yield machine.path("{home}/.mempalace/palace")
    try:
        config = mapping(parsed(read_regular(machine.path("{home}/.mempalace/config.json"), _MAX_CONFIG)))
    except (OSError, ValueError):
        return
    yield from filter(None, [string(config.get("palace_path"))])


def _mempalace_stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """List the existing transcripts of its conversations, and then the palace."""
    originals: set[str] = set()
    for drawer in _drawers(disk.database(path)):
        source = string(drawer.get("source_file"))
        host = next((host for folder, host in _HOSTS.items() if f"{os.sep}{folder}{os.sep}" in source), None)
        reader = next((each for each in hosts.HISTORIES if each.host == host and each.fits(source)), None)
        if reader and source not in originals and os.path.isfile(source):
            originals.add(source)
            yield from reader.stored(disk, source, os.stat(source).st_mtime)
    yield _stored("mempalace", path, at, partial(_mempalace, disk, path, originals))


def _mempalace(disk: Disk, path: str, originals: set[str]) -> Iterator[Fact]:
    for drawer in _drawers(disk.database(path)):
        if drawer.get("room") != "_registry" and drawer.get("source_file") not in originals:
            names = ("source_file", "chunk_index", "added_by")
            yield Fact(
                "mempalace",
                string(drawer["id"]),
                string(drawer.get("chroma:document")),
                created_at=_local_time(drawer.get("authored_at")) or _local_time(drawer.get("filed_at")),
                project=string(drawer.get("wing")) or None,
                session_id=string(drawer.get("session_id")) or None,
                tags=tags_of(string(drawer.get("room")), string(drawer.get("hall"))),
                metadata=flattened({name: drawer[name] for name in names if name in drawer}),
            )


def _drawers(database: sqlite3.Connection) -> Iterator[Fields]:
    """Yield the entries of a palace, each with its id and metadata."""
    for _, rows in groupby(database.execute(_DRAWERS), key=lambda row: row["id"]):
        drawer: Fields = {}
        for row in rows:
            values = (row["string_value"], row["int_value"], row["float_value"])
            drawer["id"] = row["embedding_id"]
            drawer[row["key"]] = next((value for value in values if value is not None), None)
        yield drawer


def _local_time(value: object) -> str | None:
    """Return a time of MemPalace, or None if it is invalid; a time without a zone is local."""
    try:
        return datetime.fromisoformat(string(value)).astimezone().isoformat()
    except ValueError:
        return None


HISTORIES = (
    _in_database("claude-mem", "claude-mem.db", _claude_mem, "{claude_mem}/claude-mem.db"),
    _in_database("mcp-memory-service", "sqlite_vec.db", _mcp_memory_service, "{mcp_memory}"),
    History(
        "basic-memory",
        lambda machine: [machine.path("{basic_memory}/config.json")],
        lambda path: path.endswith(".md") or os.path.basename(path) == "config.json",
        _basic_memory_stored,
    ),
    History(
        "server-memory",
        _server_memory_places,
        lambda path: path.endswith((".jsonl", ".json")),
        _server_memory_stored,
    ),
    _in_database("mem0", "history.db", _mem0, "{mem0}/history.db"),
    _in_database("hebb-mind", "hebb.db", _hebb_mind, "{hebb_mind}/hebb.db"),
    History(
        "mempalace",
        _mempalace_places,
        lambda path: os.path.basename(path) == "chroma.sqlite3",
        _mempalace_stored,
    ),
)
