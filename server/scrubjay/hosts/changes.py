"""Edits hosts' configuration files, and undoes the edits.

For every changed file we record how to undo the change: as long as nothing else has changed the file, it is
restored byte for byte; otherwise only our entries are removed.
"""

import base64
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrubjay.errors import HomeError, InputError
from scrubjay.home import files
from scrubjay.home.paths import Home
from scrubjay.hosts.entries import EditedText, Entry, is_there, parsed, read, strip


@dataclass(frozen=True)
class OwnFile:
    """A file that is entirely ours."""

    file: str
    content: bytes


Change = Entry | OwnFile


class Draft(NamedTuple):
    """A file's new content: its bytes now and after the change (None: no file), and the note to keep."""

    path: str
    now: bytes | None
    then: bytes | None
    note: dict[str, Any] | None

    @property
    def changes(self) -> bool:
        """Return True if the file would change."""
        return self.now != self.then


def connecting(home: Home, changes: Sequence[Change]) -> list[Draft]:
    """Return drafts of the files with these changes; a file that has them already is not changed.

    Raises:
        InputError: a file is invalid, or cannot be edited without touching the rest.
        HomeError: a file cannot be read, or may not be written.
    """
    notes = _notes(home)
    drafts = [_with_own(notes, change) for change in changes if isinstance(change, OwnFile)]
    return drafts + [_with(notes, path, entries) for path, entries in _by_file(changes)]


def disconnecting(home: Home, changes: Sequence[Change]) -> list[Draft]:
    """Return drafts of the files without these changes. Raises as `connecting` does."""
    notes = _notes(home)
    drafts = [_without_own(notes, change) for change in changes if isinstance(change, OwnFile)]
    return drafts + [_without(notes, path, entries) for path, entries in _by_file(changes)]


def changed_files(home: Home) -> set[str]:
    """Return the hosts' files that hold something of ours, as far as we wrote it. Raises HomeError."""
    return set(_notes(home))


def write(home: Home, drafts: Iterable[Draft]) -> list[str]:
    """Replace the files with their drafts, all or none; return the changed paths.

    Raises:
        HomeError: a file cannot be written, or was changed meanwhile.
    """
    done: list[Draft] = []
    notes = _notes(home)
    for draft in drafts:
        try:
            # The note comes first: if we die in between, its digest matches nothing, and only the exact undo
            # is lost.
            _note(home, draft.path, draft.note)
            if draft.changes:
                _replace(draft.path, draft.then, expected=draft.now)
                _tidy(draft, notes.get(draft.path))
                done.append(draft)
        except HomeError:
            for each in reversed([*done, draft]):
                with suppress(HomeError):
                    _note(home, each.path, notes.get(each.path))
                    if each in done:
                        _replace(each.path, each.now, expected=each.then)
            raise
    return [draft.path for draft in done]


def _by_file(changes: Sequence[Change]) -> Iterator[tuple[str, list[Entry]]]:
    by_file: dict[str, list[Entry]] = {}
    for change in changes:
        if isinstance(change, Entry):
            by_file.setdefault(os.path.realpath(change.file), []).append(change)
    yield from by_file.items()


def _with(notes: dict[str, Any], path: str, entries: list[Entry]) -> Draft:
    now = read(path)
    form = entries[0].format
    held = parsed(now, form, path)
    if all(is_there(held, entry) for entry in entries):
        return Draft(path, now, now, notes.get(path))
    _may_be_written(path)
    noted = notes.get(path)
    made = [tuple(way) for way in noted.get("made", ())] if isinstance(noted, dict) else []
    undone = _undone(now, noted)
    base = now if undone is None else undone[0]
    old = EditedText(base, form, path)
    lacking = [entry for entry in entries if not is_there(old.held, entry)]
    strip(old, lacking, None, here_alone=True)
    base = base if base is None else old.content
    text = EditedText(base, form, path)
    for entry in lacking:
        if entry.kind != "unwanted":
            text.put(entry)
    then = text.content
    undo = None if base is None else text.undo
    kept = [] if undone else made
    folders = noted.get("folders", []) if isinstance(noted, dict) else _lacking_folders(path)
    note = {"after": _digest(then), "undo": undo, "made": [*kept, *text.made], "folders": folders}
    return Draft(path, now, then, note)


