"""The turns in every host's transcripts: a function for each format tells a `Book` what its lines say.

`claude_code` reads Claude Code's lines; the turns here are the same dicts. The formats are internal to the
hosts, so lines that are not understood are skipped. The time is linear in the lines, whatever they contain.
Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scrubjay.hosts.facts import HOSTS
from scrubjay.transcripts import claude_code
from scrubjay.transcripts.book import Book, instant, joined, words
from scrubjay.transcripts.injected import tagged
from scrubjay.transcripts.json_lines import dicts, mapping, parsed
from scrubjay.transcripts.matching import follows_at_once
from scrubjay.transcripts.turn import IMAGE

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    from scrubjay.transcripts.turn import Fields

_COPILOTS_OWN = ("skill-", "autopilot")  # sources of messages in the user's name
_GEMINIS_OWN = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")


def turns(lines: Iterable[str | bytes], host: str | None) -> list[Fields]:
    """Read the turns of a host's transcript, in its order, as `claude_code.turns` returns them.

    Args:
        lines: the lines of the file.
        host: its name; a host without a `transcript` in `hosts.json` has no turns.
    """
    facts = HOSTS.get(host or "claude-code", {}).get("transcript")
    if facts is None:
        return []
    if facts["format"] == "claude-code":
        return claude_code.turns(lines)
    book = Book(tuple(facts.get("around", ())))  # the tags around what was said
    READ[facts["format"]](book, _objects(lines))
    return book.close()


def _codex(book: Book, entries: Iterator[Fields]) -> None:
    """Rollouts of all ages: prompts are messages, completed items, response items, or several of these.

    If there are messages or items of the user, response items in their name may be the host's. Up to 0.32
    all lines were response items. A fork begins with its parent's lines, all written at the moment of the
    fork.
    """
    lines, turn_id, at, own, copied_at = list(entries), None, None, None, None
    has_prompts = any(
        mapping(each.get("payload")).get("type") == "user_message"
        or mapping(mapping(each.get("payload")).get("item")).get("type") == "UserMessage"
        for each in lines
    )
    for entry in lines:
        kind, body = entry.get("type"), mapping(entry.get("payload")) or entry
        at = entry.get("timestamp") or at
        if copied_at is not None:
            copied_at = instant(at) if follows_at_once(instant(at), copied_at) else None
            if copied_at is None:
                book.belongs_to(own)
        if kind in ("turn_context", "event_msg"):
            turn_id = body.get("turn_id") or turn_id
        if kind == "session_meta":
            session_id = body.get("id") or body.get("session_id")
            book.begins(session_id, not isinstance(body.get("source"), dict))
            book.moved(body.get("cwd"))
            if own is None and isinstance(body.get("forked_from_id"), str) and (copied_at := instant(at)):
                own = session_id
                book.belongs_to(body["forked_from_id"])
        elif kind == "turn_context":
            book.moved(body.get("cwd"))
        elif kind == "event_msg":
            _codex_event(book, body, turn_id, at)
        elif kind == "compacted":
            book.recapped(body.get("message"))
        elif kind == "response_item" or "payload" not in entry:
            _codex_item(book, body, at, has_prompts=has_prompts, is_bare="payload" not in entry)


def _codex_event(book: Book, body: Fields, turn_id: Any, at: Any) -> None:
    kind, item = body.get("type"), mapping(body.get("item"))
    if kind == "user_message":
        has_picture = body.get("images") or body.get("local_images")
        book.said(body.get("message") or (IMAGE if has_picture else ""), turn_id, None, at)
    elif item.get("type") == "UserMessage":
        book.said(words(item.get("content")), turn_id, item.get("id"), at)
    elif item.get("type") == "AgentMessage":
        book.answered(joined(item.get("content")))
    elif kind == "agent_message":
        book.answered(body.get("message"))
    elif kind == "task_complete":
        book.answered(body.get("last_agent_message"))
    elif kind == "turn_aborted":
        book.interrupted()
    elif kind == "thread_name_updated":
        book.titled(body.get("thread_name"))


def _codex_item(book: Book, body: Fields, at: Any, *, has_prompts: bool, is_bare: bool) -> None:
    kind, about = body.get("type"), mapping(body.get("internal_chat_message_metadata_passthrough"))
    if kind in (None, "message") and body.get("role") == "user":
        kinds = about.get("content_item_kinds")
        if is_bare:
            book.moved(tagged(joined(body.get("content")), "cwd"))
        if has_prompts:
            book.noticed()
        elif not isinstance(kinds, list) or "user.text" in kinds:
            book.said(words(body.get("content")), about.get("turn_id"), body.get("id"), at)
    elif kind == "message" and body.get("role") == "assistant":
        book.answered(joined(body.get("content")))
    elif kind in ("function_call", "custom_tool_call"):
        book.used(body.get("name"), _parsed(body.get("arguments")), body.get("call_id"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        book.returned(body.get("call_id"), body.get("output"))
    elif kind == "local_shell_call":
        book.used("shell", mapping(body.get("action")), body.get("call_id"))


def _copilot(book: Book, entries: Iterator[Fields]) -> None:
    """Events of Copilot CLI, and of Copilot chat in VS Code; `transformedContent` has what was injected."""
    for entry in entries:
        kind, data = entry.get("type"), mapping(entry.get("data"))
        if kind == "session.start":
            book.begins(data.get("sessionId"))
        if kind == "session.title_changed":
            book.titled(data.get("title"))
        elif kind == "session.compaction_complete":
            book.recapped(data.get("summaryContent"))
        elif isinstance(kind, str) and kind.startswith("session."):
            book.moved(mapping(data.get("context")).get("cwd") or data.get("cwd"))
        elif data.get("parentToolCallId"):
            continue  # a subagent's
        elif kind == "user.message" and str(data.get("source")).startswith(_COPILOTS_OWN):
            book.noticed()
        elif kind == "user.message":
            said = data.get("content") or (IMAGE if data.get("attachments") else "")
            book.said(said, None, data.get("messageId") or entry.get("id"), entry.get("timestamp"))
        elif kind == "assistant.message":
            book.answered(data.get("content"))
            for request in dicts(data.get("toolRequests")):
                book.used(request.get("name"), _parsed(request.get("arguments")), request.get("toolCallId"))
        elif kind == "tool.execution_start":
            book.used(data.get("toolName"), _parsed(data.get("arguments")), data.get("toolCallId"))
        elif kind == "tool.execution_complete":
            failed = data.get("success") is False
            book.returned(data.get("toolCallId"), data.get("result") or data.get("error"), failed)
        elif kind == "abort":
            book.interrupted()


def _gemini(book: Book, entries: Iterator[Fields]) -> None:
    """Messages and what became of them: the same id replaces, `$rewindTo` takes back, its target included."""
    messages: dict[Any, Fields] = {}
    for entry in entries:
        book.titled(
            mapping(entry.get("$set")).get("summary") or ("sessionId" in entry and entry.get("summary"))
        )
        whole = mapping(entry.get("$set")).get("messages")
        if isinstance(whole, list):
            messages.update({_key(each): each for each in dicts(whole)})  # what the model sees from now on
        elif "$rewindTo" in entry:
            target = entry["$rewindTo"]
            while isinstance(target, str) and target in messages:
                messages.popitem()
        elif "sessionId" in entry:
            book.begins(entry.get("sessionId"), entry.get("kind") in (None, "main"))
        elif "id" in entry:
            messages[_key(entry)] = entry
    for message in messages.values():
        if message.get("type") == "user":
            text = joined(message.get("displayContent")) or words(message.get("content"))
            book.said(text, None, message.get("id"), message.get("timestamp"))
        elif message.get("type") == "gemini":
            answer = joined(_unthought(message.get("content")))
            book.answered("" if answer in _GEMINIS_OWN else answer)
            for call in dicts(message.get("toolCalls")):
                book.used(call.get("name"), call.get("args"), call.get("id"))
                book.returned(call.get("id"), call.get("result"))


def _qwen(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        about, parts = entry.get("provenance"), mapping(entry.get("message")).get("parts")
        book.begins(entry.get("sessionId"), not entry.get("isSidechain"))
        book.moved(entry.get("cwd"))
        if entry.get("type") == "user" and about in (None, "real_user"):
            text = mapping(entry.get("systemPayload")).get("displayText") or words(parts)
            book.said(text, None, entry.get("uuid"), entry.get("timestamp"))
        elif entry.get("type") == "assistant" and about in (None, "assistant_output"):
            book.answered(joined(_unthought(parts)))
            for call in (mapping(part.get("functionCall")) for part in dicts(parts)):
                if call:
                    book.used(call.get("name"), call.get("args"), call.get("id"))
        elif entry.get("type") == "tool_result":
            for given in (mapping(part.get("functionResponse")) for part in dicts(parts)):
                book.returned(given.get("id"), given)


def _antigravity(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        kind, step = entry.get("type"), entry.get("step_index")
        if kind == "USER_INPUT" and entry.get("source") in (None, "USER_EXPLICIT"):
            uuid = f"step-{step:g}" if isinstance(step, float) else None
            book.said(entry.get("content"), None, uuid, entry.get("created_at"))
        elif kind == "PLANNER_RESPONSE" and entry.get("source") in (None, "MODEL"):
            book.answered(entry.get("content"))
            for call in dicts(entry.get("tool_calls")):
                book.used(call.get("name"), _parsed(call.get("args") or call.get("arguments")))


def _kiro(book: Book, entries: Iterator[Fields]) -> None:
    """Not verified on real ones: the IDE's line is an event or holds it as payload, the CLI has others.

    The CLI writes an answer in pieces, which are one text.
    """
    answer_id = None
    pieces: list[str] = []
    for entry in entries:
        body, data = mapping(entry.get("payload")) or entry, mapping(entry.get("data"))
        kind = body.get("type")
        if "kind" in entry:
            said = "\n\n".join(each["data"] for each in dicts(data.get("content")) if _is_text(each))
            if entry["kind"] == "AssistantMessage":
                if answer_id != data.get("message_id"):
                    book.answered("".join(pieces))
                    answer_id, pieces = data.get("message_id"), []
                pieces.append(said)
            elif entry["kind"] == "Prompt":
                book.answered("".join(pieces))
                pieces = []
                seconds = mapping(data.get("meta")).get("timestamp")
                at = seconds * 1000 if isinstance(seconds, float) else None
                book.said(said, None, data.get("message_id"), at)
            continue
        if kind == "user" and not mapping(mapping(body.get("_meta")).get("kiro")).get(
            "syntheticUserMessageReason"
        ):
            book.said(joined(body.get("content")), None, entry.get("id"), entry.get("timestamp"))
        elif kind == "assistant" and body.get("operationType") in (None, "Say"):
            book.answered(joined(body.get("content")))
        elif kind == "tool_call":
            book.used(body.get("toolName"), body.get("args"))
    book.answered("".join(pieces))


def _is_text(block: Fields) -> bool:
    """Return True if a block of Kiro's CLI has text."""
    return block.get("kind") == "text" and isinstance(block.get("data"), str)


