"""Edits JSON, with or without comments and trailing commas: adds or removes one value.

Every other character stays in place. Positions come from a copy of the text in which comments are replaced
with spaces, so both have the same length.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Keys = Sequence[str | int]  # the path to a value: names in objects, numbers in lists

_STRING = r'"(?:[^"\\\n]|\\.)*+"?'  # an unclosed string ends with its line, so no character is read twice
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/|(/\*.*)", re.DOTALL)
_LAST_COMMA = re.compile(rf"(({_STRING}|[^\s\"{{\[,:])\s*),(?=\s*[}}\]])|{_STRING}", re.DOTALL)
_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_SCALAR = re.compile(rf"{_STRING}|[^\s,\]}}]+", re.DOTALL)
_SPACE = re.compile(r"\s*")


class _Item(NamedTuple):
    """A member of an object or an element of a list; `end` is the position after its value."""

    key: str | int
    start: int
    value_start: int
    end: int


def parse(text: str) -> Any:
    """Parse a text without comments; return {} if it is empty, as some hosts create their files.

    Raises ValueError if the text is not JSON, or an object has a name twice.
    """
    if not text.strip():
        return {}
    return json.loads(text, object_pairs_hook=_unique_members, parse_constant=_refuse_constant)


def parse_with_comments(text: str) -> Any:
    """Parse a text that may have comments and trailing commas; return {} if it has no value.

    Raises as `parse` does.
    """
    return parse(_without_last_commas(_without_comments(text)))


def put(text: str, keys: Keys, value: Any) -> str:
    """Set the member at `keys`, creating missing objects on the way.

    Raises ValueError if something on the way is not an object.
    """
    if not _without_comments(text).strip():
        text += "{}" if text.endswith("\n") or not text else "\n{}"
    plain = _without_last_commas(_without_comments(text))
    at = _skip_space(plain, 0)
    for depth, key in enumerate(keys):
        items, close = _items(plain, at, keys[:depth])
        item = next((item for item in items if item.key == key), None)
        if item is None:
            for name in reversed(keys[depth + 1 :]):
                value = {name: value}
            return _insert(text, at, items, close, f"{json.dumps(key)}: ", value)
        at = item.value_start
    dumped = _dumped(value, text, _indent(text, at))
    return text[:at] + dumped + text[_end(plain, at) :]


def append(text: str, keys: Keys, value: Any) -> str:
    """Add an element to the list at `keys`, which is created if missing. Raises as `put` does."""
    container = parse_with_comments(text)
    for key in keys:
        if not isinstance(container, dict) or key not in container:
            return put(text, keys, [value])
        container = container[key]
    if not isinstance(container, list):
        raise ValueError(f"{_dotted(keys)} is not a list")
    at, items, close = _container(text, keys)
    return _insert(text, at, items, close, "", value)


def delete(text: str, keys: Keys) -> str:
    """Remove the existing member or element at `keys`."""
    at, items, close = _container(text, keys[:-1])
    index = next(index for index, item in enumerate(items) if item.key == keys[-1])
    item, plain = items[index], _without_comments(text)
    comma = re.compile(r"\s*,").match(plain, item.end)
    end = comma.end() if comma else item.end
    previous_end = len(text[: item.start].rstrip())
    is_last_in_line = text[end:].partition("\n")[0].strip() == ""
    is_first_in_line = "\n" in text[previous_end : item.start]
    start = previous_end if is_last_in_line or not is_first_in_line else item.start
    if len(items) == 1 and previous_end == at + 1 and not text[end:close].strip():
        return text[: at + 1] + text[close:]
    if comma or index == 0:
        return text[:start] + text[end:]
    comma_before = plain.index(",", items[index - 1].end)  # the previous item becomes the last one
    return text[:comma_before] + text[comma_before + 1 : start] + text[end:]


def _insert(text: str, at: int, items: list[_Item], close: int, name: str, value: Any) -> str:
    """Return the text with another item at the end of the object or list that begins at `at`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    stripped = text.strip()
    is_multiline = "\n" in text[at:close] if items else "\n" in stripped or stripped in ("{}", "[]")
    content_end = len(text[:close].rstrip())  # includes a comment before the bracket
    outer_indent = _indent(text, at)
    if not items:
        if not is_multiline:
            return text[:content_end] + name + json.dumps(value) + text[content_end:]
        inner_indent = outer_indent + _step(text)
        item = f"{inner_indent}{name}{_dumped(value, text, inner_indent)}"
        return f"{text[:content_end]}{newline}{item}{newline}{outer_indent}{text[close:]}"
    indent = _indent(text, items[-1].start)
    trailing_comma = "," if "," in _without_comments(text)[items[-1].end : close] else ""
    front = text[: items[-1].end] + ("" if trailing_comma else ",") + text[items[-1].end : content_end]
    between = f"{newline}{indent}" if is_multiline else " "
    dumped = _dumped(value, text, indent) if is_multiline else json.dumps(value)
    return f"{front}{between}{name}{dumped}{trailing_comma}{text[content_end:]}"


