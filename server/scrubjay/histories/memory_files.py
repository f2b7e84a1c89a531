"""Reads the files in which hosts keep their memories: finds them, their projects, and the notes in them.

`hosts.json` names the files. They are never changed.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from scrubjay.histories.cursor import workspace_folder
from scrubjay.histories.disk import Disk, embedded, files_below, parsed
from scrubjay.histories.keeping import pauses
from scrubjay.histories.notes import Note, notes
from scrubjay.histories.stored import instant, pieces
from scrubjay.histories.transcripts import gemini_folder
from scrubjay.home import capture
from scrubjay.home.capture_policy import pauses as kept_pauses
from scrubjay.home.files import read_whole
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE, is_elsewhere, is_scope, project_of
from scrubjay.hosts.facts import HOSTS
from scrubjay.hosts.machine import Machine
from scrubjay.redaction.redact import redact
from scrubjay.transcripts.json_lines import mapping, string

MOST_FILES = 2_000  # newest files of each host that are read
MOST_NOTES = 500  # notes of each file that are read
MAX_FILE = 2**20  # bytes; a host's own limits are far below
_MOST_DEPTH = 3  # folders between a place and a file in it
_HEAD = 200  # lines at the beginning of a transcript that may name its folder
_MARKDOWN = r".*\.md"
THIS_MACHINE = socket.gethostname()[:100] or "here"  # the machine whose files these are
STORES: dict[str, list[dict[str, Any]]] = {
    host: facts["memories"] for host, facts in HOSTS.items() if "memories" in facts
}


class MemoryFile(NamedTuple):
    """A host's file of notes, with its last change and the place in which it was found."""

    host: str
    path: str
    at: float  # seconds since 1970
    place: str
    store: dict[str, Any]  # its description in hosts.json

    @property
    def source(self) -> str:
        """Return the source of the facts in this file."""
        return f"{self.host} memory"


def memory_places(host: str, machine: Machine) -> list[tuple[str, dict[str, Any]]]:
    """Return the places of a host's memory, where `*` is any folder, with their descriptions."""
    places = []
    for store in STORES.get(host, []):
        if "setting" in store:
            places += [(path, store) for path in _user_place(store, machine)]
        else:
            places += [(path, store) for place in store["places"] for path in machine.paths(place)]
    return places


def memory_files(host: str, machine: Machine) -> list[MemoryFile]:
    """Return the existing files of a host's memory, newest first."""
    files_by_path: dict[str, MemoryFile] = {}
    for pattern, store in memory_places(host, machine):
        for place in glob.glob("*".join(map(glob.escape, pattern.split("*")))):
            for path, at in files_below(place, partial(_is_note_file, store, place), _MOST_DEPTH):
                file = MemoryFile(host, path, at, place, store)
                is_readable = path == capture.storable(path)
                if is_readable and (store.get("of") != "project" or _stays_inside(file, machine)):
                    files_by_path.setdefault(path, file)
    return sorted(files_by_path.values(), key=lambda file: file.at, reverse=True)[:MOST_FILES]


def is_gone(path: str, patterns: list[str]) -> bool:
    """Return True if a file was removed from a place of `patterns` whose parent folder still exists."""
    if os.path.lexists(path):
        return False
    matching = (
        pattern
        for pattern in patterns
        if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, f"{pattern}/*")
    )
    return any(os.path.isdir(os.path.dirname(pattern.partition("*")[0])) for pattern in matching)


def kept_file(
    home: Home, policy: capture.Policy, file: MemoryFile, machine: Machine, scope: str | None = None
) -> dict[str, Any] | None:
    """Return the arguments of a `KeptMemoryFile`; None for a file that was written during a pause.

    Notes about an excluded folder are left out. `scope`, if given, is the scope of all notes. Raises OSError
    or ValueError if the file cannot be read.
    """
    if any(off <= file.at < on for off, on in pauses(kept_pauses(home), is_paused=policy.paused)):
        return None
    all_notes = list(islice(_notes(file), MOST_NOTES + 1))
    entries: list[dict[str, Any]] = []
    redacted = left_out = 0
    find_folder = _FOLDERS.get(file.store.get("of", ""))
    with Disk(home.spool_tmp) as disk:
        file_folder = find_folder(file, machine, disk) if find_folder else None
    for note in all_notes[:MOST_NOTES]:
        folder = _folder_in(note) if file.store.get("of") == "text" else file_folder
        note_scope = scope or _scope(home, policy, file, folder)
        if note_scope is None:
            left_out += 1
            continue
        content, count = redact(capture.storable(note.content))
        redacted += count
        entries += [_entry(file, note, note_scope) | {"content": piece} for piece in pieces(content)]
    return {
        "source": file.source,
        "path": file.path,
        "entries": entries,
        "is_whole": not left_out and len(all_notes) <= MOST_NOTES,
        "left_out": left_out,
        "redacted": redacted,
    }


