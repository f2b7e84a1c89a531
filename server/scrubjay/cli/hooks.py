"""`scrubjay hooks`: shows, adds and removes the hooks by which Claude Code hands in every turn."""

import argparse
import base64
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from typing import Any

from scrubjay.cli.command import Place, choice, command, value
from scrubjay.cli.installation import hook_entries, is_our_hook
from scrubjay.errors import HomeError, InputError
from scrubjay.home.paths import Home

ACTIONS = ("show", "add", "remove")


@command(
    choice("action", ACTIONS, "show: print the JSON for doing it by hand; add, remove: change the file"),
    value("--settings", "FILE", "another file than settings.json in ~/.claude (or CLAUDE_CONFIG_DIR)"),
)
def hooks(place: Place, options: argparse.Namespace) -> None:
    """Let Claude Code hand in every turn: add its hooks, show them, or remove them."""
    if options.action == "show":
        print(json.dumps({"hooks": {event: [entry] for event, entry in hook_entries().items()}}, indent=2))
        return
    path = place.path(options.settings or settings_file(place.env))
    if options.action == "remove":
        nothing = f"There are no hooks of Scrubjay in {path}; it was not touched."
        print(f"The hooks are out of {path}." if remove(place.home, path) else nothing)
    elif not add(place.home, path):
        print(f"The hooks are in {path} already.")
    else:
        undo = "`scrubjay hooks remove` undoes this"
        print(f"The hooks are in {path}. Claude Code captures every turn from its next session on; {undo}.")
        if place.env.get("SCRUBJAY_HOME"):
            line = f'"env": {{"SCRUBJAY_HOME": {json.dumps(place.home.root)}}} in the same file'
            advice = f"Let the host know it too, or its hooks write elsewhere: {line}."
            print(f"SCRUBJAY_HOME is set here. {advice}")


def settings_file(env: Mapping[str, str]) -> str:
    """The settings file of the user, which every project follows: in CLAUDE_CONFIG_DIR, else in ~/.claude."""
    folder = env.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    return os.path.join(folder, "settings.json")


def add(home: Home, path: str) -> bool:
    """Register our hooks in a settings file, and say whether anything changed.

    They replace those of an older installation.

    Raises:
        InputError: the file is not what a settings file is; it stays as it is.
        HomeError: it cannot be read or written.
    """
    path = os.path.realpath(path)
    now = _read(path)
    entries = hook_entries()
    if ours(_parse(now, path)) == {event: entry["hooks"] for event, entry in entries.items()}:
        return False
    before = _without_ours(home, path, now)
    settings = _parse(before, path)
    events = settings.setdefault("hooks", {})
    for event, entry in entries.items():
        events.setdefault(event, []).append(entry)
    after = _dumped(settings, like=before)
    # The note first: should we die between the two, a digest that fits nothing only costs the byte identity.
    encoded = None if before is None else base64.b64encode(before).decode()
    _note(home, path, {"before": encoded, "after": _digest(after)})
    _replace(path, after, expected=now)
    return True


def remove(home: Home, path: str) -> bool:
    """Take our hooks out of a settings file, and nothing else; whether there were any.

    Raises as `add` does.
    """
    path = os.path.realpath(path)
    now = _read(path)
    before = _without_ours(home, path, now)
    if before != now:
        _replace(path, before, expected=now)
    _note(home, path, None)
    return before != now


