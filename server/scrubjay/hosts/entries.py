"""Finds, adds and removes our entries in hosts' configuration files.

An edit adds or removes one value and leaves every other character in place. After each edit the text is
parsed again and compared with the expected value.
"""

import base64
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from scrubjay.errors import HomeError, InputError
from scrubjay.home import files, toml_text
from scrubjay.hosts import json_text, yaml_text
from scrubjay.hosts.installation import is_our_hook, is_our_server, server_command

KeyPath = tuple[str | int, ...]  # the path to a value: names in objects, numbers in lists
_BOM = b"\xef\xbb\xbf"
_DEEPEST = 200  # levels of a configuration; real ones have ten, and deeper ones exhaust Python's stack


class _Edit(Protocol):
    def __call__(self, text: str, keys: Any, value: Any, /) -> str: ...


class Format(NamedTuple):
    """How to parse and edit one kind of text; the functions raise ValueError for a text they cannot edit."""

    name: str
    parse: Callable[[str], Any]
    put: _Edit  # set a member
    append: _Edit  # add an element to a list
    delete: Callable[[str, Any], str]


def _no_lists(text: str, keys: Any, value: Any) -> str:
    raise ValueError("lists are not edited in files of this kind")


JSON = Format("JSON", json_text.parse, json_text.put, json_text.append, json_text.delete)
JSONC = JSON._replace(parse=json_text.parse_with_comments)  # with comments and trailing commas
TOML = Format("TOML", tomllib.loads, toml_text.put, _no_lists, toml_text.delete)
YAML = Format("YAML", yaml_text.parse, yaml_text.put, _no_lists, yaml_text.delete)


@dataclass(frozen=True)
class Entry:
    """One of our values in a host's file: the member at `keys`, or an element of the list at `keys`.

    A "frame" is a value that the file needs around ours, such as a version: it is set only if missing, and
    removed with our last entry if we added it. A "trace" is an entry that the host itself added about us: it
    is only removed. "unwanted" is a list that may have an element of ours from earlier settings.
    """

    file: str
    format: Format
    keys: tuple[str, ...]
    value: Any
    kind: Literal["member", "element", "frame", "trace", "unwanted"] = "member"


def ours(value: Any) -> Iterator[KeyPath]:
    """Yield the paths to our hooks and servers in a value, from last to first."""
    if is_our_hook(value) or is_our_server(value):
        yield ()
    elif isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in reversed(list(inner)):
            yield from ((key, *key_path) for key_path in ours(member))


