"""The turns in the lines of Claude Code's transcripts.

The format is internal to the host and changes without notice, so lines in an unknown form are skipped.
The file lags behind: the end of a turn may be missing while the host's Stop hook runs. Reading takes
time linear in the length of a line. Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scrubjay.transcripts.book import joined
from scrubjay.transcripts.injected import INTERRUPTED, is_from_others, is_said, strip_injected, tagged
from scrubjay.transcripts.json_lines import dicts, mapping, parsed, string
from scrubjay.transcripts.turn import IMAGE, add_command, add_result, new_turn, once, user_words_in_result

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    from scrubjay.transcripts.turn import Fields

# `agentName` names a teammate; the prompts in its transcript are its lead's.
_NOT_CONVERSATION = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "agentName")
# Types of lines with a title, and the title's key: from older versions, the model, and the user (preferred).
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_FILE_INPUTS = ("file_path", "path", "notebook_path")
_SHELLS = ("Bash", "PowerShell")
# The first words of what the host adds after a summary: where the transcript is, and what the model is to do.
_AFTER_RECAP = re.compile(
    r"\n(?:If you need specific details from before|(?:Please c|C)ontinue the conversation from where)"
)
_PLAN = "ExitPlanMode"  # the tool that shows the user the plan, which is in no text of the assistant


def turns(lines: Iterable[str | bytes]) -> list[Fields]:
    """Read the turns of a transcript, in the order of the file; abandoned branches are turns too.

    Each line is one JSON object. Lines that are broken, repeated or unknown are skipped, and so are lines
    that are not between the user and the main assistant. The texts are raw: the caller redacts them.
    """
    all_turns: list[Fields] = []
    open_turn: Fields | None = None
    host_words: Fields = {}
    shell_lines: list[str] = []  # commands that the user ran since the last prompt
    for entry, is_orphan in _entries(lines):
        if _note_host_words(entry, host_words):
            continue
        is_answer = entry["type"] == "assistant"
        is_foreign = is_orphan if is_answer else _is_from_others(entry)
        if is_foreign and open_turn and open_turn["complete"]:
            open_turn = None  # the next answers are to a line that was not read, or that is not the user's
        if is_answer and open_turn:
            _add_answer(open_turn, entry)
        elif is_foreign:
            continue
        elif not is_answer:
            texts, results = _texts(entry)
            shell_lines += [tagged(text, "bash-input") for text in texts if text.startswith("<bash-input>")]
            prompt = _as_typed("\n\n".join(text for text in texts if is_said(text)))
            if open_turn:
                _add_user_actions(open_turn, entry, texts, results, prompt)
            if prompt and not results and entry["type"] != "attachment":
                open_turn = new_turn(prompt, entry.get("promptId"), *_origin(entry), entry.get("timestamp"))
                while shell_lines:
                    add_command(open_turn, shell_lines.pop(0))
                all_turns.append(open_turn)
        if open_turn:
            open_turn["until"] = entry.get("timestamp")
            open_turn["folders"].update(dict.fromkeys(filter(None, [string(entry.get("cwd"))])))
    for turn in all_turns:
        turn["assistant"] = "\n\n".join(turn["assistant"])
    for turn in all_turns[-1:]:
        _add_host_words(turn, host_words)
    return [turn for turn in all_turns if turn["assistant"] or not _is_wordless(turn)]


def _note_host_words(entry: Fields, host_words: Fields) -> bool:
    """Note the host's title or summary of the session; return False if the entry has neither."""
    kind = entry["type"]
    if kind in _TITLES:
        host_words[kind] = entry.get(_TITLES[kind])
    elif entry.get("isCompactSummary"):
        host_words["recap"] = _recap(entry)
    else:
        return False
    return True


def _add_host_words(turn: Fields, host_words: Fields) -> None:
    titles = map(host_words.get, ("custom-title", "ai-title", "summary"))
    words = {"title": next(filter(None, titles), ""), "recap": host_words.get("recap")}
    turn.update({key: value for key, value in words.items() if value})


