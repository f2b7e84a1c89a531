"""`scrubjay export --markdown FOLDER`: a folder of notes, for `scrubjay index` and any note-taking app.

    FOLDER/<project>/facts.md
    FOLDER/<project>/sessions/<date> <subject> <id>.md
    FOLDER/<project>/documents/<title> <id>.md     documents that are neither files on this disk nor commits

Forgotten, expired and replaced records are left out.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from scrubjay.cli.display import first_line, local
from scrubjay.errors import InputError
from scrubjay.home.scopes import display_name
from scrubjay.text.foreign import visible
from scrubjay.text.short_ids import short_id, short_session

SUMMARY = "engine:summary"  # the source of a session's summary, as in models.records (a test compares)
MAX_NAME = 60  # characters of a subject in the name of a file
_UNSAFE = re.compile(r"[^\w .,()+-]+")

Record = Mapping[str, Any]


def write_notes(folder: str, lines: Iterable[bytes], now: datetime) -> int:
    """Write an export as notes into an empty folder; return how many. Raises InputError if it has files."""
    if os.path.isdir(folder) and os.listdir(folder):
        raise InputError(
            f"{folder} is not empty. Give a new folder, so that no note of yours is overwritten."
        )
    notes = dict(notes_of(filter(lambda each: _is_current(each, now), map(json.loads, lines))))
    for name, text in notes.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(visible(text))
    return len(notes)


def _is_current(record: Record, now: datetime) -> bool:
    expires = record.get("expires_at")
    return (
        "kind" in record  # the first line of an export is its header
        and record.get("forgotten_at") is None
        and record.get("is_latest", True)
        and (expires is None or datetime.fromisoformat(expires) > now)
    )


def notes_of(records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each note."""
    turns, facts = defaultdict(list), defaultdict(list)
    summaries: dict[tuple[str, str], str] = {}
    for record in records:
        project = _safe_name(display_name(record["scope"]))
        if record["kind"] == "turn":
            turns[project, record["session_id"]].append(record)
        elif record["kind"] == "document":
            if not (record.get("path") or record.get("type") == "commit"):
                yield _document(project, record)
        elif record["source"] == SUMMARY:
            summaries[project, record["session_id"]] = record["content"]
        else:
            facts[project].append(record)
    for project, project_facts in facts.items():
        text = f"# Facts of {project}\n\n{''.join(map(_fact, project_facts))}"
        yield os.path.join(project, "facts.md"), text
    for (project, session), session_turns in turns.items():
        yield _session(project, session, session_turns, summaries.get((project, session), ""))


def _fact(fact: Record) -> str:
    tags = "".join(f" #{tag.replace(' ', '-')}" for tag in fact["tags"])
    text = fact["content"].replace("\n", "\n  ")
    return f"- {text}{tags} ({fact['created_at'][:10]}, {short_id('memory', fact['id'])})\n"


def _session(project: str, session: str, turns: list[Record], summary: str) -> tuple[str, str]:
    turns.sort(key=lambda turn: turn["turn"])
    first = turns[0]
    subject = first_line(summary, MAX_NAME) or first_line(first.get("user") or _turn_text(first), MAX_NAME)
    fields = {"title": subject, "date": first["started_at"], "session": session, "project": project}
    parts = [f"# {subject}", *([summary] if summary else [])]
    for turn in turns:
        parts += [f"## Turn {turn['turn']}, {local(turn['started_at']):%Y-%m-%d %H:%M}", _turn_text(turn)]
    name = f"{first['started_at'][:10]} {_safe_name(subject)} {_safe_name(short_session(session))}.md"
    return os.path.join(project, "sessions", name), _front_matter(fields) + "\n\n".join(parts) + "\n"


def _turn_text(turn: Record) -> str:
    sides = ("user", turn.get("user")), ("assistant", turn.get("assistant"))
    parts = [f"**{side}:** {text}" for side, text in sides if text]
    return "\n\n".join(parts) or turn.get("text") or ""


def _document(project: str, record: Record) -> tuple[str, str]:
    title = record.get("title") or "document"
    name = f"{_safe_name(title)} {_safe_name(short_id('chunk', record['id']))}.md"
    front_matter = _front_matter({"title": title, "date": record["created_at"], "project": project})
    return os.path.join(project, "documents", name), f"{front_matter}{record['content']}\n"


def _front_matter(fields: Mapping[str, str]) -> str:
    """Return YAML front matter; a JSON string is also a YAML string."""
    lines = (f"{name}: {json.dumps(text, ensure_ascii=False)}\n" for name, text in fields.items())
    return f"---\n{''.join(lines)}---\n\n"


def _safe_name(text: str) -> str:
    """Return a text that can be part of a file name on every system.

    >>> _safe_name('Why "a/b"? Because: c')
    'Why a b Because c'
    """
    return _UNSAFE.sub(" ", text)[:MAX_NAME].strip(" .") or "untitled"
