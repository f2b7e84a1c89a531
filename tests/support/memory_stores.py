"""Stores of other memory products as their programs write them, in the shapes of their versions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HOUR_MS = 3_600_000
JUNE_MS = 1_780_300_000_000  # 2026-06-01T07:46:40Z


def database(path: Path, tables: dict[str, str], rows: dict[str, Sequence[tuple[Any, ...]]]) -> Path:
    """A database of SQLite with these tables (name -> columns) and rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")  # nothing here has to survive a crash
    for name, columns in tables.items():
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
    for name, values in rows.items():
        for row in values:
            connection.execute(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(row))})', row)
    connection.commit()
    connection.close()
    return path


def claude_mem(folder: Path) -> Path:
    """Version 13.15: two observations and a summary of one session."""
    return database(
        folder / "claude-mem.db",
        {
            "sdk_sessions": "id, content_session_id, memory_session_id, project, platform_source, started_at",
            "observations": "id INTEGER PRIMARY KEY, memory_session_id, project, text, type, title, subtitle, facts, "
            "narrative, concepts, files_read, files_modified, prompt_number, created_at, created_at_epoch, "
            "merged_into_project",
            "session_summaries": "id INTEGER PRIMARY KEY, memory_session_id, project, request, investigated, learned, "
            "completed, next_steps, files_read, files_edited, notes, created_at, created_at_epoch",
            "user_prompts": "id, content_session_id, prompt_number, prompt_text, created_at, created_at_epoch",
        },
        {
            "sdk_sessions": [(1, "host-1", "m1", "api", "claude", "2026-06-01T07:00:00Z")],
            "observations": [
                (
                    *(1, "m1", "api", None, "bugfix", "Pool leak fixed", None, '["Rows were not closed"]'),
                    *(
                        "The poller leaked connections.",
                        '["problem-solution"]',
                        '["pool.go"]',
                        '["pool.go", "x.go"]',
                    ),
                    *(3, "2026-06-01T07:46:40.000Z", JUNE_MS, None),
                ),
                (
                    2,
                    "m1",
                    "api",
                    "An old text",
                    "discovery",
                    "",
                    None,
                    None,
                    None,
                    "not json",
                    None,
                    None,
                    4,
                    None,
                    None,
                    "heron",
                ),
            ],
            "session_summaries": [
                (
                    *(
                        1,
                        "m1",
                        "api",
                        "Why is the pool exhausted?",
                        "",
                        "Rows keep connections.",
                        "Closed the rows.",
                    ),
                    *("", None, None, None, "2026-06-01T08:46:40.000Z", JUNE_MS + HOUR_MS),
                )
            ],
            "user_prompts": [(1, "host-1", 1, "why is the pool exhausted", None, JUNE_MS)],
        },
    )


def older_claude_mem(folder: Path) -> Path:
    """Its first versions, which used other names for sessions."""
    return database(
        folder / "claude-mem.db",
        {
            "sdk_sessions": "id, claude_session_id, sdk_session_id, project",
            "observations": "id INTEGER PRIMARY KEY, sdk_session_id, project, text, type, created_at, created_at_epoch",
        },
        {
            "sdk_sessions": [(1, "host-0", "m0", "api")],
            "observations": [(1, "m0", "api", "Use WAL in the API.", "decision", None, JUNE_MS)],
        },
    )


def mcp_memory_service(folder: Path) -> Path:
    columns = (
        "id INTEGER PRIMARY KEY, content_hash TEXT UNIQUE, content, tags, memory_type, metadata, "
        "created_at REAL, updated_at REAL, created_at_iso, updated_at_iso, deleted_at REAL"
    )
    kept = (
        *(
            1,
            "9f2c",
            "Use WAL in the API.",
            "db, decision",
            "decision",
            '{"source": "claude", "score": {"a": 1}}',
        ),
        *(1_764_547_200.0, 1_764_550_800.0, "2025-12-01T00:00:00Z", "2025-12-01T01:00:00Z", None),
    )
    gone = (2, "77aa", "Use MySQL.", "", None, None, 1.0, 1.0, None, None, 1_764_550_800.0)
    return database(folder / "sqlite_vec.db", {"memories": columns}, {"memories": [kept, gone]})


def mem0(folder: Path) -> Path:
    """Version 2: a fact with a correction, and one that was deleted."""
    columns = (
        "id TEXT PRIMARY KEY, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, "
        "actor_id, role"
    )
    january, march = "2026-01-02T10:00:00+00:00", "2026-03-01T09:00:00+00:00"
    rows = [
        ("h1", "m1", None, "Kim prefers tea", "ADD", january, None, 0, None, "user"),
        ("h2", "m2", None, "Kim lives in Oslo", "ADD", january, None, 0, None, "user"),
        ("h3", "m1", "Kim prefers tea", "Kim prefers coffee", "UPDATE", january, march, 0, None, "user"),
        ("h4", "m2", "Kim lives in Oslo", None, "DELETE", january, march, 1, None, None),
    ]
    return database(
        folder / "history.db",
        {"history": columns, "messages": "id, session_scope, role, content, name, created_at"},
        {"history": rows, "messages": [("1", "user_id=kim", "user", "I prefer tea", None, january)]},
    )


