"""The turns in every host's transcripts: a function for each format tells a `Book` what its lines say.

`transcripts` knows Claude Code's lines, and what a turn is; the turns here are the same dicts. The formats
are internal to the hosts, so what is not understood is passed over. Left out are subagents, what tools
returned, what the model thought, and whatever was put beside the user's words: hosts' contexts and our own.
The time is linear in the lines, whatever stands in them. Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator

from scrubjay.text import transcripts
from scrubjay.text.transcripts import (
    add_command,
    is_of_others,
    is_said,
    new_turn,
    once,
    parsed,
    strip_injected,
)

TYPE_CHECKING = False  # as in typing, which hooks do not wait for
if TYPE_CHECKING:
    from typing import Any

    from scrubjay.text.transcripts import Fields

_SHELL_INPUTS = ("command", "cmd", "CommandLine")
_FILE_INPUTS = "file_path filePath path absolute_path target_file notebook_path TargetFile".split()
# Tags around what was said, and tags before and after it.
_AROUND = {"antigravity": ("USER_REQUEST",), "cursor": ("user_query",), "cline": ("user_input", "task")}
_BESIDE = frozenset(
    "ADDITIONAL_METADATA USER_SETTINGS_CHANGE hook_context session_context state_snapshot system_reminder "
    "environment_context environment_details user_instructions current_datetime timestamp "
    "qwen:user-prompt-submit-context qwen:session-start-context".split()
)
_INSTRUCTIONS = "# AGENTS.md instructions"  # what Codex says in the user's name
_COPILOTS_OWN = ("skill-", "autopilot")  # sources of messages in the user's name
_GEMINIS_OWN = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
_OPENING = re.compile(r"\s*<([\w:-]{1,60})>")


def turns(lines: Iterable[str | bytes], host: str | None) -> list[Fields]:
    """Read the turns of a host's transcript, in its order, as `transcripts.turns` gives them.

    Args:
        lines: of the file. Of Cline, whose file is one JSON value, all of them.
        host: one of `READ` or "claude-code"; of any other there are none.
    """
    if host in (None, "claude-code"):
        return transcripts.turns(lines)
    read = READ.get(host or "")
    if read is None:
        return []
    book = Book(_AROUND.get(host or "", ()))
    read(book, _whole(lines) if host == "cline" else _objects(lines))
    return book.close()


class Book:
    """The turns so far, the last of them open. Texts are raw but for what was put beside them."""

    def __init__(self, around: tuple[str, ...] = ()) -> None:
        self._around = around
        self._turns: list[Fields] = []
        self._said: set[str] = set()  # the prompts of the open turn
        self._session_id: Any = None
        self._folder: str | None = None
        self._is_answering = True  # the assistant speaks to the user, and not to a notice of the host
        self.is_main = True  # False: the whole file is a subagent's

    def begins(self, session_id: Any, is_main: bool = True) -> None:
        """A line tells whose session this is."""
        self._session_id = self._session_id or session_id
        self.is_main = self.is_main and is_main

    def moved(self, folder: Any) -> None:
        """What follows happens in this folder; the open turn goes on there unless it is complete."""
        if isinstance(folder, str):
            self._folder = folder
            turn = self._open()
            if turn and not turn["complete"]:
                turn["folders"][folder] = None

    def noticed(self) -> None:
        """The host said something in the user's name; what follows a complete turn answers that."""
        turn = self._open()
        self._is_answering = turn is None or not turn["complete"]

    def said(self, text: Any, prompt_id: Any = None, uuid: Any = None, at: Any = None) -> None:
        """The user said something; the same again under the same id is the same."""
        if not isinstance(text, str):
            return
        text = _without_beside(text)
        for tag in self._around:
            text = _between(text, tag)
        text = strip_injected(text)
        if is_of_others(text):
            self.noticed()
        if not text or not is_said(text) or text.startswith(_INSTRUCTIONS):
            return
        turn = self._turns[-1] if self._turns else None
        if turn and text == turn["prompts"][-1] and not (turn["assistant"] or turn["tools"]):
            if isinstance(prompt_id, str):
                turn["prompt_id"] = turn["prompt_id"] or prompt_id
            return  # one prompt on two kinds of lines
        if turn and prompt_id and turn["prompt_id"] == prompt_id:
            if text not in self._said:
                self._said.add(text)
                turn["prompts"].append(text)
                turn["complete"] = False
            return
        self._said, self._is_answering = {text}, True
        self._turns.append(new_turn(text, prompt_id, self._session_id, uuid, _instant(at)))
        if self._folder:
            self._turns[-1]["folders"][self._folder] = None

    def answered(self, text: Any) -> None:
        """The assistant said something; formats say one thing on several lines."""
        turn = self._open()
        text = strip_injected(text) if isinstance(text, str) else ""
        if turn and text:
            if text not in turn["assistant"][-1:]:
                turn["assistant"].append(text)
            turn["complete"], turn["failed"] = True, False

    def used(self, tool: Any, inputs: Any = None) -> None:
        """The assistant used a tool, so it is not done."""
        turn = self._open()
        if not turn:
            return
        inputs = inputs if isinstance(inputs, dict) else {}
        turn["tools"] = once([*turn["tools"], tool])
        turn["files"] = once([*turn["files"], *map(inputs.get, _FILE_INPUTS)])
        for given in map(inputs.get, _SHELL_INPUTS):
            command = given[-1] if isinstance(given, list) and given else given  # ["bash", "-lc", "make"]
            if isinstance(command, str):
                add_command(turn, command)
        turn["complete"] = False

    def interrupted(self) -> None:
        """The user stopped the turn."""
        turn = self._open()
        if turn:
            turn["interrupted"], turn["complete"] = True, False

    def close(self) -> list[Fields]:
        """The turns, their answers joined."""
        for turn in self._turns:
            turn["assistant"] = "\n\n".join(turn["assistant"])
        return self._turns if self.is_main else []

    def _open(self) -> Fields | None:
        return self._turns[-1] if self._turns and self._is_answering else None


