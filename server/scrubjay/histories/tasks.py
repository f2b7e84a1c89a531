"""Reads the tasks of Cline and its forks Roo and Kilo: a file of messages, and a file about them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scrubjay.histories.disk import Disk
from scrubjay.histories.stored import Fields, Session, instant, seconds, texts
from scrubjay.transcripts.book import ASKING, Book, words
from scrubjay.transcripts.json_lines import dicts, mapping, string

_LEGACY = "api_conversation_history.json"
_MODERN = ".messages.json"
# Opening tags of the elements in which a host puts what the user says.
_USER_TEXT = re.compile(r"<(task|user_input|user_message|feedback|answer)(?: [^<>]{0,200})?>")
_ANSWER = re.compile(r"<(result)>")
_THOUGHT = re.compile(r"<(thinking)>")
_RESULT = re.compile(r"\[(\w+)[^\n]{0,1000}\] Result:")  # how a tool's result began in older versions
_PASSED_ON = "The user "  # how the line begins that introduces the user's words in the result of any tool
# Elements that a host adds to the user's text.
_NOTES = re.compile(r"<(environment_details|file_content|task_progress)[^<>]{0,200}>")
# Calls of tools, which older models wrote into their answers.
_CALL = re.compile(r"<([a-z]+(?:_[a-z]+)+)>")
_COMMAND = re.compile(r"<(command)>")
_CLOSING = re.compile(r"</([a-z_]+)>")


def sessions(host: str, disk: Disk, path: str) -> list[Session]:
    """Return the task in a file, unless another task or a subagent wrote its prompts."""
    return (_legacy if path.endswith(_LEGACY) else _modern)(host, disk, path)


def _modern(host: str, disk: Disk, path: str) -> list[Session]:
    document, about = mapping(disk.json(path)), _neighbour(disk, path.removesuffix(_MODERN) + ".json")
    if document.get("agent") not in (None, "lead"):
        return []
    name = os.path.basename(path).removesuffix(_MODERN)
    session_id = string(document.get("sessionId")) or string(about.get("session_id")) or name
    folder = string(about.get("cwd")) or string(about.get("workspace_root"))
    return [_session(host, session_id, folder, document.get("messages"), about.get("created_at"))]


def _legacy(host: str, disk: Disk, path: str) -> list[Session]:
    task_id, tasks_folder = os.path.split(os.path.dirname(path))[::-1]
    list_path = os.path.join(os.path.dirname(tasks_folder), "state", "taskHistory.json")
    list_item = _items_by_id(disk, list_path).get(task_id, {})
    about = {**list_item, **_neighbour(disk, os.path.join(os.path.dirname(path), "history_item.json"))}
    if about.get("parentTaskId"):
        return []  # another task's model wrote its prompt
    folder = string(about.get("workspace")) or string(about.get("cwdOnTaskInitialization"))
    started_at = int(task_id) if task_id.isdecimal() and len(task_id) < 16 else about.get("ts")
    return [_session(host, task_id, folder, disk.json(path), started_at)]


def _session(host: str, session_id: str, folder: str, messages: object, started_at: object) -> Session:
    book = Book()
    tools: dict[str, Any] = {}  # names by the id of the call
    for message in dicts(messages):
        content, at = message.get("content"), message.get("ts") or started_at
        blocks = dicts(content)
        if message.get("isSummary"):
            book.set_recap(texts(content))
        elif message.get("role") == "user":
            _add_prompt(book, content, message.get("id"), at, tools)
        elif message.get("role") == "assistant":
            answer = texts(content)
            results = [element.inner for element in _elements(_ANSWER, answer)]
            for block in blocks:
                if block.get("type") == "tool_use":
                    inputs = mapping(block.get("input"))
                    book.add_tool_call(block.get("name"), inputs)
                    tools[str(block.get("id"))] = block.get("name")
                    results += filter(None, [string(inputs.get("result"))])
            for call in _elements(_CALL, answer):
                command = next((each.inner for each in _elements(_COMMAND, call.inner)), None)
                book.add_tool_call(call.name, {"command": command})
            text = _without(_CALL, _without(_THOUGHT, answer)).strip()
            book.add_answer("\n\n".join(filter(None, [text, *(each.strip() for each in results)])))
    return Session(host, session_id, folder or None, book.close())


def _add_prompt(book: Book, content: object, key: object, at: object, tools: Mapping[str, Any]) -> None:
    """Record what the user says in a message; most messages are results of tools."""
    has_results = any(block.get("type") == "tool_result" for block in dicts(content))
    text = _without(_NOTES, texts(content)).strip()
    user_texts = [said for tool, part in _parts(content, tools) for said in _said(tool, part)]
    if user_texts:
        book.add_prompt("\n\n".join(user_texts), key, None, instant(at))
    elif text and not has_results and not text.startswith("["):  # as in "[read_file for 'a.py'] Result:"
        book.add_prompt(text, key, None, instant(at))
    elif not text and not has_results:
        book.add_prompt(words(content), key, None, instant(at))


def _parts(content: object, tools: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the texts of a message, each with the tool whose result it is; None for the user's own."""
    tool = None
    for block in dicts(content) or [{"type": "text", "text": content}]:
        if block.get("type") == "tool_result":
            yield str(tools.get(str(block.get("tool_use_id")))), texts(block.get("content"))
        elif block.get("type") == "text":
            text = string(block.get("text"))
            tool = result[1] if (result := _RESULT.match(text)) else tool
            yield tool, text


def _said(tool: str | None, text: str) -> Iterator[str]:
    """Yield what the user says in a text; a tool's result may quote a file with the same tags."""
    text = _without(_NOTES, text)
    for element in _elements(_USER_TEXT, text):
        line = text[max(0, element.start - 300) : element.start].rstrip().rpartition("\n")[2]
        if tool is None or tool in ASKING or line.startswith(_PASSED_ON):
            yield element.inner.strip()


class _Element(NamedTuple):
    name: str
    start: int
    end: int
    inner: str


def _elements(opening: re.Pattern[str], text: str) -> Iterator[_Element]:
    """Yield the elements with an `opening` tag, in order, but no element inside another.

    A tag that is never closed is skipped without a search for its end, so that many of them cost little.
    """
    last_closings = {tag[1]: tag.start() for tag in _CLOSING.finditer(text)}
    position = 0
    while tag := opening.search(text, position):
        position = tag.end()
        if last_closings.get(tag[1], -1) >= position:
            close = text.index(f"</{tag[1]}>", position)
            inner, position = text[position:close], close + len(tag[1]) + 3
            yield _Element(tag[1], tag.start(), position, inner)


def _without(opening: re.Pattern[str], text: str) -> str:
    parts, end = [], 0
    for element in _elements(opening, text):
        parts.append(text[end : element.start])
        end = element.end
    return "".join(parts) + text[end:]


def _neighbour(disk: Disk, path: str) -> Fields:
    return mapping(disk.json(path)) if os.path.isfile(path) else {}


def _items_by_id(disk: Disk, path: str) -> dict[str, Fields]:
    items = dicts(disk.json(path)) if os.path.isfile(path) else []
    return {string(each.get("id")): each for each in items if seconds(each.get("ts"))}
