"""The turns in every host's transcripts: a function for each format tells a `Book` what its lines say.

`transcripts` knows Claude Code's lines, and what a turn is; the turns here are the same dicts. The formats
are internal to the hosts, so what is not understood is passed over. Left out are subagents, what tools
returned, what the model thought, and whatever was added to the user's words: hosts' contexts and our own.
The time is linear in the lines, whatever stands in them. Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator

from scrubjay.text import transcripts
from scrubjay.text.transcripts import (
    IMAGE,
    add_command,
    follows_at_once,
    is_of_others,
    is_said,
    new_turn,
    once,
    parsed,
    said_in_result,
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
_ADDED = frozenset(
    "ADDITIONAL_METADATA USER_SETTINGS_CHANGE hook_context session_context state_snapshot system_reminder "
    "environment_context environment_details user_instructions current_datetime timestamp "
    "qwen:user-prompt-submit-context qwen:session-start-context".split()
)
_INSTRUCTIONS = "# AGENTS.md instructions"  # what Codex says in the user's name
_COPILOTS_OWN = ("skill-", "autopilot")  # sources of messages in the user's name
_GEMINIS_OWN = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
# Blocks of pictures and files by their type, and by a key.
_PICTURES = frozenset(
    "image input_image local_image localImage image_url document file resource image_asset_pointer".split()
)
_PICTURE_KEYS = ("inlineData", "fileData", "Image")
_PICTURE_MARK = re.compile(r"\s*</?image\b[^>]{0,500}>\s*")  # what Codex puts around one
# Tools that ask the user, and results of them that are no answer.
_ASKING = frozenset(
    "AskUserQuestion AskQuestion ask_user ask_user_question ask_followup_question ask_question "
    "request_user_input question".split()
)
_UNANSWERED = re.compile(
    r"(?:the )?user (?:is not|isn't|declined|cancel|dismissed|did not|didn't|skipped|rejected)"
    r"|\[operation cancel|error|aborted|cancel",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"(?:the )?user (?:has |have )?"
    r"(?:selected|responded|answered|replied|said|chose|provided the following answers)[^:\n]{0,40}:\s*",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\s*<([\w:-]{1,60})>")


def turns(lines: Iterable[str | bytes], host: str | None) -> list[Fields]:
    """Read the turns of a host's transcript, in its order, as `transcripts.turns` gives them.

    Args:
        lines: of the file. Of Cline, whose file is one JSON value, all of them.
        host: one of `READ` or "claude-code"; any other has no turns.
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
    """The turns so far, the last of them open. Texts are raw, without what hosts added."""

    def __init__(self, around: tuple[str, ...] = ()) -> None:
        self._around = around
        self._turns: list[Fields] = []
        self._said: set[str] = set()  # the prompts of the open turn
        self._session_id: Any = None
        self._folder: str | None = None
        self._questions: dict[str, list[str]] = {}  # calls of tools that ask the user
        self._is_answering = True  # the assistant speaks to the user, and not to a notice of the host
        self.is_main = True  # False: the whole file is a subagent's

    def begins(self, session_id: Any, is_main: bool = True) -> None:
        """A line tells whose session this is."""
        self._session_id = self._session_id or session_id
        self.is_main = self.is_main and is_main

    def belongs_to(self, session_id: Any) -> None:
        """What follows is of this session."""
        self._session_id = session_id

    def moved(self, folder: Any) -> None:
        """What follows happens in this folder."""
        if isinstance(folder, str) and folder:
            self._folder = folder

    def noticed(self) -> None:
        """The host said something in the user's name; what follows a complete turn answers that."""
        turn = self._open()
        self._is_answering = turn is None or not turn["complete"]

    def said(self, text: Any, prompt_id: Any = None, uuid: Any = None, at: Any = None) -> None:
        """The user said something; the same again under the same id is the same.

        What follows a line without a word of theirs is no answer to a turn that is complete.
        """
        text = _without_added(text) if isinstance(text, str) else ""
        for tag in self._around:
            text = _between(text, tag)
        text = strip_injected(text)
        if not text or is_of_others(text):
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
        self._goes_on(self._turns[-1])

    def answered(self, text: Any) -> None:
        """The assistant said something; formats say one thing on several lines."""
        turn = self._open()
        text = strip_injected(text) if isinstance(text, str) else ""
        if turn and text:
            if text not in turn["assistant"][-1:]:
                turn["assistant"].append(text)
            turn["complete"], turn["failed"] = True, False
            self._goes_on(turn)

    def used(self, tool: Any, inputs: Any = None, call_id: Any = None) -> None:
        """The assistant used a tool, so it is not done."""
        turn = self._open()
        if not turn:
            return
        inputs = inputs if isinstance(inputs, dict) else {}
        if str(tool) in _ASKING and isinstance(call_id, str):
            self._questions[call_id] = _questions(inputs)
        turn["tools"] = once([*turn["tools"], tool])
        turn["files"] = once([*turn["files"], *map(inputs.get, _FILE_INPUTS)])
        for given in map(inputs.get, _SHELL_INPUTS):
            command = given[-1] if isinstance(given, list) and given else given  # ["bash", "-lc", "make"]
            if isinstance(command, str):
                add_command(turn, command)
        turn["complete"] = False
        self._goes_on(turn)

    def returned(self, call_id: Any, result: Any) -> None:
        """A tool gave something, in which may be the user's words: answers, or why they rejected it."""
        turn, text = self._open(), _result(result)
        if not turn or not text:
            return
        said = said_in_result(text)
        questions = self._questions.pop(call_id, None) if isinstance(call_id, str) else None
        if not said and questions is not None and not _UNANSWERED.match(text):
            said = _paired(questions, _answers(text))
        turn["prompts"] += [each for each in said if each not in turn["prompts"]]

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

    def _goes_on(self, turn: Fields) -> None:
        if self._folder:
            turn["folders"][self._folder] = None

    def _open(self) -> Fields | None:
        return self._turns[-1] if self._turns and self._is_answering else None


