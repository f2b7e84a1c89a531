"""Reads the lines of Claude Code's transcripts.

The file lags behind: the end of a turn may be missing while the host's Stop hook runs. Standard library only,
Python 3.9 syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scrubjay.transcripts.book import Book, joined
from scrubjay.transcripts.injected import INTERRUPTED, is_from_others, is_said, strip_injected, tagged
from scrubjay.transcripts.json_lines import dicts, mapping, string
from scrubjay.transcripts.turn import IMAGE

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from scrubjay.transcripts.turn import Fields

# `agentName` names a teammate; the prompts in its transcript are its lead's.
_NOT_CONVERSATION = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "agentName")
# Types of lines with a title, and the title's key: from older versions, the model, and the user (preferred).
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
# The first words of what the host adds after a summary: where the transcript is, and what the model is to do.
_AFTER_RECAP = re.compile(
    r"\n(?:If you need specific details from before|(?:Please c|C)ontinue the conversation from where)"
)
_PLAN = "ExitPlanMode"  # the tool that shows the user the plan, which is in no text of the assistant


def read(book: Book, entries: Iterable[Fields]) -> None:
    """Add a transcript's lines between the user and the main assistant; abandoned branches are turns too."""
    titles: dict[str, object] = {}
    shell_lines: list[str] = []  # commands that the user ran since the last prompt
    for entry, is_orphan in _conversation(entries):
        kind = entry["type"]
        if kind in _TITLES:
            titles[kind] = entry.get(_TITLES[kind])
        elif entry.get("isCompactSummary"):
            book.set_recap(_recap(entry))
        elif kind == "user" and not _is_from_user(entry):
            book.noticed()
        else:
            book.moved(entry.get("cwd"))
            if kind == "assistant":
                if is_orphan:  # it may answer a line that was not read
                    book.noticed()
                _add_answer(book, entry)
            else:
                _add_user_line(book, entry, shell_lines)
            book.note_time(entry.get("timestamp"))
    for kind in _TITLES:
        book.set_title(titles.get(kind))


def _conversation(entries: Iterable[Fields]) -> Iterator[tuple[Fields, bool]]:
    """Yield the lines of the conversation, its titles and its summaries, each once.

    Other notes, subagents and `summary` lines of other sessions (which name a line of that session) are left
    out. Each entry comes with a flag: True if its parent line is missing.
    """
    seen: set[str] = set()
    for entry in entries:
        kind, uuid, leaf = string(entry.get("type")), string(entry.get("uuid")), entry.get("leafUuid")
        if uuid in seen:
            continue
        if uuid:
            seen.add(uuid)
        is_own_title = kind in _TITLES and (leaf is None or string(leaf) in seen)
        if is_own_title or (entry.get("isCompactSummary") and kind == "user"):
            if not entry.get("isSidechain"):
                yield entry, False
        elif any(map(entry.get, _NOT_CONVERSATION)):
            continue
        elif kind in ("user", "assistant") or _is_queued(entry):
            parent = string(entry.get("parentUuid"))
            yield entry, bool(parent) and parent not in seen


def _recap(entry: Fields) -> str:
    """Return the host's summary of a session whose context was full, without what the host adds around it."""
    text = _AFTER_RECAP.split("\n".join(_texts(entry)[0]))[0].rstrip()
    recap = text.partition("Summary:\n")[2] or text
    return recap if is_said(recap) else recap.partition("\n\n")[2].strip() or recap


def _is_queued(entry: Fields) -> bool:
    """Return True for a prompt typed while the assistant worked, which no hook and no other line has."""
    note = mapping(entry.get("attachment"))
    if entry.get("type") != "attachment" or note.get("isMeta") or not _is_from_user(note):
        return False
    return note.get("type") == "queued_command" and note.get("commandMode") in (None, "prompt")


def _is_from_user(entry: Fields) -> bool:
    """Return True if an entry is from the user or does not name its origin."""
    origin = entry.get("origin")
    return (origin.get("kind") if isinstance(origin, dict) else origin) in (None, "human")


def _blocks(entry: Fields) -> list[Fields]:
    """Return the content blocks of a message; a bare string is one text block."""
    content = mapping(entry.get("message")).get("content")
    if entry["type"] == "attachment":
        content = mapping(entry.get("attachment")).get("prompt")
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)


def _texts(entry: Fields) -> tuple[list[str], list[str]]:
    """Return the texts of a message without what hosts added, and the texts of its tools' results."""
    texts, results = [], []
    for block in _blocks(entry):
        if block.get("type") == "tool_result":
            results.append(joined(block.get("content")).strip())
        elif block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(strip_injected(block["text"]))
    texts = list(filter(None, texts))
    if not texts and any(block.get("type") in ("image", "document") for block in _blocks(entry)):
        texts = [IMAGE]
    return texts, results


def _as_typed(text: str) -> str:
    """Return a prompt as it was typed; the host writes a slash command in tags."""
    if not text.startswith("<command-"):
        return text
    return f"{tagged(text, 'command-name')} {tagged(text, 'command-args')}".strip() or text


def _add_answer(book: Book, entry: Fields) -> None:
    if entry.get("isApiErrorMessage"):
        book.failed()
        return
    if mapping(entry.get("message")).get("model") == "<synthetic>":
        return  # the host's own words
    for block in _blocks(entry):
        if block.get("type") == "text":
            book.add_answer(block.get("text"))
        elif block.get("type") == "tool_use":
            inputs = mapping(block.get("input"))
            if block.get("name") == _PLAN:
                book.add_answer(inputs.get("plan"))
            book.add_tool_call(block.get("name"), inputs, block.get("id"))


def _add_user_line(book: Book, entry: Fields, shell_lines: list[str]) -> None:
    """Add a prompt, or what the user did during a turn: interrupt it, queue a prompt, or answer a tool."""
    texts, results = _texts(entry)
    if is_from_others(strip_injected("\n\n".join(texts))):
        book.noticed()
        return
    if any(text in INTERRUPTED for text in (*texts, *results)):
        book.interrupted()
    answers = _answers(entry)
    for block in () if answers else _blocks(entry):
        if block.get("type") == "tool_result":
            call_id, is_error = block.get("tool_use_id"), block.get("is_error") is True
            book.add_tool_result(call_id, block.get("content"), is_error)
    shell_lines += [tagged(text, "bash-input") for text in texts if text.startswith("<bash-input>")]
    prompt = _as_typed("\n\n".join(text for text in texts if is_said(text)))
    for reply in [prompt] if entry["type"] == "attachment" else answers:
        book.add_reply(reply)
    if prompt and not results and entry["type"] != "attachment":
        # A line that a fork copied names the original line.
        source = mapping(entry.get("forkedFrom"))
        book.belongs_to(source.get("sessionId") or entry.get("sessionId"))
        uuid = source.get("messageUuid") or entry.get("uuid")
        if book.add_prompt(prompt, entry.get("promptId"), uuid, entry.get("timestamp")):
            while shell_lines:
                book.add_tool_call(None, {"command": shell_lines.pop(0)})


def _answers(entry: Fields) -> list[str]:
    """Return the user's answers to the assistant's questions, each with its question."""
    details = mapping(entry.get("toolUseResult"))
    notes = mapping(details.get("annotations"))
    replies = []
    for question, answer in mapping(details.get("answers")).items():
        chosen = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
        note = string(mapping(notes.get(question)).get("notes"))
        replies.append(" ".join(filter(None, (question, chosen, note))))
    return replies