def at(value: Any, key_path: Sequence[str | int]) -> Any:
    """Return the value at a path; None if it does not exist."""
    for key in key_path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def read(path: str) -> bytes | None:
    """Return the bytes of a file; None if it is missing. HomeError: it cannot be read."""
    try:
        return files.read_whole(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HomeError(f"{path} cannot be read: {reason}. It was not changed.") from error


def parsed(content: bytes | None, form: Format, path: str) -> dict[str, Any]:
    """Parse a file; a missing file is an empty object. InputError: it is invalid, or not an object."""
    if content is None:
        return {}
    advice = "Correct it or choose another file; it was not changed."
    try:
        config = form.parse(content.decode("utf-8-sig"))
        if _depth(config) > _DEEPEST:
            raise RecursionError
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{path} is not valid {form.name}: {reason}. {advice}") from None
    if not isinstance(config, dict):
        raise InputError(f"{path} holds a {type(config).__name__}, not an object. {advice}")
    return config


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while containers := [each for each in level if isinstance(each, dict | list)]:
        values = (each.values() if isinstance(each, dict) else each for each in containers)
        depth, level = depth + 1, [member for members in values for member in members]
    return depth


def is_present(config: Any, entry: Entry) -> bool:
    """Return True if a file contains an entry; any working entry of our server counts too."""
    value = at(config, entry.keys)
    if entry.kind in ("frame", "trace"):
        return value is not None or entry.kind == "trace"
    if entry.kind in ("element", "unwanted"):
        return list(_own_values(value)) == list(_own_values([entry.value]))
    servers = at(config, entry.keys[:-1])
    others = servers.values() if isinstance(servers, dict) else ()
    return bool(value == entry.value or any(map(_can_start, others)))


def _can_start(server: Any) -> bool:
    command = server_command(server) if is_our_server(server) else None
    return bool(command and shutil.which(os.path.expanduser(command[0])))


def _own_values(value: Any) -> Iterator[Any]:
    return (at(value, key_path) for key_path in ours(value))


class EditedText:
    """The text of a file during an edit: each step is verified, and can be undone."""

    def __init__(self, content: bytes | None, form: Format, path: str) -> None:
        self._path, self._form = path, form
        self._bom = _BOM if content and content.startswith(_BOM) else b""
        self.config = parsed(content, form, path)
        empty = "{}\n" if form.name == "JSON" else ""
        self._text = empty if content is None else content.decode("utf-8-sig")
        self.undo: list[list[Any]] = []  # for each step, the changed bytes and their position
        self.created: list[KeyPath] = []  # objects and lists that we created

    @property
    def content(self) -> bytes:
        """The bytes of the file with the edits so far."""
        return self._bom + self._text.encode()

    def put(self, entry: Entry) -> None:
        """Set the entry's member, or add its element."""
        path_length = len(entry.keys) + (entry.kind != "member")
        self.created += [
            entry.keys[:end] for end in range(1, path_length) if at(self.config, entry.keys[:end]) is None
        ]
        is_element = entry.kind == "element"
        edit = self._form.append if is_element else self._form.put
        expected = self._form.parse(self._text)
        *key_path, last = entry.keys
        parent = expected
        for key in key_path:
            parent = parent.setdefault(key, {}) if isinstance(parent, dict) else None
        if not isinstance(parent, dict) or (is_element and not isinstance(parent.get(last, []), list)):
            raise self._refusal(f"{'.'.join(entry.keys)} has another shape")
        if is_element:
            parent[last] = [*parent.get(last, []), entry.value]
        else:
            parent[last] = entry.value
        self._step(lambda text: edit(text, entry.keys, entry.value), expected)

    def remove(self, key_path: KeyPath) -> None:
        """Remove the value at a path."""
        expected = self._form.parse(self._text)
        del at(expected, key_path[:-1])[key_path[-1]]
        self._step(lambda text: self._form.delete(text, key_path), expected)

    def _step(self, edit: Callable[[str], str], expected: Any) -> None:
        before = self.content
        try:
            text = edit(self._text)
            self.config = self._form.parse(text)
        except ValueError as error:
            raise self._refusal(str(error)) from None
        if self.config != expected and not (
            self._form is TOML and _without_empty(self.config) == _without_empty(expected)
        ):
            raise self._refusal("the result would differ")
        self._text = text
        self.undo.append(_difference(before, self.content))

    def _refusal(self, reason: str) -> InputError:
        sentence = f"{self._path} cannot be edited without touching other entries: {reason}."
        return InputError(f"{sentence} Change it by hand; it was not changed.")


def _without_empty(value: Any) -> Any:
    """Return a value without empty inner tables: a TOML parent table may vanish with the last table in it."""
    if not isinstance(value, dict):
        return value
    members = {key: _without_empty(member) for key, member in value.items()}
    return {key: member for key, member in members.items() if member != {}}


def strip(
    text: EditedText, entries: Sequence[Entry], created: list[KeyPath] | None, *, own_lists_only: bool
) -> None:
    """Remove our values at these entries, then the empty containers that we `created` (None: unknown).

    With `own_lists_only`, list elements are removed only from the entries' own lists, otherwise also from the
    lists of other events.
    """
    for entry in entries:
        if entry.kind == "frame":
            continue
        is_element = entry.kind in ("element", "unwanted")
        parent_keys = entry.keys if is_element and own_lists_only else entry.keys[:-1]
        while (key_path := _next_own(text.config, entry, parent_keys)) is not None:
            text.remove(key_path)
            for end in range(len(key_path) - 1, 0, -1):
                may_remove = created is None or key_path[:end] in created or entry.kind == "trace"
                if at(text.config, key_path[:end]) not in ({}, []) or not may_remove:
                    break
                text.remove(key_path[:end])
    for entry in entries:
        if entry.kind == "frame" and entry.keys in (created or ()):
            top_keys = [other.keys[:1] for other in entries if other.kind != "frame"]
            is_needed = any(
                keys in (created or ()) and at(text.config, keys) is not None for keys in top_keys
            )
            if not is_needed and at(text.config, entry.keys) == entry.value:
                text.remove(entry.keys)


def _next_own(config: Any, entry: Entry, parent_keys: Sequence[str]) -> KeyPath | None:
    """Return the path to our last value below `parent_keys`, or to its group if that has no other hook."""
    if entry.kind == "trace":
        return entry.keys if at(config, entry.keys) is not None else None
    for key_path in ours(at(config, parent_keys)):
        if entry.kind == "member":
            if len(key_path) == 1 or key_path[:1] == entry.keys[-1:]:  # a server, or a member with our hooks
                return (*parent_keys, key_path[0])
            continue
        full_path: KeyPath = (*parent_keys, *key_path)
        is_only_hook = (
            len(full_path) > 2 and full_path[-2] == "hooks" and len(at(config, full_path[:-1])) == 1
        )
        return full_path[:-2] if is_only_hook else full_path
    return None


def _difference(before: bytes, after: bytes) -> list[Any]:
    """Return the range of bytes in `after` that differs, and the bytes that `before` had there."""
    start = _common_prefix_length(before, after)
    tail = _common_prefix_length(before[start:][::-1], after[start:][::-1])
    old = before[start : len(before) - tail]
    return [start, len(after) - tail, base64.b64encode(old).decode()]


def _common_prefix_length(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix, by binary search."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
