"""Reads exported conversations of other programs as turns: a prompt and everything answered to it.

There are three formats: Claude Code's lines, ChatGPT's `conversations.json`, and plain text with the speaker
before each part.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

from scrubjay.histories.exports import branch
from scrubjay.models.fields import parse_instant
from scrubjay.redaction.redact import redact
from scrubjay.transcripts.claude_code import turns as transcript_turns
from scrubjay.transcripts.turn import fields_of

Format = Literal["claude_code", "chatgpt", "plain"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SIDE = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_MARKED = re.compile(r"^(user|human|assistant|ai|system)\s*:[ \t]*(.*)$", re.IGNORECASE)
_LONGEST_ID = 200


@dataclass(frozen=True)
class Exchange:
    """One turn; `turn` is its number in its session, from 0.

    `session_id` and `prompt_id` are None if the export names none.
    """

    session_id: str | None
    turn: int
    prompt_id: str | None = None
    user: str | None = None
    assistant: str | None = None
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    started_at: datetime | None = None


@dataclass(frozen=True)
class Export:
    """The turns of an export, and sentences about what could not be read."""

    format: Format
    turns: list[Exchange]
    warnings: list[str] = field(default_factory=list)


class _Message(NamedTuple):
    side: str | None  # user, assistant, or None for what neither of them said
    text: str
    id: str | None = None
    at: datetime | None = None


def read(text: str, kind: Format | None = None) -> Export:
    """Read the turns of an export; without a format, in the one that it looks like."""
    return _READERS[kind or detect(text)](text)


def detect(text: str) -> Format:
    """Return the format that a text looks like; plain, if it looks like no other."""
    stripped = text.strip()
    first = _json(stripped.split("\n", 1)[0])
    if isinstance(first, dict) and ("type" in first or "role" in first):
        return "claude_code"
    whole = _json(stripped) if stripped[:1] in ("{", "[") else None
    conversation = whole[0] if isinstance(whole, list) and whole else whole
    return "chatgpt" if isinstance(conversation, dict) and "mapping" in conversation else "plain"


def _claude_code(text: str) -> Export:
    lines = [line for line in text.splitlines() if line.strip()]
    entries = [entry for line in lines if isinstance(entry := _json(line), dict)]
    passed_over = len(lines) - len(entries)
    warnings = [f"{passed_over} lines are no JSON objects and were passed over."] if passed_over else []
    turns = [
        Exchange(
            session_id=_id(turn["session_id"]),
            turn=0,
            prompt_id=_id(turn["prompt_id"] or turn["uuid"]),
            user="\n\n".join(turn["prompts"]),
            assistant=turn["assistant"] or None,
            tools=tuple(turn["tools"]),
            files=tuple(turn["files"]),
            metadata=fields_of(turn, lambda said: redact(said)[0]).get("metadata", {}),
            started_at=_instant(turn["started_at"]),
        )
        for turn in transcript_turns(lines)
    ]
    return Export("claude_code", _number(turns or _by_role(entries)), warnings)


def _by_role(entries: list[dict[str, Any]]) -> list[Exchange]:
    """Read lines that say only who said what: {"role" or "type", "content", "timestamp", "session_id"}."""
    sessions: dict[str | None, list[_Message]] = {}
    session: str | None = None
    for entry in entries:
        session = _id(entry.get("session_id") or entry.get("conversation_id")) or session
        text = _text(entry.get("content"))
        role = entry.get("role") or entry.get("type")
        if text and isinstance(role, str):
            at = _instant(entry.get("timestamp") or entry.get("created_at"))
            sessions.setdefault(session, []).append(_Message(_SIDE.get(role.lower()), text, at=at))
    return [turn for session, messages in sessions.items() for turn in _pair(session, messages)]


def _chatgpt(text: str) -> Export:
    whole = _json(text)
    every = whole if isinstance(whole, list) else [whole]
    conversations = [each for each in every if isinstance(each, dict)]
    turns: list[Exchange] = []
    for conversation in conversations:
        mapping = conversation.get("mapping")
        session = _id(conversation.get("id") or conversation.get("conversation_id"))
        if isinstance(mapping, dict):
            nodes = {node_id: node for node_id, node in mapping.items() if isinstance(node, dict)}
            shown = branch(nodes, conversation.get("current_node"))
            turns += _pair(session, filter(None, (_message(node.get("message")) for node in shown)))
    warnings = [] if conversations else ["The text is no JSON of conversations, so nothing was read of it."]
    return Export("chatgpt", _number(turns), warnings)


def _message(message: object) -> _Message | None:
    if not isinstance(message, dict):
        return None
    author, content, at = message.get("author"), message.get("content"), message.get("create_time")
    role = author.get("role") if isinstance(author, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    texts = (
        [part for part in parts if isinstance(part, str) and part.strip()] if isinstance(parts, list) else []
    )
    if not texts or not isinstance(role, str):
        return None
    return _Message(_SIDE.get(role), "\n\n".join(texts), _id(message.get("id")), _epoch(at))


def _plain(text: str) -> Export:
    """Read text with a speaker before each part, or with `> ` before each line of a prompt, or one prompt."""
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
    turns = _number(_pair(None, [each._replace(text=each.text.strip()) for each in messages]))
    alone = len(messages) == 1 and turns
    warnings = ["The text names no speakers, so all of it became one prompt."] if alone else []
    return Export("plain", turns, warnings)


_READERS = {"claude_code": _claude_code, "chatgpt": _chatgpt, "plain": _plain}


def _continue(messages: list[_Message], side: str, line: str) -> None:
    """Add a line to the last message, or to a first one of this side."""
    if messages:
        messages[-1] = messages[-1]._replace(text=f"{messages[-1].text}\n{line}")
    elif line.strip():
        messages.append(_Message(side, line))


def _pair(session: str | None, messages: Iterable[_Message]) -> list[Exchange]:
    """Make turns of messages: each prompt with its answers; a prompt without any goes with the next one."""
    turns: list[Exchange] = []
    for message in messages:
        if message.side is None or not message.text:
            continue
        last = turns[-1] if turns else None
        if message.side == "user" and (last is None or last.assistant is not None):
            turns.append(Exchange(session, 0, message.id, user=message.text, started_at=message.at))
        elif last is None:
            turns.append(Exchange(session, 0, message.id, assistant=message.text, started_at=message.at))
        else:
            before = last.user if message.side == "user" else last.assistant
            text = message.text if before is None else f"{before}\n\n{message.text}"
            turns[-1] = replace(last, user=text) if message.side == "user" else replace(last, assistant=text)
    return turns


def _number(turns: Iterable[Exchange]) -> list[Exchange]:
    """Give the turns their numbers in their sessions."""
    numbered: list[Exchange] = []
    counts: dict[str | None, int] = {}
    for turn in turns:
        number = counts.get(turn.session_id, 0)
        counts[turn.session_id] = number + 1
        numbered.append(replace(turn, turn=number))
    return numbered


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(content: object) -> str:
    """Return a message's text; a list of blocks is joined."""
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "\n\n".join(text for text in texts if isinstance(text, str)).strip()


def _id(value: object) -> str | None:
    usable = isinstance(value, str) and value.strip() and len(value) <= _LONGEST_ID and "\x00" not in value
    return str(value) if usable else None


def _instant(value: object) -> datetime | None:
    """Return a time, or None for anything else."""
    try:
        return parse_instant(value) if isinstance(value, str) else _epoch(value)
    except ValueError:
        return None


def _epoch(value: object) -> datetime | None:
    if not isinstance(value, int | float) or value <= 0:
        return None
    try:
        moment: datetime = parse_instant(datetime.fromtimestamp(value, UTC))
    except (ValueError, OverflowError, OSError):
        return None
    return moment