def _codex(book: Book, entries: Iterator[Fields]) -> None:
    """Rollouts of all ages: prompts are messages, completed items, response items, or several of these.

    Where there are messages or items of the user, response items in their name may be the host's. Up to 0.32
    lines were response items alone. A fork begins with its parent's lines, all written at the moment of the
    fork.
    """
    lines, turn_id, at = list(entries), None, None
    own, copied_at = None, None
    has_prompts = any(
        _dict(each, "payload").get("type") == "user_message"
        or _dict(_dict(each, "payload"), "item").get("type") == "UserMessage"
        for each in lines
    )
    for entry in lines:
        body, at = _dict(entry, "payload") or entry, entry.get("timestamp") or at
        kind = body.get("type")
        if copied_at is not None:
            copied_at = _instant(at) if follows_at_once(_instant(at), copied_at) else None
            if copied_at is None:
                book.belongs_to(own)
        if entry.get("type") == "session_meta":
            session_id = body.get("id") or body.get("session_id")
            book.begins(session_id, not isinstance(body.get("source"), dict))
            book.moved(body.get("cwd"))
            if own is None and isinstance(body.get("forked_from_id"), str) and (copied_at := _instant(at)):
                own = session_id
                book.belongs_to(body["forked_from_id"])
        elif entry.get("type") == "turn_context":
            turn_id = body.get("turn_id") or turn_id
            book.moved(body.get("cwd"))
        elif entry.get("type") == "event_msg":
            item = _dict(body, "item")
            turn_id = body.get("turn_id") or turn_id
            if kind == "user_message":
                has_picture = body.get("images") or body.get("local_images")
                book.said(body.get("message") or (IMAGE if has_picture else ""), turn_id, None, at)
            elif item.get("type") == "UserMessage":
                book.said(words(item.get("content")), turn_id, item.get("id"), at)
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
                if "payload" not in entry:
                    book.moved(_tagged(_joined(body.get("content")), "cwd"))
                if has_prompts:
                    book.noticed()
                elif not isinstance(kinds, list) or "user.text" in kinds:
                    book.said(words(body.get("content")), about.get("turn_id"), body.get("id"), at)
            elif kind == "message" and body.get("role") == "assistant":
                book.answered(_joined(body.get("content")))
            elif kind in ("function_call", "custom_tool_call"):
                book.used(body.get("name"), _parsed(body.get("arguments")), body.get("call_id"))
            elif kind in ("function_call_output", "custom_tool_call_output"):
                book.returned(body.get("call_id"), body.get("output"))
            elif kind == "local_shell_call":
                book.used("shell", _dict(body, "action"))


