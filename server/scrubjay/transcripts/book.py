"""Collects the turns of a conversation as a reader reports its lines, and cleans their texts.

It leaves out the output of tools, the model's thinking, and everything that hosts or Scrubjay added to the
user's words. Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from scrubjay.transcripts.injected import TEXTS, is_from_others, is_said, strip_injected
from scrubjay.transcripts.json_lines import dicts, mapping, parsed, string
from scrubjay.transcripts.turn import (
    IMAGE,
    add_command,
    add_result,
    has_ended,
    new_turn,
    once,
    user_words_in_result,
)

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    from scrubjay.transcripts.turn import Fields

_INSTRUCTIONS = "# AGENTS.md instructions"  # how a message that Codex writes in the user's name begins
_PICTURE_MARK = re.compile(r"\s*</?image\b[^>]{0,500}>\s*")  # Codex writes it around a picture
# Tools that ask the user or wait for a reply, and how their results begin without an answer and with one.
ASKING = frozenset(TEXTS["asking_tools"])
_UNANSWERED = re.compile(
    r"(?:the )?user (?:is not|isn't|doesn't|declined|cancel|dismissed|did not|didn't|skipped|rejected)"
    r"|\[(?:operation cancel|request interrupted)|error|aborted|cancel",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"(?:the )?user (?:has |have )?"
    r"(?:selected|responded|answered|replied|said|chose|provided the following answers)[^:\n]{0,40}:\s*",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\s*<([\w:-]{1,60})>")


class Book:
    """The turns so far; the last one is open. Texts are raw, but without what hosts added.

    `around` are the tags in which the host wraps a prompt. If the host `has_commands`, an unanswered prompt
    without words, such as `/clear`, was for the host.
    """

    def __init__(self, around: Iterable[str] = (), *, has_commands: bool = False) -> None:
        self._around = tuple(around)
        self._has_commands = has_commands
        self._turns: list[Fields] = []
        self._open_prompts: set[str] = set()  # the prompts of the open turn
        self._session_id: Any = None
        self._folder: str | None = None
        self._questions: dict[str, list[str]] = {}  # by the id of the tool call that asks the user
        self._is_answering = True  # the assistant answers the user, not a notice of the host
        self._host_words: Fields = {}
        self.is_main = True  # False: the whole file is a subagent's

    def begins(self, session_id: Any, is_main: bool = True) -> None:
        """Note the id of the session; `is_main` is False for a subagent's session."""
        self._session_id = self._session_id or session_id
        self.is_main = self.is_main and is_main

    def belongs_to(self, session_id: Any) -> None:
        """Note that the next turns belong to this session."""
        self._session_id = session_id

    def moved(self, folder: Any) -> None:
        """Note the folder in which the next lines happen."""
        if isinstance(folder, str) and folder:
            self._folder = folder

    def noticed(self) -> None:
        """Note that the host wrote in the user's name; after a complete turn, the answer is to the host."""
        if turn := self._open_turn():
            self._is_answering = not turn["complete"]

    def note_time(self, at: Any) -> None:
        """Note the time of a line of the open turn, which happens in the current folder."""
        if turn := self._open_turn():
            turn["until"] = at
            self._note_folder(turn)

    def add_prompt(self, text: Any, prompt_id: Any = None, uuid: Any = None, at: Any = None) -> bool:
        """Add a prompt; return True if it opens a turn. The same words under the same id are one prompt.

        If none of the text is the user's and the turn is complete, the next answer does not belong to the
        turn.
        """
        text = _without_added(string(text))
        for tag in self._around:
            text = _inside_tag(text, tag)
        text = strip_injected(text)
        if not text or is_from_others(text):
            self.noticed()
        if not text or not is_said(text) or text.startswith(_INSTRUCTIONS):
            return False
        turn = self._turns[-1] if self._turns else None
        if turn and text == turn["prompts"][-1] and _is_unanswered(turn):
            known_id, new_id = turn["prompt_id"], prompt_id if isinstance(prompt_id, str) else None
            if known_id is None or new_id in (None, known_id):  # one prompt on two kinds of lines
                turn["prompt_id"] = known_id or new_id
                return False
        if turn and prompt_id and turn["prompt_id"] == prompt_id:
            self._add_words(turn, text)
            return False
        self._open_prompts, self._is_answering = {text}, True
        self._turns.append(new_turn(text, prompt_id, self._session_id, uuid, instant(at)))
        self._note_folder(self._turns[-1])
        return True

    def add_reply(self, text: str) -> None:
        """Add the user's words during a turn: a queued prompt, or an answer to a question."""
        turn = self._open_turn()
        if turn and text:
            self._add_words(turn, text)

    def add_answer(self, text: Any) -> None:
        """Add a text to the answer, but not twice in a row: some formats write it on several lines."""
        turn = self._open_turn()
        text = strip_injected(string(text))
        if turn and text:
            if text not in turn["assistant"][-1:]:
                turn["assistant"].append(text)
            turn["complete"], turn["failed"] = True, False
            self._note_folder(turn)

    def add_tool_call(self, tool: Any, inputs: Any = None, call_id: Any = None) -> None:
        """Add the assistant's call of a tool; the turn is not complete until an answer follows."""
        turn = self._open_turn()
        if not turn:
            return
        inputs = mapping(inputs)
        if str(tool) in ASKING and isinstance(call_id, str):
            self._questions[call_id] = _questions(inputs)
        turn["tools"] = once([*turn["tools"], tool])
        turn["files"] = once([*turn["files"], *map(inputs.get, TEXTS["file_inputs"])])
        for words in map(inputs.get, TEXTS["command_inputs"]):
            command = words[-1] if isinstance(words, list) and words else words  # ["bash", "-lc", "make"]
            if isinstance(command, str):
                add_command(turn, command, call_id)
        turn["complete"] = turn["failed"] = False
        self._note_folder(turn)

    def add_tool_result(self, call_id: Any, result: Any, is_error: bool | None = None) -> None:
        """Add the user's words in a tool's result (answers, or why they rejected it), or its failure."""
        turn, text = self._open_turn(), _result_text(result)
        if not turn or not text:
            return
        add_result(turn, call_id, text, is_error)
        replies = user_words_in_result(text)
        questions = self._questions.pop(call_id, None) if isinstance(call_id, str) else None
        if not replies and questions is not None and not _UNANSWERED.match(text):
            replies = _with_questions(questions, _answers(text))
        for reply in replies:
            self._add_words(turn, reply)

    def set_title(self, title: Any) -> None:
        """Note the host's title of the session; the last one counts."""
        if string(title).strip():
            self._host_words["title"] = title

    def set_recap(self, summary: Any) -> None:
        """Note the host's summary of the session so far, which its model writes when the context is full."""
        if string(summary).strip():
            self._host_words["recap"] = summary

    def interrupted(self) -> None:
        """Note that the user stopped the turn."""
        if turn := self._open_turn():
            turn["interrupted"], turn["complete"] = True, False

    def failed(self) -> None:
        """Note that the service failed."""
        if turn := self._open_turn():
            turn["failed"], turn["complete"] = True, False

    def close(self) -> list[Fields]:
        """Return the turns with their answers joined; the last one has the host's title and summary."""
        for turn in self._turns[-1:]:
            turn.update(self._host_words)
        for turn in self._turns:
            turn["assistant"] = "\n\n".join(turn["assistant"])
        turns = self._turns if self.is_main else []
        return [
            turn for turn in turns if turn["assistant"] or not (self._has_commands and _is_wordless(turn))
        ]

    def _add_words(self, turn: Fields, text: str) -> None:
        """Add words of the user to the last turn, each once."""
        if text not in self._open_prompts:
            self._open_prompts.add(text)
            turn["prompts"].append(text)
            turn["complete"] = False

    def _note_folder(self, turn: Fields) -> None:
        """Note that the turn goes on in the current folder."""
        if self._folder:
            turn["folders"][self._folder] = None

    def _open_turn(self) -> Fields | None:
        """Return the turn that the assistant answers, if any."""
        return self._turns[-1] if self._turns and self._is_answering else None