def _dumped(value: Any, text: str, indent: str) -> str:
    """Return a value as JSON in the style of the text; `indent` is the indentation of its first line."""
    if "\n" not in text.strip() and text.strip() != "{}":
        return json.dumps(value)
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=_step(text)).replace("\n", newline + indent)


def _step(text: str) -> str:
    """Return the indentation of the first indented line."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _indent(text: str, at: int) -> str:
    """Return the white space at the beginning of the line that contains `at`."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))]


def _container(text: str, keys: Keys) -> tuple[int, list[_Item], int]:
    """Return the start of the object or list at `keys`, its items, and its end."""
    plain = _without_last_commas(_without_comments(text))
    at = _skip_space(plain, 0)
    for depth, key in enumerate(keys):
        items, _ = _items(plain, at, keys[:depth])
        at = next(item.value_start for item in items if item.key == key)
    return at, *_items(plain, at, keys)


def _items(plain: str, at: int, keys: Keys) -> tuple[list[_Item], int]:
    """Return the items of the object or list that begins at `at`, and its end."""
    if plain[at] not in "{[":
        raise ValueError(f"{_dotted(keys)} is not an object")
    items: list[_Item] = []
    position = _skip_space(plain, at + 1)
    while plain[position] not in "}]":
        start, key = position, len(items)
        if plain[at] == "{":
            colon = _end(plain, position)
            key = json.loads(plain[position:colon])
            position = _skip_space(plain, _skip_space(plain, colon) + 1)
        end = _end(plain, position)
        items.append(_Item(key, start, position, end))
        position = _skip_space(plain, end)
        if plain[position] == ",":
            position = _skip_space(plain, position + 1)
    return items, position


def _end(plain: str, at: int) -> int:
    """Return the end of the value that begins at `at` in a valid text."""
    if plain[at] not in "{[":
        scalar = _SCALAR.match(plain, at)
        assert scalar is not None, "the text is valid"
        return scalar.end()
    depth = 0
    for bracket in _BRACKET.finditer(plain, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(bracket[0], 0)
        if depth == 0:
            return bracket.end()
    raise AssertionError("the text is valid")


def _skip_space(plain: str, at: int) -> int:
    """Return the position of the next character from `at` that is not white space."""
    match = _SPACE.match(plain, at)
    return match.end() if match else at


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: match[1] or match[2] or re.sub(r"[^\n]", " ", match[0]), text)


def _without_last_commas(text: str) -> str:
    return _LAST_COMMA.sub(lambda match: f"{match[1]} " if match[1] else match[0], text)


def _dotted(keys: Keys) -> str:
    return ".".join(map(str, keys)) or "the whole"


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, and refuse repeated names: it is unknown which value a host would use."""
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r} occurs twice in one object")
    return unique


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")