def _copilot(book: Book, entries: Iterator[Fields]) -> None:
    """Events of Copilot CLI, and of Copilot chat in VS Code; `transformedContent` has what was injected."""
    for entry in entries:
        kind, data = entry.get("type"), _dict(entry, "data")
        if kind == "session.start":
            book.begins(data.get("sessionId"))
        if isinstance(kind, str) and kind.startswith("session."):
            book.moved(_dict(data, "context").get("cwd") or data.get("cwd"))
        elif data.get("parentToolCallId"):
            continue  # a subagent's
        elif kind == "user.message" and str(data.get("source")).startswith(_COPILOTS_OWN):
            book.noticed()
        elif kind == "user.message":
            said = data.get("content") or (IMAGE if data.get("attachments") else "")
            book.said(said, None, data.get("messageId") or entry.get("id"), entry.get("timestamp"))
        elif kind == "assistant.message":
            book.answered(data.get("content"))
            for request in _dicts(data.get("toolRequests")):
                book.used(request.get("name"), _parsed(request.get("arguments")), request.get("toolCallId"))
        elif kind == "tool.execution_start":
            book.used(data.get("toolName"), _parsed(data.get("arguments")), data.get("toolCallId"))
        elif kind == "tool.execution_complete":
            book.returned(data.get("toolCallId"), data.get("result") or data.get("error"))
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
            text = _joined(message.get("displayContent")) or words(message.get("content"))
            book.said(text, None, message.get("id"), message.get("timestamp"))
        elif message.get("type") == "gemini":
            answer = _joined(_unthought(message.get("content")))
            book.answered("" if answer in _GEMINIS_OWN else answer)
            for call in _dicts(message.get("toolCalls")):
                book.used(call.get("name"), call.get("args"), call.get("id"))
                book.returned(call.get("id"), call.get("result"))


def _qwen(book: Book, entries: Iterator[Fields]) -> None:
    for entry in entries:
        about, parts = entry.get("provenance"), _dict(entry, "message").get("parts")
        book.begins(entry.get("sessionId"), not entry.get("isSidechain"))
        book.moved(entry.get("cwd"))
        if entry.get("type") == "user" and about in (None, "real_user"):
            text = _dict(entry, "systemPayload").get("displayText") or words(parts)
            book.said(text, None, entry.get("uuid"), entry.get("timestamp"))
        elif entry.get("type") == "assistant" and about in (None, "assistant_output"):
            book.answered(_joined(_unthought(parts)))
            for call in (_dict(part, "functionCall") for part in _dicts(parts)):
                if call:
                    book.used(call.get("name"), call.get("args"), call.get("id"))
        elif entry.get("type") == "tool_result":
            for given in (_dict(part, "functionResponse") for part in _dicts(parts)):
                book.returned(given.get("id"), given)


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
    """Return True if a block of Kiro's CLI has text."""
    return block.get("kind") == "text" and isinstance(block.get("data"), str)