def _cursor(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        content = mapping(entry.get("message")).get("content") or entry.get("content")
        if entry.get("role") == "user":
            for block in dicts(content):
                if block.get("type") == "tool_result":
                    book.returned(block.get("tool_use_id"), block.get("content"), block.get("is_error"))
            book.said(words(content), None, entry.get("id"), entry.get("timestamp") or entry.get("ts"))
        elif entry.get("role") == "assistant":
            book.answered(joined(content))
            for block in dicts(content):
                if block.get("type") == "tool_use":
                    book.used(block.get("name"), block.get("input"), block.get("id"))


READ = {
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "qwen": _qwen,
    "antigravity": _antigravity,
    "kiro": _kiro,
    "cursor": _cursor,
}


def _objects(lines: Iterable[str | bytes]) -> Iterator[Fields]:
    """Return the objects in the lines; a host may still be writing the last line."""
    for line in lines:
        entry = parsed(line)
        if isinstance(entry, dict):
            yield entry


def _parsed(arguments: Any) -> Any:
    """Return a tool's arguments, which some hosts write as JSON in a string."""
    return parsed(arguments) if isinstance(arguments, str) else arguments


def _key(message: Fields) -> Any:
    """Return a message's id, or a unique one if it has none."""
    identifier = message.get("id")
    return identifier if isinstance(identifier, str) else id(message)


def _unthought(content: Any) -> Any:
    """Return a content of Gemini without the model's thinking."""
    parts = [content] if isinstance(content, dict) else content
    return [each for each in dicts(parts) if not each.get("thought")] if isinstance(parts, list) else parts