def _codex(book: Book, entries: Iterator[Fields]) -> None:
    """Rollouts of all ages: prompts are messages, completed items, response items, or several of these.

    Where there are messages or items of the user, response items in their name may be the host's. Up to 0.32
    lines were response items alone.
    """
    lines, turn_id = list(entries), None
    has_prompts = any(
        _dict(each, "payload").get("type") == "user_message"
        or _dict(_dict(each, "payload"), "item").get("type") == "UserMessage"
        for each in lines
    )
    for entry in lines:
        body, at = _dict(entry, "payload") or entry, entry.get("timestamp")
        kind = body.get("type")
        if entry.get("type") == "session_meta":
            book.begins(body.get("id") or body.get("session_id"), not isinstance(body.get("source"), dict))
            book.moved(body.get("cwd"))
        elif entry.get("type") == "turn_context":
            turn_id = body.get("turn_id") or turn_id
            book.moved(body.get("cwd"))
        elif entry.get("type") == "event_msg":
            item = _dict(body, "item")
            turn_id = body.get("turn_id") or turn_id
            if kind == "user_message":
                book.said(body.get("message"), turn_id, None, at)
            elif item.get("type") == "UserMessage":
                book.said(_joined(item.get("content")), turn_id, item.get("id"), at)
            elif item.get("type") == "AgentMessage":
                book.answered(_joined(item.get("content")))
            elif kind == "agent_message":
                book.answered(body.get("message"))
            elif kind == "task_complete":
                book.answered(body.get("last_agent_message"))
            elif kind == "turn_aborted":
                book.interrupted()
        elif entry.get("type") == "response_item" or "payload" not in entry:
            about = _dict(body, "internal_chat_message_metadata_passthrough")
            kinds = about.get("content_item_kinds")
            if kind in (None, "message") and body.get("role") == "user":
                if has_prompts:
                    book.noticed()
                elif not isinstance(kinds, list) or "user.text" in kinds:
                    book.said(_joined(body.get("content")), about.get("turn_id"), body.get("id"), at)
            elif kind == "message" and body.get("role") == "assistant":
                book.answered(_joined(body.get("content")))
            elif kind in ("function_call", "custom_tool_call"):
                book.used(body.get("name"), _parsed(body.get("arguments")))
            elif kind == "local_shell_call":
                book.used("shell", _dict(body, "action"))


