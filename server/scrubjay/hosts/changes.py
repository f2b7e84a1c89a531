"""Edits hosts' configuration files, and undoes the edits.

An edit adds or removes one value and leaves every other character in place; afterwards the text is parsed
again and compared with the expected value. For every changed file we record how to undo the change: as long
as nothing else has changed the file, it is restored byte for byte; otherwise only our entries are removed.
"""

import base64
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from scrubjay.errors import HomeError, InputError
from scrubjay.home import files
from scrubjay.home.paths import Home
from scrubjay.hosts import json_text, toml_text, yaml_text
from scrubjay.hosts.installation import is_our_hook, is_our_server, server_command

Way = tuple[str | int, ...]  # the path to a value: names in objects, numbers in lists
_BOM = b"\xef\xbb\xbf"
_DEEPEST = 200  # levels of a configuration; real ones have ten


class _Edit(Protocol):
    def __call__(self, text: str, keys: Any, value: Any, /) -> str: ...


class Format(NamedTuple):
    """How to parse and edit one kind of text; a text that cannot be edited is a ValueError."""

    name: str
    parse: Callable[[str], Any]
    put: _Edit  # set a member
    append: _Edit  # add an element to a list
    delete: Callable[[str, Any], str]


def _no_lists(text: str, keys: Any, value: Any) -> str:
    raise ValueError("lists are not edited in files of this kind")


JSON = Format("JSON", json_text.parse, json_text.put, json_text.append, json_text.delete)
JSONC = JSON._replace(parse=json_text.parse_with_comments)  # with comments and trailing commas
TOML = Format("TOML", toml_text.parse, toml_text.put, _no_lists, toml_text.delete)
YAML = Format("YAML", yaml_text.parse, yaml_text.put, _no_lists, yaml_text.delete)


@dataclass(frozen=True)
class Entry:
    """One of our values in a host's file: the member at `keys`, or another element of the list there.

    A frame is something that the file needs around our value, such as a version: it is set only if missing,
    and removed with our last entry if we added it. A trace is an entry that the host itself added about us:
    it is only removed. An unwanted one is a list that may have an element of ours from earlier settings.
    """

    file: str
    format: Format
    keys: tuple[str, ...]
    value: Any
    kind: Literal["member", "element", "frame", "trace", "unwanted"] = "member"


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


def ours(held: Any) -> Iterator[Way]:
    """Yield the paths to our hooks and servers in a value, from last to first."""
    if is_our_hook(held) or is_our_server(held):
        yield ()
    elif isinstance(held, dict | list):
        inner = held.items() if isinstance(held, dict) else enumerate(held)
        for key, value in reversed(list(inner)):
            yield from ((key, *way) for way in ours(value))


def at(held: Any, way: Sequence[str | int]) -> Any:
    """Return the value at a path; None if it does not exist."""
    for key in way:
        if isinstance(held, dict):
            held = held.get(key)
        elif isinstance(held, list) and isinstance(key, int) and key < len(held):
            held = held[key]
        else:
            return None
    return held


