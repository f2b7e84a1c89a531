"""Recognises what hosts add to a user's words, and messages that hosts write in the user's name.

`texts.json` has the beginnings of such messages, names of tags, tools and their inputs, and what hosts write.
Standard library only, Python 3.9 syntax: every hook imports this.
"""

from __future__ import annotations

import json
import os
import re

from scrubjay.transcripts.json_lines import parsed, string

MEMORY_OPEN, MEMORY_CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
COMMAND_OPEN, COMMAND_CLOSE = "<scrubjay-command>", "</scrubjay-command>"
# Notes of the host, recalled memories, the text of our commands, outputs of hooks, and what an editor shows.
_INJECTED = (
    "<(system-reminder|scrubjay-memory|scrubjay-command|user-prompt-submit-hook"
    "|ide_(?:selection|opened_file|diagnostics))>"
)
# A notification before the user's words, with the host's line after it.
_NOTIFICATION = (
    r"(?s)\s*<((?:task|agent|bash|subagent)[-_]notification|turn_aborted)>.*?</\1>"
    r"(?:\s*(?:Read the output file to retrieve|Full transcript available at)[^\n]*)?"
)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts.json"), "rb") as _file:
    TEXTS: dict[str, list[str]] = json.loads(_file.read())
# Beginnings of messages in the user's name: from other agents, sessions and programs, and the host's notes.
_OTHERS = tuple(TEXTS["from_others"])
_NOT_SAID = (*TEXTS["from_host"], *_OTHERS)
INTERRUPTED = TEXTS["interrupted"]
_REQUEST = "## My request for Codex:"  # what an editor puts between its own context and the user's words
# Gemini CLI and Qwen Code put the files that a prompt names with @ between these lines, after the prompt.
_FILES_OPEN, _FILES_CLOSE = "\n--- Content from referenced files ---\n", "\n--- End of content ---"
_COMMAND_AS_JSON = f'"{COMMAND_OPEN}'  # how Gemini CLI submits a prompt of a server
_ERRORS = ("API Error: ", "API Error (")


def strip_injected(text: str) -> str:
    """Remove the host's notes, our recalled memories, what an editor adds, and outer blanks from a text.

    The contents of files that the text names with @ are removed too, and notifications before the user's
    words. An opening tag that is never closed is part of the text.
    """
    if _REQUEST in text and text.lstrip().startswith("# "):
        text = text.partition(_REQUEST)[2]
    if text.lstrip().startswith(_COMMAND_AS_JSON):
        text = string(parsed(text.strip())) or text
    if _FILES_OPEN in text and _FILES_CLOSE in text:
        prompt, _, rest = text.partition(_FILES_OPEN)
        text = prompt + rest.rpartition(_FILES_CLOSE)[2]
    parts, end = [], 0
    unclosed = set()
    for opening in re.finditer(_INJECTED, text) if "<" in text else ():
        tag = opening.group(1)
        if opening.start() < end or tag in unclosed:
            continue
        closing = text.find(f"</{tag}>", opening.end())
        if closing < 0:
            unclosed.add(tag)  # later tags of this name are not closed either
            continue
        parts.append(text[end : opening.start()])
        end = closing + len(tag) + 3
    return _after_notifications(("".join(parts) + text[end:]).strip())


def _after_notifications(text: str) -> str:
    """Return what follows the notifications at the beginning of a text; the whole text if nothing does."""
    end = 0
    while text.startswith("<") and (notification := re.compile(_NOTIFICATION).match(text, end)):
        end = notification.end()
    return text[end:].lstrip() or text


def is_said(text: str) -> bool:
    """Return True if the user wrote this to the assistant; hosts also call other texts prompts."""
    return text not in INTERRUPTED and not text.startswith(_NOT_SAID)


def is_from_others(text: str) -> bool:
    """Return True for a message that a host passes on in the user's name."""
    return text.startswith(_OTHERS)


def is_error(answer: str) -> bool:
    """Return True for the host's message that the service failed; before 2.1.78 it looks like an answer."""
    return answer.startswith(_ERRORS)


def tagged(text: str, tag: str) -> str:
    """Return the text inside the first such tag; "" if the text has none."""
    _, opening, rest = text.partition(f"<{tag}>")
    inner, closing, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opening and closing else ""