def joined(content: Any) -> str:
    """Join the texts of a message's content, which is a string, a block or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def words(content: Any, *files: Any) -> str:
    """Join the texts of a user's message.

    The result is `IMAGE` for only a picture or a file, and "" for only the results of tools. `files` are the
    lists in which the host keeps pictures and files apart from the content.
    """
    text = joined(content)
    text = "" if _PICTURE_MARK.fullmatch(text) else text
    blocks = dicts([content] if isinstance(content, dict) else content)
    unmarked = [block for block in blocks if not _PICTURE_MARK.fullmatch(str(block.get("text")))]
    if len(unmarked) < len(blocks):
        text = joined(unmarked)
    has_picture = any(
        block.get("type") in TEXTS["pictures"] or any(map(block.get, TEXTS["picture_keys"]))
        for block in blocks
    )
    return text if text.strip() or not (has_picture or any(files)) else IMAGE


def _is_unanswered(turn: Fields) -> bool:
    """Return True if the assistant has done nothing in a turn that may go on."""
    return not (turn["assistant"] or turn["tools"] or has_ended(turn))


def _is_wordless(turn: Fields) -> bool:
    """Return True if a prompt is only a picture or a slash command."""
    return turn["prompts"] == [IMAGE] or re.match(r"/[\w:-]+(?:\s|\Z)", turn["prompts"][0]) is not None


def _questions(inputs: Fields) -> list[str]:
    """Return the questions in the arguments of a tool that asks the user."""
    questions = [item.get("question") for item in dicts(inputs.get("questions"))]
    questions = questions or [inputs.get("question") or inputs.get("prompt") or inputs.get("message")]
    return [question for question in questions if isinstance(question, str)]


def _answers(text: str) -> list[str]:
    """Read the user's answers from a tool's result, which is JSON or a sentence."""
    result = parsed(text)
    if isinstance(result, dict):
        return _leaves(result.get("answers", result))
    answer = text[intro.end() :] if (intro := _ANSWERED.match(text)) else text
    return [answer] if answer else []


def _with_questions(questions: list[str], answers: list[str]) -> list[str]:
    """Join each question with its answer, or all in one text if their numbers differ; [] if unanswered."""
    if len(questions) != len(answers):
        return [" ".join([*questions, *answers])] if answers else []
    return [f"{question} {answers[place]}" for place, question in enumerate(questions)]


def _leaves(value: Any) -> list[str]:
    """Return one text for each answer in a JSON value; a nested list becomes one text."""
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    texts = [item if isinstance(item, str) else ", ".join(_leaves(item)) for item in items if item]
    return [text for text in texts if text.strip()]


def _result_text(result: Any) -> str:
    """Return the text of a tool's result from inside its objects and lists."""
    for key in ("functionResponse", "response", "output", "result", "content", "message"):
        if isinstance(result, list) and len(result) == 1:
            result = result[0]
        if isinstance(result, dict) and key in result:
            result = result[key]
    return joined(result).strip()