def _without(notes: dict[str, Any], path: str, entries: list[Entry]) -> Draft:
    now, noted = read(path), notes.get(path)
    if now is None:
        return Draft(path, None, None, None)
    undone = _undone(now, noted)
    if undone is not None and undone[0] is None:
        return Draft(path, now, None, None)
    base = now if undone is None else undone[0]
    text = EditedText(base, entries[0].format, path)
    made = None
    if isinstance(noted, dict) and "made" in noted:
        made = [tuple(way) for way in noted["made"]]
    strip(text, entries, made, here_alone=False)
    then = text.content
    if then != now:
        _may_be_written(path)
    return Draft(path, now, then, None)


def _with_own(notes: dict[str, Any], change: OwnFile) -> Draft:
    path = os.path.realpath(change.file)
    now = read(path)
    if now == change.content:
        return Draft(path, now, now, notes.get(path))
    if now is not None and path not in notes and b"scrubjay" not in now:
        raise InputError(f"{path} exists and is not ours. Move it away; it was not changed.")
    _may_be_written(path)
    noted = notes.get(path)
    folders = noted["folders"] if isinstance(noted, dict) else _lacking_folders(path)
    note = {"after": _digest(change.content), "undo": None, "made": [], "folders": folders}
    return Draft(path, now, change.content, note)


def _without_own(notes: dict[str, Any], change: OwnFile) -> Draft:
    path = os.path.realpath(change.file)
    now = read(path)
    is_ours = now is not None and (path in notes or b"scrubjay" in now)
    return Draft(path, now, None if is_ours else now, None)


def _undone(now: bytes | None, noted: Any) -> tuple[bytes | None] | None:
    """Return the bytes that a file had before our change, or None if it was changed since."""
    if now is None or not isinstance(noted, dict) or noted.get("after") != _digest(now):
        return None
    if "before" in noted:  # the format of `scrubjay hooks add`, from before it knew several hosts
        return (None if noted["before"] is None else base64.b64decode(noted["before"]),)
    if noted["undo"] is None:
        return (None,)
    for start, stop, old in reversed(noted["undo"]):
        now = now[:start] + base64.b64decode(old) + now[stop:]
    return (now,)


def _may_be_written(path: str) -> None:
    with suppress(FileNotFoundError):
        if not os.stat(path).st_mode & stat.S_IWUSR:
            raise HomeError(f"{path} is read-only. Make it writable and try again; it was not changed.")


def _lacking_folders(path: str) -> list[str]:
    """Return the missing folders above a file, the deepest first."""
    lacking, folder = [], os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        lacking.append(folder)
        folder = os.path.dirname(folder)
    return lacking


def _tidy(draft: Draft, noted: Any) -> None:
    """Remove the folders that we created for a file that is gone, if they are empty."""
    if draft.then is None and isinstance(noted, dict):
        with suppress(OSError):
            for folder in noted.get("folders", ()):
                os.rmdir(folder)


def _replace(path: str, content: bytes | None, *, expected: bytes | None) -> None:
    """Replace a file in one step, keeping its mode; `None` removes it."""
    try:
        if read(path) != expected:
            raise HomeError(f"{path} was changed by another program just now. Try again.")
        if content is None:
            os.unlink(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = os.stat(path).st_mode & 0o7777 if expected is not None else 0o600
        draft = f"{path}.{os.urandom(4).hex()}"
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
        raise HomeError(f"{path} cannot be written: {error.strerror}. It was not changed.") from error


def _notes(home: Home) -> dict[str, Any]:
    try:
        notes = files.parsed(read(home.hooks) or b"{}")
    except ValueError:
        notes = {}  # our entries are still recognised by their content
    return notes if isinstance(notes, dict) else {}


def _note(home: Home, path: str, fact: dict[str, Any] | None) -> None:
    before = _notes(home)
    notes = {name: other for name, other in before.items() if name != path}
    if fact is not None:
        notes[path] = fact
    if notes != before:
        _replace(home.hooks, (json.dumps(notes, indent=1) + "\n").encode(), expected=read(home.hooks))


def _digest(content: bytes) -> str:
    from hashlib import sha256  # takes 2.5 ms, only when a file changes

    return sha256(content).hexdigest()
