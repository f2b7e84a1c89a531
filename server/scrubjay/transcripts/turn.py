"""A turn of a transcript as a dict, its limits, and the fields of its record.

Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from scrubjay.transcripts.failures import failure_of, packed
from scrubjay.transcripts.injected import TEXTS

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]

MAX_LABELS = 200  # tools or files of one turn, and characters of one of them (models.requests.Labels)
MAX_COMMANDS = 10  # kept of one turn: the last ones, which test and finish the work
MAX_COMMAND = 120  # characters of a command
_MOST_RUNS = 100  # commands of one turn whose results are read
# What the host's model wrote about the session so far, by its key in a turn: its name in the metadata, and
# how many characters are stored.
HOST_WORDS = {"title": ("session_title", 200), "recap": ("session_summary", 4_000)}
PROMPT_KEY = "p-"  # prefix of a prompt_id that was made up because the host gave none
ANSWER_KEY = "a-"  # prefix of the prompt_id of a turn whose hook had only the answer
_LONGEST_LINE = 2_000  # characters of a command that are read
# How a tool's result begins if the user did not allow the tool; a phrase below introduces the user's reason.
_REJECTED = tuple(TEXTS["rejected"])
_TYPED = re.compile(
    r"(?:the user said|following reason for the rejection|following feedback):\s*(?:<feedback>)?"
)
_TYPED_ENDS = re.compile(r"</feedback>|\n\nNote: ")
_ANSWERED = re.compile(r'"([^"\n]{1,500})"="([^"]{1,5000})"')  # a question to the user, and the answer
_QUESTIONS_ANSWERED = ("User has answered", "Your questions have been answered")
IMAGE = "[image]"  # a prompt without a word


def fields_of(turn: Fields, clean: Callable[[str], str]) -> Fields:
    """Return the fields of a turn's record that are not empty: user, assistant, tools, files, metadata.

    `metadata` has its `commands`, the `failed` ones with their errors (`failures.packed`), what the host
    wrote about the session (`HOST_WORDS`), and says if the turn was `interrupted` or ended by an `api_error`.
    `clean` removes from each text what must not be stored. It is called with the prompt and the answer first,
    so that it can remove from later texts what it removed from these.
    """
    user, assistant = clean("\n\n".join(turn["prompts"])), clean(turn["assistant"])
    commands = [_brief(clean(command)) for command in turn["commands"]]
    has_failed = any(error is not None for *_, error in turn["runs"])
    runs = [
        (call_id, _brief(clean(command)), None if error is None else clean(error))
        for call_id, command, error in turn["runs"]
        if has_failed
    ]
    metadata = {
        "commands": [command for command in commands if command],
        "failed": packed([run for run in runs if run[1]]),
        "interrupted": turn["interrupted"],
        "api_error": turn["failed"],
    }
    for key, (name, most) in HOST_WORDS.items():
        metadata[name] = clean(" ".join(str(turn.get(key) or "").split())[:most])
    fields = {
        "user": user,
        "assistant": assistant,
        "tools": once(map(clean, turn["tools"])),
        "files": once(map(clean, turn["files"])),
        "metadata": {name: value for name, value in metadata.items() if value},
    }
    return {name: value for name, value in fields.items() if value}


def has_ended(turn: Fields) -> bool:
    """Return True if a turn has ended: it was answered, interrupted or failed."""
    return bool(turn["complete"] or turn["interrupted"] or turn["failed"])


def user_words_in_result(result: str) -> list[str]:
    """Return the user's words in a tool's result: questions with answers, or why they rejected the tool."""
    if result.startswith(_QUESTIONS_ANSWERED):
        return [f"{question} {answer}" for question, answer in _ANSWERED.findall(result)]
    begin = _TYPED.search(result) if result.startswith(_REJECTED) else None
    typed = _TYPED_ENDS.split(result[begin.end() :], 1)[0].strip() if begin else ""
    return [typed] if typed else []


def new_turn(prompt: str, prompt_id: Any, session_id: Any, uuid: Any, started_at: Any) -> Fields:
    """Create a turn that begins with a prompt; an id or a time that is not a string becomes None.

    Its members: `prompts` (the first, and those that the user added while the assistant worked), `assistant`
    (the answers, joined by blank lines in the end), `tools`, `files`, `commands` (first lines of shell
    commands), each once; `runs` (for each run of a command: the call's id, the command, and its failure or
    None); `prompt_id`, `session_id`, `uuid`; `started_at` (ISO 8601); `complete` (the assistant had the last
    word), `interrupted` (by the user), `failed` (the service did); `folders` (the working folders, as keys).
    Some turns also have `until`, the time of their last line.
    """
    turn: Fields = {
        "prompts": [prompt],
        "assistant": [],
        "tools": [],
        "files": [],
        "commands": [],
        "runs": [],
    }
    turn.update(complete=False, interrupted=False, failed=False, folders={})
    for name, value in (("prompt_id", prompt_id), ("session_id", session_id), ("uuid", uuid)):
        turn[name] = value if isinstance(value, str) and value.strip() else None
    turn["started_at"] = started_at if isinstance(started_at, str) else None
    return turn


def add_command(turn: Fields, command: str, call_id: Any = None) -> None:
    """Add the first line of a command to a turn; a repeated command moves to the end."""
    line = command.strip().partition("\n")[0].strip()[:_LONGEST_LINE]
    if line:
        turn["runs"] = [*turn["runs"], [call_id, line, None]][-_MOST_RUNS:]
        turn["commands"] = [*(known for known in turn["commands"] if known != line), line][-MAX_COMMANDS:]


def add_result(turn: Fields, call_id: Any, output: str, is_error: bool | None = None) -> None:
    """Note that the command of a call failed, if its output says so; a user's reply is no output."""
    run = next((run for run in reversed(turn["runs"]) if call_id is not None and run[0] == call_id), None)
    if run and not user_words_in_result(output) and not output.startswith(_REJECTED):
        run[2] = failure_of(output, is_error)


def _brief(command: str) -> str:
    return command if len(command) <= MAX_COMMAND else f"{command[: MAX_COMMAND - 1].rstrip()}…"


def once(labels: Iterable[Any]) -> list[str]:
    """Return each label once, in order, within the limits of a record."""
    texts = (label for label in labels if isinstance(label, str) and label.strip())
    return list(dict.fromkeys(label for label in texts if len(label) <= MAX_LABELS))[:MAX_LABELS]