def _copilot(book: Book, entries: Iterator[Fields]) -> None:
    """Events of Copilot CLI, and of Copilot chat in VS Code; `transformedContent` has what was injected."""
    for entry in entries:
        kind, data = entry.get("type"), _dict(entry, "data")
        if kind == "session.start":
            book.begins(data.get("sessionId"))
        elif data.get("parentToolCallId"):
            continue  # a subagent's
        elif kind == "user.message" and str(data.get("source")).startswith(_COPILOTS_OWN):
            book.noticed()
        elif kind == "user.message":
            book.said(
                data.get("content"), None, data.get("messageId") or entry.get("id"), entry.get("timestamp")
            )
        elif kind == "assistant.message":
            book.answered(data.get("content"))
            for request in _dicts(data.get("toolRequests")):
                book.used(request.get("name"), _parsed(request.get("arguments")))
        elif kind == "tool.execution_start":
            book.used(data.get("toolName"), _parsed(data.get("arguments")))
        elif kind == "abort":
            book.interrupted()


def _gemini(book: Book, entries: Iterator[Fields]) -> None:
    """Messages and what became of them: the same id replaces, `$rewindTo` takes back, its target included."""
    messages: dict[Any, Fields] = {}
    for entry in entries:
        whole = _dict(entry, "$set").get("messages")
        if isinstance(whole, list):
            messages.update({_key(each): each for each in _dicts(whole)})  # what the model sees from now on
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
            text = _joined(message.get("displayContent")) or _joined(message.get("content"))
            book.said(text, None, message.get("id"), message.get("timestamp"))
        elif message.get("type") == "gemini":
            answer = _joined(_unthought(message.get("content")))
            book.answered("" if answer in _GEMINIS_OWN else answer)
            for call in _dicts(message.get("toolCalls")):
                book.used(call.get("name"), call.get("args"))