def _notes(file: MemoryFile) -> Iterator[Note]:
    text = read_whole(file.path, MAX_FILE).decode("utf-8-sig", "replace")
    if file.path.endswith(".patch"):
        added_lines = (line[1:] for line in text.split("\n") if line.startswith("+"))
        text = "\n".join("" if line.startswith("++ ") else line for line in added_lines)
    return notes(text, file.store.get("sections", ()))


def _entry(file: MemoryFile, note: Note, scope: str) -> dict[str, Any]:
    kind = string(mapping(note.fields.get("metadata")).get("type")) or string(note.fields.get("type"))
    tags = [*([kind] if is_scope(kind) else []), *(["proposed"] if file.path.endswith(".patch") else [])]
    details = {"section": note.section[:200], "topic": note.topic[:200]}
    updated_at = note.fields.get("updated_at") or note.fields.get("modified")
    return {
        "scope": scope,
        "at": instant(str(updated_at) if updated_at else None) or instant(file.at),
        "tags": tags,
        "session_id": capture.storable(string(note.fields.get("thread_id")))[:200].strip() or None,
        "metadata": {name: redact(capture.storable(value))[0] for name, value in details.items() if value},
    }


def _scope(home: Home, policy: capture.Policy, file: MemoryFile, folder: str | None) -> str | None:
    """Return the scope of a note, by the rules for sessions in `scrubjay import`; None to leave it out."""
    if "of" not in file.store:
        return USER_SCOPE
    if capture.may_be_excluded(policy, [folder] if folder else []):
        return None
    return project_of(home, folder, None)[1] if folder else file.host


def _folder_in(note: Note) -> str | None:
    """Return the folder that a note of Codex names."""
    match = re.search(r"\bcwd=([^;,]+)", string(note.fields.get("applies_to")))
    folder = (match[1] if match else string(note.fields.get("cwd"))).strip().removeprefix("\\\\?\\")
    return folder if os.path.isabs(folder) or is_elsewhere(folder) else None


def _enclosing_project(file: MemoryFile, machine: Machine, disk: Disk | None = None) -> str | None:
    """Return the project whose folder the file is in."""
    enclosing = (folder for folder in machine.projects if file.path.startswith(os.path.join(folder, "")))
    return max(enclosing, key=len, default=None)


def _stays_inside(file: MemoryFile, machine: Machine) -> bool:
    """Return True if no link leads out of the project, which a stranger may have made."""
    folder = _enclosing_project(file, machine) or os.sep
    relative_path = os.path.relpath(file.path, folder)
    return os.path.realpath(file.path) == os.path.join(os.path.realpath(folder), relative_path)


def _by_slug(file: MemoryFile, machine: Machine, disk: Disk) -> str | None:
    """Return the project whose path, with dashes for all but letters and digits, is the folder's name."""
    slug_folder = os.path.dirname(file.place)

    def fits(folder: str) -> bool:
        return re.sub(r"[^A-Za-z0-9]", "-", folder).casefold() == os.path.basename(slug_folder).casefold()

    if folder := next(filter(fits, machine.projects), None):
        return folder
    sessions = glob.glob(os.path.join(glob.escape(slug_folder), "*.jsonl"))
    sessions += glob.glob(os.path.join(glob.escape(slug_folder), "chats", "*.jsonl"))
    for session in sorted(sessions, reverse=True)[:5]:
        with suppress(OSError):
            lines = map(embedded, islice(disk.lines(session), _HEAD))
            if folder := next(filter(fits, (string(line.get("cwd")) for line in lines)), None):
                return folder
    return None


def _by_gemini_project(file: MemoryFile, machine: Machine, disk: Disk) -> str | None:
    project = file.place.rpartition(f"{os.sep}memory")[0]
    return gemini_folder(os.path.join(project, "chats", "x"), disk)


def _by_workspace(file: MemoryFile, machine: Machine, disk: Disk) -> str | None:
    return workspace_folder(disk, file.place.partition(f"{os.sep}memory-tool")[0])


_FOLDERS: dict[str, Callable[[MemoryFile, Machine, Disk], str | None]] = {
    "slug": _by_slug,
    "project": _enclosing_project,
    "gemini": _by_gemini_project,
    "workspace": _by_workspace,
}


def _user_place(store: dict[str, Any], machine: Machine) -> Iterator[str]:
    """Yield the folder that the user chose in the host's settings."""
    with suppress(OSError, ValueError):
        settings = mapping(parsed(read_whole(machine.path(store["settings"]), MAX_FILE)))
        folder = string(settings.get(store["setting"]))
        place = machine.join(machine.user_home, folder[2:]) if folder.startswith("~/") else folder
        if os.path.isabs(place):
            yield place.rstrip(os.sep)


def _is_note_file(store: dict[str, Any], place: str, path: str) -> bool:
    relative_path = path[len(place) :].replace(os.sep, "/").lstrip("/") or os.path.basename(path)
    return re.fullmatch(store.get("files", _MARKDOWN), relative_path) is not None
