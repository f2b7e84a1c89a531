"""Says one line before an edit or a command, or when a command failed, if a memory is about exactly that.

What may be said was chosen by an engine and is in a file (`home/openings`); without it a hook is silent. A
session is given each memory once.
"""

from __future__ import annotations

import os
import re

from scrubjay.home import openings, spool
from scrubjay.home.given import tokens_of

MOST_TOKENS = 120  # of what is said, with the tags around it
GIVEN = "given"  # a file in a session's folder: the ids of what it was given
_MOST_TEXT = 20_000  # characters of an edit or a command that are looked through
_HEAD = "From this user's earlier sessions; it may be outdated."
_TAGS = 40  # characters around a text
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file")
_TEXTS = (
    *("old_string", "new_string", "oldString", "newString", "old_str", "new_str"),
    *("content", "file_text", "new_source"),
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.{1,300})$", re.MULTILINE)


def before_tool(event, hints, now):
    """Return the hint about the file, symbol or command of a tool that is to run; None without one."""
    files, texts, command = subject(event.inputs)
    if not files and not command:
        return None
    for hint in hints.get("about", ()):
        if hint["until"] is not None and hint["until"] <= now:
            continue
        if (
            any(_is_file(named, path) for named in hint["files"] for path in files)
            or any(_has_word(text, name) for name in hint["symbols"] for text in texts)
            or any(_has_word(command, each) for each in (*hint["commands"], *filter(_is_path, hint["files"])))
        ):
            return hint
    return None


def after_tool(event, hints, now):
    """Return what made a command pass after the error that it failed with now; None if that is unknown.

    Codex does not say whether a command failed. Only the shape of a known error counts, so no other host is
    asked either.
    """
    if not subject(event.inputs)[2] or not hints.get("errors"):
        return None
    from scrubjay.transcripts.failures import failure_of, shape  # its patterns take some ms

    error = failure_of(event.output or "", is_error=True)
    failed = shape(error).strict if error else ""
    found = [hint for hint in hints["errors"] if hint["shape"] and hint["shape"] == failed]
    return found[-1] if found else None  # the newest


def done_tool(event, hints, now):
    """Return either, where the host shows its model nothing that is said before a tool."""
    return after_tool(event, hints, now) or before_tool(event, hints, now)


HINTS = {"before": before_tool, "after": after_tool, "done": done_tool}


def hint(home, event, scope, now):
    """Return the line for a tool's event, "" for none, and note that the session was given it."""
    found = HINTS[event.kind](event, openings.hints(home, scope), now)
    if found is None:
        return ""
    folder = spool.session_folder(home, event.session_id)
    text = f"{_HEAD}\n- {found['text']}"
    if tokens_of(text) + _TAGS // 4 > MOST_TOKENS or not _is_first(folder, found["id"]):
        return ""
    return text


def subject(inputs):
    """Return the files that a tool changes, the texts of the change, and the command that it runs.

    A tool that only reads changes nothing.
    """
    command = next((inputs[key] for key in ("command", "cmd") if key in inputs), "")
    if isinstance(command, list):  # ["bash", "-lc", "make"]
        command = command[-1] if command else ""
    patch = next(
        (inputs[key] for key in ("patch", "patchText", "input") if isinstance(inputs.get(key), str)), ""
    )
    if isinstance(command, str) and "*** Begin Patch" in command:
        command, patch = "", command
    if patch:
        return _PATCHED.findall(patch[:_MOST_TEXT]), [patch[:_MOST_TEXT]], ""
    edits = inputs.get("edits")
    parts = [inputs, *(each for each in (edits if isinstance(edits, list) else ()) if isinstance(each, dict))]
    texts = [part[key][:_MOST_TEXT] for part in parts for key in _TEXTS if isinstance(part.get(key), str)]
    paths = [inputs[key] for key in _PATHS if isinstance(inputs.get(key), str)]
    return paths if texts else [], texts, command[:_MOST_TEXT] if isinstance(command, str) else ""


def _is_file(named, path):
    """Return True if a memory's path is this one, or its end."""
    path, named = path.replace("\\", "/"), named.replace("\\", "/").lstrip("./")
    return path == named or path.endswith(f"/{named}")


def _is_path(named):
    return "/" in named


def _has_word(text, word):
    """Return True if a text holds these words, and not as a part of others."""
    at = text.find(word)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(word) : at + len(word) + 1]
        if not any(letter.isalnum() or letter in "_-" for letter in around):
            return True
        at = text.find(word, at + 1)
    return False


def _is_first(folder, record_id):
    """Return True if a session was not given this memory before, and note that it is now."""
    path = os.path.join(folder, GIVEN)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return False  # without a note it would be said again and again
    with open(descriptor, "r+", encoding="utf-8") as file:
        if record_id in file.read().split():
            return False
        file.write(f"{record_id}\n")
    return True