def _qwen(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        about, parts = entry.get("provenance"), _dict(entry, "message").get("parts")
        book.begins(entry.get("sessionId"), not entry.get("isSidechain"))
        if entry.get("type") == "user" and about in (None, "real_user"):
            text = _dict(entry, "systemPayload").get("displayText") or _joined(parts)
            book.said(text, None, entry.get("uuid"), entry.get("timestamp"))
        elif entry.get("type") == "assistant" and about in (None, "assistant_output"):
            book.answered(_joined(_unthought(parts)))
            for call in (_dict(part, "functionCall") for part in _dicts(parts)):
                if call:
                    book.used(call.get("name"), call.get("args"))


def _antigravity(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        kind, step = entry.get("type"), entry.get("step_index")
        if kind == "USER_INPUT" and entry.get("source") in (None, "USER_EXPLICIT"):
            uuid = f"step-{step:g}" if isinstance(step, float) else None
            book.said(entry.get("content"), None, uuid, entry.get("created_at"))
        elif kind == "PLANNER_RESPONSE" and entry.get("source") in (None, "MODEL"):
            book.answered(entry.get("content"))
            for call in _dicts(entry.get("tool_calls")):
                book.used(call.get("name"), _parsed(call.get("args") or call.get("arguments")))


def _kiro(book: Book, entries: Iterator[Fields]) -> None:
    """Not verified on real ones: the IDE's line is an event or holds it as payload, the CLI has others.

    The CLI writes an answer in pieces, which are one text.
    """
    answer_id = None
    pieces: list[str] = []
    for entry in entries:
        body, data = _dict(entry, "payload") or entry, _dict(entry, "data")
        kind = body.get("type")
        if "kind" in entry:
            said = "\n\n".join(each["data"] for each in _dicts(data.get("content")) if _is_text(each))
            if entry["kind"] == "AssistantMessage":
                if answer_id != data.get("message_id"):
                    book.answered("".join(pieces))
                    answer_id, pieces = data.get("message_id"), []
                pieces.append(said)
            elif entry["kind"] == "Prompt":
                book.answered("".join(pieces))
                pieces = []
                seconds = _dict(data, "meta").get("timestamp")
                at = seconds * 1000 if isinstance(seconds, float) else None
                book.said(said, None, data.get("message_id"), at)
            continue
        if kind == "user" and not _dict(_dict(body, "_meta"), "kiro").get("syntheticUserMessageReason"):
            book.said(_joined(body.get("content")), None, entry.get("id"), entry.get("timestamp"))
        elif kind == "assistant" and body.get("operationType") in (None, "Say"):
            book.answered(_joined(body.get("content")))
        elif kind == "tool_call":
            book.used(body.get("toolName"), body.get("args"))
    book.answered("".join(pieces))


def _is_text(block: Fields) -> bool:
    """Whether a block of Kiro's CLI has text."""
    return block.get("kind") == "text" and isinstance(block.get("data"), str)


def _roles(book: Book, entries: Iterator[Fields]) -> None:
    """Messages with a role: Cursor's lines and Cline's list."""
    for entry in entries:
        content = _dict(entry, "message").get("content") or entry.get("content")
        if entry.get("role") == "user":
            book.said(_joined(content), None, entry.get("id"), entry.get("timestamp") or entry.get("ts"))
        elif entry.get("role") == "assistant":
            book.answered(_joined(content))
            for block in _dicts(content):
                if block.get("type") == "tool_use":
                    book.used(block.get("name"), block.get("input"))


READ = {
    "codex": _codex,
    "copilot-cli": _copilot,
    "vscode": _copilot,
    "gemini-cli": _gemini,
    "qwen-code": _qwen,
    "antigravity": _antigravity,
    "kiro": _kiro,
    "cursor": _roles,
    "cline": _roles,
}


def _objects(lines: Iterable[str | bytes]) -> Iterator[Fields]:
    """The objects in the lines; half a line is what a host is writing just now."""
    for line in lines:
        entry = parsed(line)
        if isinstance(entry, dict):
            yield entry


def _whole(lines: Iterable[str | bytes]) -> Iterator[Fields]:
    """The messages of a file that is one JSON object."""
    joined = b"".join(line.encode() if isinstance(line, str) else line for line in lines)
    whole = parsed(joined)
    yield from _dicts(whole.get("messages") if isinstance(whole, dict) else None)


def _parsed(arguments: Any) -> Any:
    """A tool's arguments, which some hosts write as JSON in a text."""
    return parsed(arguments) if isinstance(arguments, str) else arguments


def _dict(entry: Fields, key: str) -> Fields:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Fields]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(message: Fields) -> Any:
    """A message's id, or one that no other has."""
    identifier = message.get("id")
    return identifier if isinstance(identifier, str) else id(message)


def _unthought(content: Any) -> Any:
    """A content of Gemini without what its model thought."""
    parts = [content] if isinstance(content, dict) else content
    return [each for each in _dicts(parts) if not each.get("thought")] if isinstance(parts, list) else parts


def _joined(content: Any) -> str:
    """The texts of a content: a string, a block or blocks; those with a text count."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    blocks = content if isinstance(content, list) else []
    texts = [each.get("text") if isinstance(each, dict) else each for each in blocks]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _between(text: str, tag: str) -> str:
    """What stands in the first pair of a tag that begins a text; the text without one."""
    start = text.lstrip()
    if not start.startswith(f"<{tag}"):
        return text
    _, opening, rest = start.partition(">")
    inner, closing, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opening and closing else text


def _without_beside(text: str) -> str:
    """A text without what begins or ends it in one of the hosts' tags."""
    text = text.strip()
    start, end = 0, len(text)
    while (opening := _OPENING.match(text, start, end)) and opening[1] in _BESIDE:
        closing = text.find(f"</{opening[1]}>", opening.end(), end)
        if closing < 0:
            break
        start = closing + len(opening[1]) + 3
    while end > start and text[end - 1] == ">":
        slash = text.rfind("</", max(start, end - 60), end)
        tag = text[slash + 2 : end - 1]
        opened = text.rfind(f"<{tag}>", start, slash) if slash >= 0 and tag in _BESIDE else -1
        if opened < 0:
            break
        end = opened
        while end > start and text[end - 1].isspace():
            end -= 1
    return text[start:end].strip()


def _instant(value: Any) -> str | None:
    """An instant as ISO 8601: as it is written, or from milliseconds since 1970."""
    if isinstance(value, float) and 0 < value < 1e14:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(value / 1000)) + "Z"
    return value if isinstance(value, str) else None