def _entries(lines: Iterable[str | bytes]) -> Iterator[tuple[Fields, bool]]:
    """Yield the lines of the conversation, its titles and its summaries, each once.

    Other notes, subagents and `summary` lines of other sessions (which name a line of that session) are left
    out. Each entry comes with a flag: True if its parent line is missing.
    """
    seen: set[str | bytes] = set()
    for line in lines:
        entry = parsed(line)
        if not isinstance(entry, dict):
            continue
        uuid, parent = entry.get("uuid"), entry.get("parentUuid")
        key = uuid if isinstance(uuid, str) else line
        if key in seen:
            continue
        seen.add(key)
        leaf = entry.get("leafUuid")
        is_own = leaf is None or (isinstance(leaf, str) and leaf in seen)
        if (entry.get("type") in _TITLES and is_own) or (
            entry.get("isCompactSummary") and entry.get("type") == "user"
        ):
            if not entry.get("isSidechain"):
                yield entry, False
            continue
        if any(map(entry.get, _NOT_CONVERSATION)):
            continue
        if entry.get("type") in ("user", "assistant") or _is_queued(entry):
            yield entry, isinstance(parent, str) and parent not in seen


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


def _is_from_others(entry: Fields) -> bool:
    """Return True if a user line is a message of another agent, session or program."""
    if entry["type"] != "user":
        return False
    texts, _ = _texts(entry)
    return not _is_from_user(entry) or is_from_others(strip_injected("\n\n".join(texts)))


def _replies_to_tools(entry: Fields, results: list[str]) -> list[str]:
    """Return the user's answers to the assistant's questions, or their words when they rejected a tool."""
    details = mapping(entry.get("toolUseResult"))
    answers, notes = mapping(details.get("answers")), mapping(details.get("annotations"))
    if not answers:
        return [words for result in results for words in user_words_in_result(result)]
    replies = []
    for question, answer in answers.items():
        chosen = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
        note = string(mapping(notes.get(question)).get("notes"))
        replies.append(" ".join(filter(None, (question, chosen, note))))
    return replies


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


def _is_wordless(turn: Fields) -> bool:
    """Return True if a prompt is only a picture or a slash command: unanswered, it was for the host."""
    return turn["prompts"] == [IMAGE] or re.match(r"/[\w:-]+(?:\s|\Z)", turn["prompts"][0]) is not None


def _origin(entry: Fields) -> tuple[Any, Any]:
    """Return the session id and the id of a line, or those of the original line if a fork copied it."""
    source = mapping(entry.get("forkedFrom"))
    return source.get("sessionId") or entry.get("sessionId"), source.get("messageUuid") or entry.get("uuid")


def _add_answer(turn: Fields, entry: Fields) -> None:
    if entry.get("isApiErrorMessage"):
        turn["failed"], turn["complete"] = True, False
        return
    if mapping(entry.get("message")).get("model") == "<synthetic>":
        return  # the host's own words
    turn["failed"] = False  # the host tried again
    for block in _blocks(entry):
        if block.get("type") == "text" and (text := strip_injected(string(block.get("text")))):
            turn["assistant"].append(text)
            turn["complete"] = True
        elif block.get("type") == "tool_use":
            inputs = mapping(block.get("input"))
            plan = strip_injected(string(inputs.get("plan"))) if block.get("name") == _PLAN else ""
            if plan and plan not in turn["assistant"]:
                turn["assistant"].append(plan)
            turn["tools"] = once([*turn["tools"], block.get("name")])
            turn["files"] = once([*turn["files"], *map(inputs.get, _FILE_INPUTS)])
            if block.get("name") in _SHELLS and isinstance(inputs.get("command"), str):
                add_command(turn, inputs["command"], block.get("id"))
            turn["complete"] = False


def _add_user_actions(turn: Fields, entry: Fields, texts: list[str], results: list[str], prompt: str) -> None:
    """Add what the user did during a turn: interrupt it, queue a prompt, or answer a tool."""
    if any(text in INTERRUPTED for text in (*texts, *results)):
        turn["interrupted"], turn["complete"] = True, False
    for block in _blocks(entry):
        if block.get("type") == "tool_result":
            output = joined(block.get("content")).strip()
            add_result(turn, block.get("tool_use_id"), output, block.get("is_error") is True)
    if entry["type"] == "attachment":
        added = [prompt] if prompt else None
    else:
        added = _replies_to_tools(entry, results) if results else None
    if added is not None:
        turn["prompts"] += added
        turn["complete"] = False
