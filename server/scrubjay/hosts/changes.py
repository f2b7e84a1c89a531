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
from scrubjay.hosts.entries import EditedText, Entry, is_present, parsed, read, strip


@dataclass(frozen=True)
class OwnFile:
    """A file that is entirely ours."""

    file: str
    content: bytes


Change = Entry | OwnFile


class Draft(NamedTuple):
    """A planned change of a file: its bytes now and afterwards (None: no file), and the note for the undo."""

    path: str
    now: bytes | None
    then: bytes | None
    note: dict[str, Any] | None

    @property
    def changes(self) -> bool:
        """Return True if the file would change."""
        return self.now != self.then


def connecting(home: Home, changes: Sequence[Change]) -> list[Draft]:
    """Return drafts that make these changes; a file that already has them is not changed.

    Raises InputError if a file is invalid, or cannot be edited without touching the rest; HomeError if a file
    cannot be read, or may not be written.
    """
    notes = _notes(home)
    drafts = [_draft_with_file(notes, change) for change in changes if isinstance(change, OwnFile)]
    return drafts + [_draft_with_entries(notes, path, entries) for path, entries in _by_file(changes)]


def disconnecting(home: Home, changes: Sequence[Change]) -> list[Draft]:
    """Return drafts that remove these changes. Raises as `connecting` does."""
    notes = _notes(home)
    drafts = [_draft_without_file(notes, change) for change in changes if isinstance(change, OwnFile)]
    return drafts + [_draft_without_entries(notes, path, entries) for path, entries in _by_file(changes)]


def changed_files(home: Home) -> set[str]:
    """Return the paths of the hosts' files that we changed. Raises HomeError."""
    return set(_notes(home))


def write(home: Home, drafts: Iterable[Draft]) -> list[str]:
    """Replace the files with their drafts, all or none; return the changed paths.

    Raises HomeError if a file cannot be written, or another program changed it meanwhile.
    """
    written: list[Draft] = []
    notes = _notes(home)
    for draft in drafts:
        try:
            # The note comes first: if we die in between, its digest matches no file, and only the exact undo
            # is lost.
            _save_note(home, draft.path, draft.note)
            if draft.changes:
                _replace(draft.path, draft.then, expected=draft.now)
                _remove_empty_folders(draft, notes.get(draft.path))
                written.append(draft)
        except HomeError:
            for previous in reversed([*written, draft]):
                with suppress(HomeError):
                    _save_note(home, previous.path, notes.get(previous.path))
                    if previous in written:
                        _replace(previous.path, previous.now, expected=previous.then)
            raise
    return [draft.path for draft in written]


def _by_file(changes: Sequence[Change]) -> Iterator[tuple[str, list[Entry]]]:
    by_file: dict[str, list[Entry]] = {}
    for change in changes:
        if isinstance(change, Entry):
            by_file.setdefault(os.path.realpath(change.file), []).append(change)
    yield from by_file.items()


def _draft_with_entries(notes: dict[str, Any], path: str, entries: list[Entry]) -> Draft:
    now = read(path)
    form = entries[0].format
    config = parsed(now, form, path)
    if all(is_present(config, entry) for entry in entries):
        return Draft(path, now, now, notes.get(path))
    _check_writable(path)
    old_note = notes.get(path)
    created = [tuple(keys) for keys in old_note.get("made", ())] if isinstance(old_note, dict) else []
    original = _original(now, old_note)
    base = now if original is None else original[0]
    cleaned = EditedText(base, form, path)
    missing = [entry for entry in entries if not is_present(cleaned.config, entry)]
    strip(cleaned, missing, None, own_lists_only=True)
    base = base if base is None else cleaned.content
    text = EditedText(base, form, path)
    for entry in missing:
        if entry.kind != "unwanted":
            text.put(entry)
    then = text.content
    undo = None if base is None else text.undo
    still_created = [] if original else created
    folders = old_note.get("folders", []) if isinstance(old_note, dict) else _missing_folders(path)
    note = {"after": _digest(then), "undo": undo, "made": [*still_created, *text.created], "folders": folders}
    return Draft(path, now, then, note)


def _draft_without_entries(notes: dict[str, Any], path: str, entries: list[Entry]) -> Draft:
    now, note = read(path), notes.get(path)
    if now is None:
        return Draft(path, None, None, None)
    original = _original(now, note)
    if original is not None and original[0] is None:
        return Draft(path, now, None, None)
    base = now if original is None else original[0]
    text = EditedText(base, entries[0].format, path)
    created = None
    if isinstance(note, dict) and "made" in note:
        created = [tuple(keys) for keys in note["made"]]
    strip(text, entries, created, own_lists_only=False)
    then = text.content
    if then != now:
        _check_writable(path)
    return Draft(path, now, then, None)


def _draft_with_file(notes: dict[str, Any], change: OwnFile) -> Draft:
    path = os.path.realpath(change.file)
    now = read(path)
    if now == change.content:
        return Draft(path, now, now, notes.get(path))
    if now is not None and path not in notes and b"scrubjay" not in now:
        raise InputError(f"{path} exists and is not ours. Move it away; it was not changed.")
    _check_writable(path)
    old_note = notes.get(path)
    folders = old_note["folders"] if isinstance(old_note, dict) else _missing_folders(path)
    note = {"after": _digest(change.content), "undo": None, "made": [], "folders": folders}
    return Draft(path, now, change.content, note)


def _draft_without_file(notes: dict[str, Any], change: OwnFile) -> Draft:
    path = os.path.realpath(change.file)
    now = read(path)
    is_ours = now is not None and (path in notes or b"scrubjay" in now)
    return Draft(path, now, None if is_ours else now, None)


def _original(now: bytes | None, note: Any) -> tuple[bytes | None] | None:
    """Return a file's bytes before our change (None: no file) in a tuple; None if it has changed since."""
    if now is None or not isinstance(note, dict) or note.get("after") != _digest(now):
        return None
    if "undo" not in note:  # an older `scrubjay hooks add` wrote it, so that only our entries are removed
        return None
    if note["undo"] is None:
        return (None,)
    for start, stop, old in reversed(note["undo"]):
        now = now[:start] + base64.b64decode(old) + now[stop:]
    return (now,)


def _check_writable(path: str) -> None:
    with suppress(FileNotFoundError):
        if not os.stat(path).st_mode & stat.S_IWUSR:
            raise HomeError(f"{path} is read-only. Make it writable and try again; it was not changed.")


def _missing_folders(path: str) -> list[str]:
    """Return the missing folders above a file, the deepest first."""
    missing, folder = [], os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _remove_empty_folders(draft: Draft, note: Any) -> None:
    """Remove the empty folders that we created for a removed file."""
    if draft.then is None and isinstance(note, dict):
        with suppress(OSError):
            for folder in note.get("folders", ()):
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
        notes = files.parse_json(read(home.hooks) or b"{}")
    except ValueError:
        notes = {}  # our entries are still recognised by their content
    return notes if isinstance(notes, dict) else {}


def _save_note(home: Home, path: str, note: dict[str, Any] | None) -> None:
    old_notes = _notes(home)
    notes = {name: other for name, other in old_notes.items() if name != path}
    if note is not None:
        notes[path] = note
    if notes != old_notes:
        _replace(home.hooks, (json.dumps(notes, indent=1) + "\n").encode(), expected=read(home.hooks))


def _digest(content: bytes) -> str:
    from hashlib import sha256  # takes 2.5 ms, only when a file changes

    return sha256(content).hexdigest()
