"""Reads conversations that other programs exported, as turns like those of `transcripts.turn.new_turn`.

It knows three formats: Claude Code's lines, ChatGPT's `conversations.json`, and plain text with the speaker
before each part.
"""

import json
import re
from typing import Any, Literal, NamedTuple, get_args

from scrubjay.histories.exports import chatgpt
from scrubjay.histories.stored import Fields, instant
from scrubjay.transcripts.book import Book, joined
from scrubjay.transcripts.formats import turns as transcript_turns
from scrubjay.transcripts.json_lines import dicts

Format = Literal["claude_code", "chatgpt", "plain"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SIDES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_MARKED = re.compile(r"^(user|human|assistant|ai|system)\s*:[ \t]*(.*)$", re.IGNORECASE)


class Export(NamedTuple):
    """The turns of an export, and warnings about parts that could not be read."""

    format: Format
    turns: list[Fields]
    warnings: list[str]


def read(text: str, kind: Format | None = None) -> Export:
    """Read the turns of an export; without a format, detect it."""
    kind = kind or detect(text)
    return Export(kind, *_READERS[kind](text))


def detect(text: str) -> Format:
    """Return the format that a text looks like, or plain if it looks like no other."""
    stripped = text.strip()
    first = _parsed_json(stripped.split("\n", 1)[0])
    if isinstance(first, dict) and ("type" in first or "role" in first):
        return "claude_code"
    value = _parsed_json(stripped) if stripped[:1] in ("{", "[") else None
    conversation = value[0] if isinstance(value, list) and value else value
    return "chatgpt" if isinstance(conversation, dict) and "mapping" in conversation else "plain"


def _claude_code(text: str) -> tuple[list[Fields], list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    entries = dicts([_parsed_json(line) for line in lines])
    skipped = len(lines) - len(entries)
    warnings = [f"{skipped} lines are no JSON objects and were passed over."] if skipped else []
    return transcript_turns(lines, "claude-code") or _by_role(entries), warnings


def _by_role(entries: list[Fields]) -> list[Fields]:
    """Read simple lines: {"role" or "type", "content", "timestamp", "session_id"}."""
    book = Book()
    for entry in entries:
        if session := entry.get("session_id") or entry.get("conversation_id"):
            book.belongs_to(session)
        time = instant(entry.get("timestamp") or entry.get("created_at"))
        _add_message(book, entry.get("role") or entry.get("type"), joined(entry.get("content")), time)
    return book.close()


def _chatgpt(text: str) -> tuple[list[Fields], list[str]]:
    value = _parsed_json(text)
    conversations = dicts(value if isinstance(value, list) else [value])
    sessions = [chatgpt("chatgpt", conversation) for conversation in conversations]
    turns = [{**turn, "session_id": session.id} for session in sessions for turn in session.turns]
    return turns, [] if conversations else [
        "The text is no JSON of conversations, so nothing was read of it."
    ]


def _plain(text: str) -> tuple[list[Fields], list[str]]:
    """Read a text that names the speakers; any other is one prompt."""
    parts: list[tuple[str, list[str]]] = [("user", [])]
    for line in text.splitlines():
        if match := _MARKED.match(line):
            parts.append((match[1], [match[2]]))
        else:
            parts[-1][1].append(line)
    book = Book()
    for side, lines in parts:
        _add_message(book, side, "\n".join(lines))
    turns = book.close()
    is_one_prompt = len(parts) == 1 and turns
    return turns, ["The text names no speakers, so all of it became one prompt."] if is_one_prompt else []


_READERS = {"claude_code": _claude_code, "chatgpt": _chatgpt, "plain": _plain}


def _add_message(book: Book, role: object, text: str, at: str | None = None) -> None:
    side = _SIDES.get(role.lower()) if isinstance(role, str) else None
    if side == "user":
        book.add_prompt(text, at=at)
    elif side == "assistant":
        book.add_answer(text)


def _parsed_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
