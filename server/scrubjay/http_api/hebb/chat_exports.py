"""Conversations as other programs export them, as turns: a user's words and everything answered to them. Knows three formats: Claude Code's
lines, ChatGPT's `conversations.json`, and plain text with the speaker before each part. Knows no store and no clock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

from scrubjay.models.fields import parse_instant
from scrubjay.text.transcripts import turns as transcript_turns

Format = Literal["claude_code", "chatgpt", "plain"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SIDE = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_MARKED = re.compile(r"^(user|human|assistant|ai|system)\s*:[ \t]*(.*)$", re.IGNORECASE)
_LONGEST_ID = 200


@dataclass(frozen=True)
class Exchange:
    """One turn. `session_id` and `prompt_id` are None where the export names none; `turn` counts the turns of its session from 0."""

    session_id: str | None
    turn: int
    prompt_id: str | None = None
    user: str | None = None
    assistant: str | None = None
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    started_at: datetime | None = None


@dataclass(frozen=True)
class Export:
    """What was read, and what was not, in sentences."""

    format: Format
    turns: list[Exchange]
    warnings: list[str] = field(default_factory=list)


class _Message(NamedTuple):
    side: str | None  # user, assistant, or None for what neither of them said
    text: str
    id: str | None = None
    at: datetime | None = None


def read(text: str, format: Format | None = None) -> Export:
    """The turns of an export; without a format, the one that it looks like."""
    format = format or detect(text)
    if format == "claude_code":
        return _claude_code(text)
    return _chatgpt(text) if format == "chatgpt" else _plain(text)


def detect(text: str) -> Format:
    """Which format a text looks like; plain, where it looks like nothing else."""
    stripped = text.strip()
    first = _json(stripped.split("\n", 1)[0])
    if isinstance(first, dict) and ("type" in first or "role" in first):
        return "claude_code"
    whole = _json(stripped) if stripped[:1] in ("{", "[") else None
    some = whole[0] if isinstance(whole, list) and whole else whole
    return "chatgpt" if isinstance(some, dict) and "mapping" in some else "plain"


def _claude_code(text: str) -> Export:
    lines = [line for line in text.splitlines() if line.strip()]
    entries = [entry for line in lines if isinstance(entry := _json(line), dict)]
    warnings = (
        [f"{len(lines) - len(entries)} lines are no JSON objects and were passed over."]
        if len(entries) < len(lines)
        else []
    )
    known = [
        Exchange(
            session_id=_id(turn["session_id"]),
            turn=0,
            prompt_id=_id(turn["prompt_id"] or turn["uuid"]),
            user=turn["user"],
            assistant=turn["assistant"] or None,
            tools=tuple(turn["tools"]),
            files=tuple(turn["files"]),
            started_at=_instant(turn["started_at"]),
        )
        for turn in transcript_turns(lines)
    ]
    return Export("claude_code", _numbered(known or _by_role(entries)), warnings)


def _by_role(entries: list[dict[str, Any]]) -> list[Exchange]:
    """Lines that say only who said what: {"role" or "type", "content", "timestamp", "session_id"}."""
    sessions: dict[str | None, list[_Message]] = {}
    session: str | None = None
    for entry in entries:
        session = _id(entry.get("session_id") or entry.get("conversation_id")) or session
        said = _text(entry.get("content"))
        role = entry.get("role") or entry.get("type")
        if said and isinstance(role, str):
            at = _instant(entry.get("timestamp") or entry.get("created_at"))
            sessions.setdefault(session, []).append(_Message(_SIDE.get(role.lower()), said, at=at))
    return [turn for session, messages in sessions.items() for turn in _paired(session, messages)]


def _chatgpt(text: str) -> Export:
    whole = _json(text)
    conversations = [
        each for each in (whole if isinstance(whole, list) else [whole]) if isinstance(each, dict)
    ]
    found: list[Exchange] = []
    for conversation in conversations:
        mapping = conversation.get("mapping")
        session = _id(conversation.get("id") or conversation.get("conversation_id"))
        if isinstance(mapping, dict):
            nodes = {id: node for id, node in mapping.items() if isinstance(node, dict)}
            messages = [
                made
                for node in _branch(nodes, conversation.get("current_node"))
                if (made := _message(node.get("message")))
            ]
            found += _paired(session, messages)
    warnings = [] if conversations else ["The text is no JSON of conversations, so nothing was read of it."]
    return Export("chatgpt", _numbered(found), warnings)


def _branch(nodes: Mapping[str, dict[str, Any]], last: object) -> list[dict[str, Any]]:
    """The nodes that lead to the last one, in order; all of them by time, where the export does not say which is last."""
    way: dict[str, dict[str, Any]] = {}
    while isinstance(last, str) and last in nodes and last not in way:
        way[last] = nodes[last]
        last = nodes[last].get("parent")
    return list(way.values())[::-1] or sorted(nodes.values(), key=_created)


def _created(node: dict[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _message(message: object) -> _Message | None:
    if not isinstance(message, dict):
        return None
    author, content, at = message.get("author"), message.get("content"), message.get("create_time")
    role = author.get("role") if isinstance(author, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    said = (
        "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())
        if isinstance(parts, list)
        else ""
    )
    if not said or not isinstance(role, str):
        return None
    return _Message(_SIDE.get(role), said, _id(message.get("id")), _epoch(at))


def _plain(text: str) -> Export:
    """Text with a speaker before each part; else `> ` before each line of a prompt; else all of it is one prompt."""
    lines = text.splitlines()
    messages: list[_Message] = []
    if any(_MARKED.match(line) for line in lines):
        for line in lines:
            if marked := _MARKED.match(line):
                messages.append(_Message(_SIDE.get(marked[1].lower()), marked[2]))
            else:
                _continue(messages, "user", line)
    elif any(line.startswith("> ") for line in lines):
        for line in lines:
            side = "user" if line.startswith("> ") else "assistant"
            if messages and messages[-1].side != side and line.strip():
                messages.append(_Message(side, line.removeprefix("> ")))
            else:
                _continue(messages, side, line.removeprefix("> "))
    else:
        messages.append(_Message("user", text))
    found = _numbered(_paired(None, [each._replace(text=each.text.strip()) for each in messages]))
    alone = len(messages) == 1 and found
    return Export(
        "plain", found, ["Nothing says who said what, so all of it was taken as one prompt."] if alone else []
    )


def _continue(messages: list[_Message], side: str, line: str) -> None:
    """Add a line to the last message, or to a first one of this side."""
    if messages:
        messages[-1] = messages[-1]._replace(text=f"{messages[-1].text}\n{line}")
    elif line.strip():
        messages.append(_Message(side, line))


def _paired(session: str | None, messages: Iterable[_Message]) -> list[Exchange]:
    """Turns out of messages: each prompt with all that was answered to it; prompts that nothing answered go with the next one."""
    found: list[Exchange] = []
    for message in messages:
        if message.side is None or not message.text:
            continue
        last = found[-1] if found else None
        if message.side == "user" and (last is None or last.assistant is not None):
            found.append(Exchange(session, 0, message.id, user=message.text, started_at=message.at))
        elif last is None:
            found.append(Exchange(session, 0, message.id, assistant=message.text, started_at=message.at))
        else:
            before = last.user if message.side == "user" else last.assistant
            text = message.text if before is None else f"{before}\n\n{message.text}"
            found[-1] = replace(last, user=text) if message.side == "user" else replace(last, assistant=text)
    return found


def _numbered(turns: Iterable[Exchange]) -> list[Exchange]:
    """The turns with their numbers in their sessions."""
    found: list[Exchange] = []
    counts: dict[str | None, int] = {}
    for turn in turns:
        number = counts.get(turn.session_id, 0)
        counts[turn.session_id] = number + 1
        found.append(replace(turn, turn=number))
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(content: object) -> str:
    """A message's text; a list of blocks is joined."""
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "\n\n".join(text for text in texts if isinstance(text, str)).strip()


def _id(value: object) -> str | None:
    return (
        value
        if isinstance(value, str) and value.strip() and len(value) <= _LONGEST_ID and "\x00" not in value
        else None
    )


def _instant(value: object) -> datetime | None:
    """A time as it was written, or None where it says none that we read."""
    try:
        return parse_instant(value) if isinstance(value, str) else _epoch(value)
    except ValueError:
        return None


def _epoch(value: object) -> datetime | None:
    try:
        return (
            parse_instant(datetime.fromtimestamp(value, UTC))
            if isinstance(value, int | float) and value > 0
            else None
        )
    except (ValueError, OverflowError, OSError):
        return None