def _roles(book: Book, entries: Iterator[Fields]) -> None:
    """Messages with a role: Cursor's lines and Cline's list."""
    for entry in entries:
        content = _dict(entry, "message").get("content") or entry.get("content")
        if entry.get("role") == "user":
            for block in _dicts(content):
                if block.get("type") == "tool_result":
                    book.returned(block.get("tool_use_id"), block.get("content"))
            book.said(words(content), None, entry.get("id"), entry.get("timestamp") or entry.get("ts"))
        elif entry.get("role") == "assistant":
            book.answered(_joined(content))
            for block in _dicts(content):
                if block.get("type") == "tool_use":
                    book.used(block.get("name"), block.get("input"), block.get("id"))


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


def words(content: Any) -> str:
    """The texts of what a user said, `IMAGE` for a picture or file alone; "" for results of tools alone."""
    text = _joined(content)
    text = "" if _PICTURE_MARK.fullmatch(text) else text
    blocks = _dicts([content] if isinstance(content, dict) else content)
    kept = [each for each in blocks if not _PICTURE_MARK.fullmatch(str(each.get("text")))]
    if len(kept) < len(blocks):
        text = _joined(kept)
    is_picture = any(
        str(each.get("type")) in _PICTURES or any(map(each.get, _PICTURE_KEYS)) for each in blocks
    )
    return text if text.strip() or not is_picture else IMAGE


def _questions(inputs: Fields) -> list[str]:
    """What a tool asks the user."""
    asked = [each.get("question") for each in _dicts(inputs.get("questions"))]
    asked = asked or [inputs.get("question") or inputs.get("prompt") or inputs.get("message")]
    return [each for each in asked if isinstance(each, str)]


def _answers(text: str) -> list[str]:
    """What the user answered, as hosts hand it to the model: JSON of answers, or a sentence."""
    whole = parsed(text)
    if isinstance(whole, dict):
        return _leaves(whole.get("answers", whole))
    return list(filter(None, [text[found.end() :] if (found := _ANSWERED.match(text)) else text]))


def _paired(questions: list[str], answers: list[str]) -> list[str]:
    """Each question with its answer, if it is known which that is; nothing without an answer."""
    if len(questions) != len(answers):
        return [" ".join([*questions, *answers])] if answers else []
    return [f"{question} {answers[place]}" for place, question in enumerate(questions)]


def _leaves(value: Any) -> list[str]:
    """An answer to each question: of several texts for one, all of them."""
    each = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    flat = [one if isinstance(one, str) else ", ".join(_leaves(one)) for one in each if one]
    return [one for one in flat if one.strip()]


def _result(result: Any) -> str:
    """The text of what a tool gave, in whatever a host wraps it."""
    for key in ("functionResponse", "response", "output", "result", "content", "message"):
        if isinstance(result, list) and len(result) == 1:
            result = result[0]
        if isinstance(result, dict) and key in result:
            result = result[key]
    return _joined(result).strip()


def _tagged(text: str, tag: str) -> str:
    """The text in the first pair of a tag, "" without one."""
    _, opening, rest = text.partition(f"<{tag}>")
    inner, closing, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opening and closing else ""


def _between(text: str, tag: str) -> str:
    """The text in the first pair of a tag that begins a text; the whole text without one."""
    start = text.lstrip()
    if not start.startswith(f"<{tag}"):
        return text
    _, opening, rest = start.partition(">")
    inner, closing, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opening and closing else text


def _without_added(text: str) -> str:
    """A text without what begins or ends it in one of the hosts' tags."""
    text = text.strip()
    start, end = 0, len(text)
    while (opening := _OPENING.match(text, start, end)) and opening[1] in _ADDED:
        closing = text.find(f"</{opening[1]}>", opening.end(), end)
        if closing < 0:
            break
        start = closing + len(opening[1]) + 3
    while end > start and text[end - 1] == ">":
        slash = text.rfind("</", max(start, end - 60), end)
        tag = text[slash + 2 : end - 1]
        opened = text.rfind(f"<{tag}>", start, slash) if slash >= 0 and tag in _ADDED else -1
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