def read(path: str) -> bytes | None:
    """Return the bytes of a file; None if it is missing. HomeError: it cannot be read."""
    try:
        return files.read_whole(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise HomeError(f"{path} cannot be read: {why}. It was not changed.") from error


def parsed(content: bytes | None, form: Format, path: str) -> dict[str, Any]:
    """Parse a file. InputError: it is invalid, or not an object; a missing file is an empty object."""
    if content is None:
        return {}
    advice = "Correct it or choose another file; it was not changed."
    try:
        held = form.parse(content.decode("utf-8-sig"))
        if _depth(held) > _DEEPEST:
            raise ValueError("it is nested too deeply")
    except ValueError as error:
        raise InputError(f"{path} is not valid {form.name}: {error}. {advice}") from None
    if not isinstance(held, dict):
        raise InputError(f"{path} holds a {type(held).__name__}, not an object. {advice}")
    return held


def _depth(held: Any) -> int:
    depth, level = 0, [held]
    while level:
        inner = [
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        ]
        depth, level = depth + 1, [each for values in inner for each in values]
    return depth


def is_there(held: Any, entry: Entry) -> bool:
    """Return True if a file contains an entry; a working server entry of ours counts too."""
    value = at(held, entry.keys)
    if entry.kind in ("frame", "trace"):
        return value is not None or entry.kind == "trace"
    if entry.kind in ("element", "unwanted"):
        return list(_values(value)) == list(_values([entry.value]))
    servers = at(held, entry.keys[:-1])
    others = servers.values() if isinstance(servers, dict) else ()
    return bool(value == entry.value or any(map(_can_start, others)))


def _can_start(server: Any) -> bool:
    command = server_command(server) if is_our_server(server) else None
    return bool(command and shutil.which(os.path.expanduser(command[0])))


def _values(held: Any) -> Iterator[Any]:
    return (at(held, way) for way in ours(held))


def _by_file(changes: Sequence[Change]) -> Iterator[tuple[str, list[Entry]]]:
    by_file: dict[str, list[Entry]] = {}
    for change in changes:
        if isinstance(change, Entry):
            by_file.setdefault(os.path.realpath(change.file), []).append(change)
    yield from by_file.items()


class _Text:
    """The text of a file during an edit: each step is verified, and can be undone."""

    def __init__(self, content: bytes | None, form: Format, path: str) -> None:
        self._path, self._form = path, form
        self._mark = _BOM if content and content.startswith(_BOM) else b""
        self.held = parsed(content, form, path)
        empty = "{}\n" if form.name == "JSON" else ""
        self._text = empty if content is None else content.decode("utf-8-sig")
        self.undo: list[list[Any]] = []  # for each step, the changed bytes and their position
        self.made: list[Way] = []  # containers that we created

    @property
    def content(self) -> bytes:
        return self._mark + self._text.encode()

    def put(self, entry: Entry) -> None:
        """Set the entry's member, or add its element."""
        length = len(entry.keys) + (entry.kind != "member")
        self.made += [entry.keys[:end] for end in range(1, length) if at(self.held, entry.keys[:end]) is None]
        listed = entry.kind == "element"
        edit = self._form.append if listed else self._form.put
        wanted = self._form.parse(self._text)
        *way, last = entry.keys
        holder = wanted
        for key in way:
            holder = holder.setdefault(key, {}) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or (listed and not isinstance(holder.get(last, []), list)):
            raise self._refusal(f"{'.'.join(entry.keys)} has another shape")
        if listed:
            holder[last] = [*holder.get(last, []), entry.value]
        else:
            holder[last] = entry.value
        self._step(lambda text: edit(text, entry.keys, entry.value), wanted)

    def take(self, way: Way) -> None:
        """Remove the value at a path."""
        wanted = self._form.parse(self._text)
        del at(wanted, way[:-1])[way[-1]]
        self._step(lambda text: self._form.delete(text, way), wanted)

    def _step(self, edit: Callable[[str], str], wanted: Any) -> None:
        before = self.content
        try:
            text = edit(self._text)
            self.held = self._form.parse(text)
        except ValueError as error:
            raise self._refusal(str(error)) from None
        if self.held != wanted and not (self._form is TOML and _filled(self.held) == _filled(wanted)):
            raise self._refusal("the result would differ")
        self._text = text
        self.undo.append(_difference(before, self.content))

    def _refusal(self, why: str) -> InputError:
        sentence = f"{self._path} cannot be edited without touching other entries: {why}."
        return InputError(f"{sentence} Change it by hand; it was not changed.")


def _filled(held: Any) -> Any:
    """Return a value without empty tables in tables: TOML cannot express that one is left."""
    if not isinstance(held, dict):
        return held
    inner = {key: _filled(value) for key, value in held.items()}
    return {key: value for key, value in inner.items() if value != {}}


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
    old = _Text(base, form, path)
    lacking = [entry for entry in entries if not is_there(old.held, entry)]
    _strip(old, lacking, None, here_alone=True)
    base = base if base is None else old.content
    text = _Text(base, form, path)
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
    text = _Text(base, entries[0].format, path)
    made = None
    if isinstance(noted, dict) and "made" in noted:
        made = [tuple(way) for way in noted["made"]]
    _strip(text, entries, made, here_alone=False)
    then = text.content
    if then != now:
        _may_be_written(path)
    return Draft(path, now, then, None)


def _strip(text: _Text, entries: Sequence[Entry], made: list[Way] | None, *, here_alone: bool) -> None:
    """Remove our values at these entries, and then empty containers that were `made` by us (None: unknown).

    With `here_alone`, list elements are removed only from the entries' own lists, else also from those of
    other events.
    """
    for entry in entries:
        if entry.kind == "frame":
            continue
        is_element = entry.kind in ("element", "unwanted")
        holder = entry.keys if is_element and here_alone else entry.keys[:-1]
        while (way := _next(text.held, entry, holder)) is not None:
            text.take(way)
            for end in range(len(way) - 1, 0, -1):
                known = made is None or way[:end] in made or entry.kind == "trace"
                if at(text.held, way[:end]) not in ({}, []) or not known:
                    break
                text.take(way[:end])
    for entry in entries:
        if entry.kind == "frame" and entry.keys in (made or ()):
            others = [other.keys[:1] for other in entries if other.kind != "frame"]
            needed = any(keys in (made or ()) and at(text.held, keys) is not None for keys in others)
            if not needed and at(text.held, entry.keys) == entry.value:
                text.take(entry.keys)


def _next(held: Any, entry: Entry, holder: Sequence[str]) -> Way | None:
    """Return the path to our last value below `holder`; a group with nothing else is removed whole."""
    if entry.kind == "trace":
        return entry.keys if at(held, entry.keys) is not None else None
    for way in ours(at(held, holder)):
        if entry.kind == "member":
            if len(way) == 1 or way[:1] == entry.keys[-1:]:  # a server, or a member with our hooks
                return (*holder, way[0])
            continue
        whole: Way = (*holder, *way)
        grouped = len(whole) > 2 and whole[-2] == "hooks" and len(at(held, whole[:-1])) == 1
        return whole[:-2] if grouped else whole
    return None


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


def _difference(before: bytes, after: bytes) -> list[Any]:
    """Return the range of bytes in which `after` differs, and the bytes that were there before."""
    start = _alike(before, after)
    tail = _alike(before[start:][::-1], after[start:][::-1])
    old = before[start : len(before) - tail]
    return [start, len(after) - tail, base64.b64encode(old).decode()]


def _alike(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if one[:middle] == other[:middle] else (least, middle - 1)
    return least


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
    return hashlib.sha256(content).hexdigest()
