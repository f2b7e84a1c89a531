"""Shows one line before an edit or a command, or after a failed command, if a memory is about exactly that.

An engine has chosen the lines and written them to a file (`home/openings`); without that file a hook is
silent. A session is shown each memory once.
"""

from __future__ import annotations

import re

from scrubjay.home import given, openings, spool

MOST_TOKENS = 120  # of a line, including the tags around it
_MOST_TEXT = 20_000  # characters of an edit or a command that are searched
_HEAD = "From this user's earlier sessions; it may be outdated."
_TAGS = 40  # characters of the tags around a text
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file")
_TEXTS = (
    *("old_string", "new_string", "oldString", "newString", "old_str", "new_str"),
    *("content", "file_text", "new_source"),
)
_UPWARD = re.compile(r"^(?:\.{0,2}/)+")  # before a path, such as "./" and "../"
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.{1,300})$", re.MULTILINE)


def before_tool(event, hints, now):
    """Return the hint about the file, symbol or command of a tool that will run, or None."""
    files, texts, command = subject(event.inputs)
    if not files and not command:
        return None
    for hint in hints.get("about", ()):
        if hint["until"] is not None and hint["until"] <= now:
            continue
        if (
            any(_is_file(remembered, path) for remembered in hint["files"] for path in files)
            or any(_has_word(text, name) for name in hint["symbols"] for text in texts)
            or any(
                _has_word(command, words) for words in (*hint["commands"], *filter(_is_path, hint["files"]))
            )
        ):
            return hint
    return None


def after_tool(event, hints, now):
    """Return the hint about what once fixed the error that a command failed with now, or None.

    Codex does not report whether a command failed. So for every host only the output counts: it must have the
    shape of a known error.
    """
    if not subject(event.inputs)[2] or not hints.get("errors"):
        return None
    from scrubjay.transcripts.failures import failure_of, shape  # compiling its patterns takes some ms

    error = failure_of(event.output or "", is_error=True)
    failed_shape = shape(error).strict if error else ""
    matches = [hint for hint in hints["errors"] if hint["shape"] and hint["shape"] == failed_shape]
    return matches[-1] if matches else None  # the newest


def done_tool(event, hints, now):
    """Return the hint of `after_tool` or `before_tool`, for hosts whose model gets no line before a tool."""
    return after_tool(event, hints, now) or before_tool(event, hints, now)


HINTS = {"before": before_tool, "after": after_tool, "done": done_tool}


def hint(home, event, scope, now):
    """Return the line for a tool's event, or "", and note that the session was shown it."""
    chosen = HINTS[event.kind](event, openings.hints(home, scope), now)
    if chosen is None:
        return ""
    folder = spool.session_folder(home, event.session_id)
    text = f"{_HEAD}\n- {chosen['text']}"
    if given.tokens_of(text) + _TAGS // 4 > MOST_TOKENS or chosen["id"] in given.noted(folder):
        return ""
    # If it cannot be noted, the line would be shown again and again.
    return text if given.note_in(folder, [chosen["id"]]) else ""


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
    parts = [inputs, *(edit for edit in (edits if isinstance(edits, list) else ()) if isinstance(edit, dict))]
    texts = [part[key][:_MOST_TEXT] for part in parts for key in _TEXTS if isinstance(part.get(key), str)]
    paths = [inputs[key] for key in _PATHS if isinstance(inputs.get(key), str)]
    return paths if texts else [], texts, command[:_MOST_TEXT] if isinstance(command, str) else ""


def _is_file(remembered, path):
    """Return True if a remembered path is `path` or the end of it."""
    path, remembered = path.replace("\\", "/"), _UPWARD.sub("", remembered.replace("\\", "/"))
    return path == remembered or path.endswith(f"/{remembered}")


def _is_path(text):
    return "/" in text


def _has_word(text, word):
    """Return True if a text contains `word`, which may be several words, not as a part of longer words."""
    start = text.find(word)
    while start >= 0:
        around = text[start - 1 : start] + text[start + len(word) : start + len(word) + 1]
        if not any(letter.isalnum() or letter in "_-" for letter in around):
            return True
        start = text.find(word, start + 1)
    return False
