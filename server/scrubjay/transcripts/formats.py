"""Reads the turns in the transcripts of all hosts: each format has a function that fills a `Book`.

The formats are internal to the hosts, so lines in an unknown form are skipped. Reading takes linear time,
whatever the lines contain. Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scrubjay.hosts.facts import HOSTS
from scrubjay.transcripts import claude_code
from scrubjay.transcripts.book import Book, instant, joined, words
from scrubjay.transcripts.injected import tagged
from scrubjay.transcripts.json_lines import dicts, mapping, parsed, string

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    from scrubjay.transcripts.turn import Fields

_OLD_FOLDER = "<environment_context>\nCurrent working directory: "  # before Codex used a tag for the folder
_CODEX_OWN = {"subagent", "internal"}  # sources of Codex's sessions without a user; an editor's is `custom`
# Sources of messages in the user's name that are Copilot's own or another agent's.
_COPILOT_SOURCES = ("skill-", "autopilot", "agent-", "system")
_GEMINI_GREETINGS = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")


def turns(lines: Iterable[str | bytes], host: str | None) -> list[Fields]:
    """Read the turns of a transcript in the order of the file; the texts are raw, so the caller redacts them.

    Args:
        lines: the lines of the file, each one JSON object.
        host: its name; a host without a `transcript` in `hosts.json` has no turns.
    """
    facts = HOSTS.get(host or "claude-code", {}).get("transcript")
    if facts is None:
        return []
    book = Book(facts.get("around", ()), has_commands=facts.get("has_commands", False))
    entries = (entry for entry in map(parsed, lines) if isinstance(entry, dict))
    READ[facts["format"]](book, entries)
    return book.close()


def _codex(book: Book, entries: Iterator[Fields]) -> None:
    """Read rollouts of all versions; a prompt is a message, a completed item, a response item, or several.

    If a file has messages or items of the user, its response items in the user's name may be the host's. Up
    to 0.32 all lines were response items. A fork begins with its parent's lines, which all have the time of
    the fork.
    """
    lines, turn_id, time, fork_id, copied_at = list(entries), None, None, None, None
    has_prompts = any(
        mapping(line.get("payload")).get("type") == "user_message"
        or mapping(mapping(line.get("payload")).get("item")).get("type") == "UserMessage"
        for line in lines
    )
    for entry in lines:
        kind, body = entry.get("type"), mapping(entry.get("payload")) or entry
        time = entry.get("timestamp") or time
        if copied_at is not None:
            copied_at = instant(time) if _follows_at_once(instant(time), copied_at) else None
            if copied_at is None:
                book.belongs_to(fork_id)
        if kind in ("turn_context", "event_msg"):
            turn_id = body.get("turn_id") or turn_id
        if kind == "session_meta":
            session_id = body.get("id") or body.get("session_id")
            book.begins(session_id, _CODEX_OWN.isdisjoint(mapping(body.get("source"))))
            book.moved(body.get("cwd"))
            parent_id = body.get("forked_from_id")
            if fork_id is None and isinstance(parent_id, str) and (copied_at := instant(time)):
                fork_id = session_id
                book.belongs_to(parent_id)
        elif kind == "turn_context":
            book.moved(body.get("cwd"))
        elif kind == "event_msg":
            _codex_event(book, body, turn_id, time)
        elif kind == "compacted":
            book.set_recap(body.get("message"))
        elif kind == "response_item" or "payload" not in entry:
            _codex_item(book, body, time, has_prompts=has_prompts, is_bare="payload" not in entry)


def _follows_at_once(at: str | None, other: str) -> bool:
    """Return True if a time is at most a second after another; False if one cannot be read."""
    from datetime import datetime  # takes 2 ms, and only forks need it

    try:
        later, earlier = (datetime.fromisoformat(str(time).replace("Z", "+00:00")) for time in (at, other))
        return (later - earlier).total_seconds() <= 1
    except (TypeError, ValueError):
        return False


def _codex_event(book: Book, body: Fields, turn_id: Any, time: Any) -> None:
    kind, item = body.get("type"), mapping(body.get("item"))
    if kind == "user_message":
        text = words(body.get("message"), body.get("images"), body.get("local_images"))
        book.add_prompt(text, turn_id, None, time)
    elif item.get("type") == "UserMessage":
        book.add_prompt(words(item.get("content")), turn_id, item.get("id"), time)
    elif item.get("type") == "AgentMessage":
        book.add_answer(joined(item.get("content")))
    elif kind == "agent_message":
        book.add_answer(body.get("message"))
    elif kind == "task_complete":
        book.add_answer(body.get("last_agent_message"))
    elif kind == "turn_aborted":
        book.interrupted()
    elif kind == "thread_name_updated":
        book.set_title(body.get("thread_name"))


def _codex_item(book: Book, body: Fields, time: Any, *, has_prompts: bool, is_bare: bool) -> None:
    kind, metadata = body.get("type"), mapping(body.get("internal_chat_message_metadata_passthrough"))
    if kind in (None, "message") and body.get("role") == "user":
        item_kinds = metadata.get("content_item_kinds")
        if is_bare:
            context = joined(body.get("content"))
            book.moved(tagged(context, "cwd") or context.partition(_OLD_FOLDER)[2].partition("\n")[0])
        if has_prompts:
            book.noticed()
        elif not isinstance(item_kinds, list) or "user.text" in item_kinds:
            book.add_prompt(words(body.get("content")), metadata.get("turn_id"), body.get("id"), time)
    elif kind == "message" and body.get("role") == "assistant":
        book.add_answer(joined(body.get("content")))
    elif kind in ("function_call", "custom_tool_call"):
        book.add_tool_call(body.get("name"), _parsed(body.get("arguments")), body.get("call_id"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        book.add_tool_result(body.get("call_id"), body.get("output"))
    elif kind == "local_shell_call":
        book.add_tool_call("shell", mapping(body.get("action")), body.get("call_id"))


def _copilot(book: Book, entries: Iterator[Fields]) -> None:
    """Read the events of Copilot CLI and of Copilot chat in VS Code.

    `content` is the user's text, `transformedContent` the text with what was injected.
    """
    for entry in entries:
        kind, data = entry.get("type"), mapping(entry.get("data"))
        if kind == "session.start":
            book.begins(data.get("sessionId"))
        if kind == "session.title_changed":
            book.set_title(data.get("title"))
        elif kind == "session.compaction_complete":
            book.set_recap(data.get("summaryContent"))
        elif isinstance(kind, str) and kind.startswith("session."):
            book.moved(mapping(data.get("context")).get("cwd") or data.get("cwd"))
        elif entry.get("agentId") or data.get("parentToolCallId"):
            continue  # an event of a subagent, in newer and in older versions
        elif kind == "user.message" and str(data.get("source")).startswith(_COPILOT_SOURCES):
            book.noticed()
        elif kind == "user.message":
            text = words(data.get("content"), data.get("attachments"))
            book.add_prompt(text, None, data.get("messageId") or entry.get("id"), entry.get("timestamp"))
        elif kind == "assistant.message":
            book.add_answer(data.get("content"))
            for request in dicts(data.get("toolRequests")):
                inputs = _parsed(request.get("arguments"))
                book.add_tool_call(request.get("name"), inputs, request.get("toolCallId"))
        elif kind == "tool.execution_start":
            book.add_tool_call(data.get("toolName"), _parsed(data.get("arguments")), data.get("toolCallId"))
        elif kind == "tool.execution_complete":
            failed = data.get("success") is False
            book.add_tool_result(data.get("toolCallId"), data.get("result") or data.get("error"), failed)
        elif kind == "abort":
            book.interrupted()


def _gemini(book: Book, entries: Iterator[Fields]) -> None:
    """Read messages and changes to them.

    A message replaces an earlier one with its id; `$rewindTo` removes its target and all later messages.
    """
    messages: dict[Any, Fields] = {}
    for entry in entries:
        book.set_title(
            mapping(entry.get("$set")).get("summary") or ("sessionId" in entry and entry.get("summary"))
        )
        whole = mapping(entry.get("$set")).get("messages")
        if isinstance(whole, list):
            # These are what the model sees from now on.
            messages.update({_key(message): message for message in dicts(whole)})
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
            book.add_prompt(text, None, message.get("id"), message.get("timestamp"))
        elif message.get("type") == "gemini":
            answer = joined(_without_thoughts(message.get("content")))
            book.add_answer("" if answer in _GEMINI_GREETINGS else answer)
            for call in dicts(message.get("toolCalls")):
                book.add_tool_call(call.get("name"), call.get("args"), call.get("id"))
                book.add_tool_result(call.get("id"), call.get("result"))


def _qwen(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        provenance, parts = entry.get("provenance"), mapping(entry.get("message")).get("parts")
        book.begins(entry.get("sessionId"), not entry.get("isSidechain"))
        book.moved(entry.get("cwd"))
        if entry.get("type") == "user" and provenance in (None, "real_user"):
            text = mapping(entry.get("systemPayload")).get("displayText") or words(parts)
            book.add_prompt(text, None, entry.get("uuid"), entry.get("timestamp"))
        elif entry.get("type") == "user":
            book.noticed()
        elif entry.get("type") == "assistant" and provenance in (None, "assistant_output"):
            book.add_answer(joined(_without_thoughts(parts)))
            for call in (mapping(part.get("functionCall")) for part in dicts(parts)):
                if call:
                    book.add_tool_call(call.get("name"), call.get("args"), call.get("id"))
        elif entry.get("type") == "tool_result":
            for response in (mapping(part.get("functionResponse")) for part in dicts(parts)):
                book.add_tool_result(response.get("id"), response)


def _antigravity(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        kind, step = entry.get("type"), entry.get("step_index")
        if kind == "USER_INPUT" and entry.get("source") in (None, "USER_EXPLICIT"):
            uuid = f"step-{step:g}" if isinstance(step, float) else None
            book.add_prompt(entry.get("content"), None, uuid, entry.get("created_at"))
        elif kind == "PLANNER_RESPONSE" and entry.get("source") in (None, "MODEL"):
            book.add_answer(entry.get("content"))
            for call in dicts(entry.get("tool_calls")):
                book.add_tool_call(call.get("name"), _parsed(call.get("args") or call.get("arguments")))


def _kiro(book: Book, entries: Iterator[Fields]) -> None:
    """Read the lines of Kiro; this was not verified with real files.

    The IDE's lines are events, or have an event as payload. The CLI's lines have a `kind`; the CLI writes an
    answer in pieces, which are joined to one text.
    """
    answer_id = None
    pieces: list[str] = []
    for entry in entries:
        body, data = mapping(entry.get("payload")) or entry, mapping(entry.get("data"))
        kind = body.get("type")
        if "kind" in entry:
            blocks = (block for block in dicts(data.get("content")) if block.get("kind") == "text")
            text = "\n\n".join(string(block.get("data")) for block in blocks)
            if entry["kind"] == "AssistantMessage":
                if answer_id != data.get("message_id"):
                    book.add_answer("".join(pieces))
                    answer_id, pieces = data.get("message_id"), []
                pieces.append(text)
            elif entry["kind"] == "Prompt":
                book.add_answer("".join(pieces))
                pieces = []
                at = mapping(data.get("meta")).get("timestamp")
                pictures = [block for block in dicts(data.get("content")) if block.get("kind") == "image"]
                book.add_prompt(words(text, pictures), None, data.get("message_id"), at)
            continue
        if kind == "user" and not mapping(mapping(body.get("_meta")).get("kiro")).get(
            "syntheticUserMessageReason"
        ):
            book.add_prompt(words(body.get("content")), None, entry.get("id"), entry.get("timestamp"))
        elif kind == "assistant" and body.get("operationType") in (None, "Say"):
            book.add_answer(joined(body.get("content")))
        elif kind == "tool_call":
            book.add_tool_call(body.get("toolName"), body.get("args"))
    book.add_answer("".join(pieces))


def _cursor(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        content = mapping(entry.get("message")).get("content") or entry.get("content")
        if entry.get("role") == "user":
            for block in dicts(content):
                if block.get("type") == "tool_result":
                    call_id, is_error = block.get("tool_use_id"), block.get("is_error")
                    book.add_tool_result(call_id, block.get("content"), is_error)
            book.add_prompt(words(content), None, entry.get("id"), entry.get("timestamp") or entry.get("ts"))
        elif entry.get("role") == "assistant":
            book.add_answer(joined(content))
            for block in dicts(content):
                if block.get("type") == "tool_use":
                    book.add_tool_call(block.get("name"), block.get("input"), block.get("id"))


READ = {
    "claude-code": claude_code.read,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "qwen": _qwen,
    "antigravity": _antigravity,
    "kiro": _kiro,
    "cursor": _cursor,
}


def _parsed(arguments: Any) -> Any:
    """Return the arguments of a tool call; some hosts write them as JSON in a string."""
    return parsed(arguments) if isinstance(arguments, str) else arguments


def _key(message: Fields) -> Any:
    """Return a message's id, or a unique one if it has none."""
    identifier = message.get("id")
    return identifier if isinstance(identifier, str) else id(message)


def _without_thoughts(content: Any) -> Any:
    """Remove the model's thoughts from the content of a Gemini message."""
    parts = [content] if isinstance(content, dict) else content
    return [part for part in dicts(parts) if not part.get("thought")] if isinstance(parts, list) else parts