def _inside_tag(text: str, tag: str) -> str:
    """Return the text inside the tag; the whole text if it has no such tag, or one among the user's words.

    The host puts its own blocks before the tag: open files, rules, what git says.
    """
    before, opening, rest = text.partition(f"<{tag}>")
    inner, closing, _ = rest.partition(f"</{tag}>")
    is_hosts = not before.strip() or (before.lstrip().startswith("<") and before.rstrip().endswith(">"))
    return inner.strip() if opening and closing and is_hosts else text


def _without_added(text: str) -> str:
    """Remove the blocks that hosts add at the beginning and the end of a text."""
    text = text.strip()
    start, end = 0, len(text)
    while (opening := _OPENING.match(text, start, end)) and opening[1] in TEXTS["added_tags"]:
        closing = text.find(f"</{opening[1]}>", opening.end(), end)
        if closing < 0:
            break
        start = closing + len(opening[1]) + 3
    while end > start and text[end - 1] == ">":
        slash = text.rfind("</", max(start, end - 60), end)
        tag = text[slash + 2 : end - 1]
        opened = text.rfind(f"<{tag}>", start, slash) if slash >= 0 and tag in TEXTS["added_tags"] else -1
        if opened < 0:
            break
        end = opened
        while end > start and text[end - 1].isspace():
            end -= 1
    return text[start:end].strip()


def instant(value: Any) -> str | None:
    """Return a time as ISO 8601; a number is (milli)seconds since 1970, a string is returned as it is."""
    if isinstance(value, float) and 0 < value < 1e14:
        seconds = value if value < 1e11 else value / 1000
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + "Z"
    return value if isinstance(value, str) else None
