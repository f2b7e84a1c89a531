"""Our entries in hosts' configuration files: finds, adds and removes them in the text of a file.

An edit adds or removes one value and leaves every other character in place; afterwards the text is parsed
again and compared with the expected value.
"""

import base64
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from scrubjay.errors import HomeError, InputError
from scrubjay.home import files
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


class EditedText:
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
        """The bytes of the file with the edits so far."""
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


def strip(text: EditedText, entries: Sequence[Entry], made: list[Way] | None, *, here_alone: bool) -> None:
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