def hebb_mind(folder: Path) -> Path:
    columns = (
        "id TEXT PRIMARY KEY, partition_id, content, importance_score REAL, tags, metadata, source, created_at, "
        "updated_at, last_accessed_at, access_count, expires_at"
    )
    at = "2026-10-01 09:00:00"
    turn = "[2026-10-01T09:00:00]\n[User] Where do logs go?\n[Assistant] To syslog."
    rows = [
        ("u1", "mem_semantic", "Use WAL.", 7.5, '["db"]', "{}", "claude-code", at, at, None, 0, None),
        ("u2", "mem_hippocampus", "Old.", 5.0, "[]", "{}", "mcp", at, at, None, 0, "2026-10-02 09:00:00"),
        ("u3", "mem_episodic", turn, 4.0, '["api"]', '{"session_id": "s1", "turn": 3}', "hook:stop", at, at, None, 0, None),
    ]  # fmt: skip
    return database(
        folder / "hebb.db",
        {"memories": columns, "partitions": "id, name"},
        {"memories": rows, "partitions": []},
    )


def server_memory(folder: Path) -> Path:
    """A file of entities and relations whose last line is half written."""
    lines = [
        {
            "type": "entity",
            "name": "Kim",
            "entityType": "person",
            "observations": ["Prefers tea", "Lives in Oslo"],
        },
        {"type": "relation", "from": "Kim", "to": "Acme", "relationType": "works_at"},
    ]
    path = folder / "memory.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)) + '\n{"type": "entity", "na', encoding="utf-8")
    return path


NOTE = """---
title: Storage
type: note
tags: [db, "#api"]
permalink: notes/storage
created: 2026-05-01T08:00:00+00:00
modified: 2026-05-02T08:00:00+00:00
---

# Storage

Why it is as it is.

## Observations
- [decision] Use WAL in the API #durability (2026)
- [ ] a task
- [a link](https://example.com)

## Relations
- relates_to [[Pool]]
"""


def basic_memory(folder: Path) -> Path:
    """A configuration with a default project and another one, a note in each."""
    (folder / "main").mkdir(parents=True)
    (folder / "main" / "Storage.md").write_text(NOTE, encoding="utf-8")
    (folder / "api").mkdir()
    (folder / "api" / "Plain.md").write_text("- [fact] The port is 5433.\n", encoding="utf-8")
    projects = {"main": str(folder / "main"), "api": {"path": str(folder / "api"), "mode": "local"}}
    config = folder / "config.json"
    config.write_text(json.dumps({"projects": projects, "default_project": "main"}), encoding="utf-8")
    return config


def mempalace(folder: Path, transcript: str = "/gone/.claude/projects/-w-api/s1.jsonl") -> Path:
    """A palace with a drawer of a conversation, one of a file, and a row that is not a drawer."""
    drawers = [
        ("d1", "Where do logs go? To syslog.", {"wing": "api", "room": "ops", "source_file": transcript, "chunk_index": 0, "filed_at": "2026-05-01T10:00:00+00:00", "ingest_mode": "convos"}),
        ("d2", "Use WAL.", {"wing": "api", "room": "db", "hall": "facts", "added_by": "mcp", "filed_at": "2026-05-02T10:00:00+00:00"}),
        ("d3", "a registry", {"wing": "api", "room": "_registry"}),
    ]  # fmt: skip
    embeddings, metadata = [], []
    for number, (name, text, values) in enumerate(drawers):
        embeddings.append((number, "drawers", name))
        for key, value in {**values, "chroma:document": text}.items():
            place = 1 if isinstance(value, int) else 0
            metadata.append((number, key, *(value if at == place else None for at in range(4))))
    embeddings.append((9, "closets", "c1"))
    metadata.append((9, "chroma:document", "a pointer", None, None, None))
    return database(
        folder / "chroma.sqlite3",
        {
            "collections": "id, name",
            "segments": "id, collection",
            "embeddings": "id INTEGER PRIMARY KEY, segment_id, embedding_id",
            "embedding_metadata": "id, key, string_value, int_value, float_value, bool_value",
        },
        {
            "collections": [("c-1", "mempalace_drawers"), ("c-2", "mempalace_closets")],
            "segments": [("drawers", "c-1"), ("closets", "c-2")],
            "embeddings": embeddings,
            "embedding_metadata": metadata,
        },
    )