def ours(settings: Any) -> dict[str, list[dict[str, Any]]]:
    """Our handlers in a settings file's object, by event."""
    events = settings.get("hooks") if isinstance(settings, dict) else None
    by_event: dict[str, list[dict[str, Any]]] = {}
    for event, entries in events.items() if isinstance(events, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            handlers = entry.get("hooks") if isinstance(entry, dict) else None
            for handler in handlers if isinstance(handlers, list) else ():
                if is_our_hook(handler):
                    by_event.setdefault(event, []).append(handler)
    return by_event


def _without_ours(home: Home, path: str, now: bytes | None) -> bytes | None:
    """The file's bytes as they were before our hooks; None when there was no file."""
    if now is None:
        return None
    noted = _notes(home).get(path)
    if isinstance(noted, dict) and noted.get("after") == _digest(now):
        return None if noted["before"] is None else base64.b64decode(noted["before"])
    settings = _parse(now, path)
    if not ours(settings):
        return now
    events = settings["hooks"]
    for event, entries in list(events.items()):
        stripped = [other for entry in entries if (other := _stripped(entry)) is not None]
        events[event] = stripped
        if entries and not stripped:
            del events[event]
    if not events:
        del settings["hooks"]
    return _dumped(settings, like=now)


def _stripped(entry: dict[str, Any]) -> dict[str, Any] | None:
    """An entry without our handlers; itself if it has none, None if it has nothing else."""
    handlers = entry.get("hooks")
    others = [one for one in handlers if not is_our_hook(one)] if isinstance(handlers, list) else handlers
    if others == handlers:
        return entry
    return {**entry, "hooks": others} if others else None


def _parse(raw: bytes | None, path: str) -> dict[str, Any]:
    if raw is None:
        return {}
    advice = "Put it right or name another file with --settings; it was not touched."
    try:
        settings = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}. {advice}") from None
    if not isinstance(settings, dict):
        raise InputError(f"{path} holds a {type(settings).__name__} and not an object. {advice}")
    events = settings.get("hooks", {})
    entries = events.values() if isinstance(events, dict) else [None]
    if not all(isinstance(one, list) and all(isinstance(entry, dict) for entry in one) for one in entries):
        raise InputError(f'"hooks" in {path} does not map events to lists of objects. {advice}')
    return settings


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are each there once: of two, writing the file anew would lose one."""
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r} is there twice in one object")
    return unique


def _dumped(settings: dict[str, Any], like: bytes | None) -> bytes:
    """Settings as JSON, with the indentation, line ends, mark and last newline of the original bytes."""
    text = "{}\n" if like is None else like.decode("utf-8-sig")
    indent = re.search(r"\n([ \t]+)\S", text)
    compact = like is not None and "\n" not in text.strip() and text.strip() != "{}"
    # half a surrogate pair can only be escaped
    escaped = text.isascii() or re.search(r"\\u[dD][89a-fA-F]", text)
    step = None if compact else indent[1] if indent else 2
    out = json.dumps(settings, indent=step, ensure_ascii=bool(escaped))
    out = out.replace("\n", "\r\n" if "\r\n" in text else "\n") + text[len(text.rstrip()) :]
    return (b"\xef\xbb\xbf" if like and like.startswith(b"\xef\xbb\xbf") else b"") + out.encode()


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        advice = "Name another file with --settings."
        raise HomeError(f"{path} cannot be read: {error.strerror}. {advice}") from error


def _replace(path: str, content: bytes | None, *, expected: bytes | None) -> None:
    """Put a whole new file in the place of `path`, with its mode; `None` removes it."""
    try:
        if _read(path) != expected:
            raise HomeError(f"{path} was changed by somebody else just now. Try again.")
        if content is None:
            os.unlink(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = os.stat(path).st_mode & 0o7777 if expected is not None else 0o600
        draft = f"{path}.{secrets.token_hex(4)}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, mode)
            os.replace(draft, path)
        finally:
            if os.path.exists(draft):
                os.unlink(draft)
    except OSError as error:
        advice = "It was not touched; name another file with --settings."
        raise HomeError(f"{path} cannot be written: {error.strerror}. {advice}") from error


def _notes(home: Home) -> dict[str, Any]:
    raw = _read(home.hooks)
    try:
        notes = json.loads(raw or b"{}")
    except ValueError:
        notes = {}  # without it our entries are still known by what they are
    return notes if isinstance(notes, dict) else {}


def _note(home: Home, path: str, fact: dict[str, Any] | None) -> None:
    notes = {name: other for name, other in _notes(home).items() if name != path}
    if fact is not None:
        notes[path] = fact
    before = _read(home.hooks)
    if notes or before is not None:
        _replace(home.hooks, (json.dumps(notes, indent=1) + "\n").encode(), expected=before)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
