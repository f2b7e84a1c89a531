"""Edits JSON, with or without comments and trailing commas: adds or removes one value.

Every other character stays in place. Positions come from a copy of the text with blanked comments, so that
both have the same length.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Keys = Sequence[str | int]  # the path to a value: names in objects, numbers in lists

_STRING = r'"(?:[^"\\\n]|\\.)*+"?'  # an unclosed one ends with its line, so that it is read once
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/|(/\*.*)", re.DOTALL)
_LAST_COMMA = re.compile(rf"(({_STRING}|[^\s\"{{\[,:])\s*),(?=\s*[}}\]])|{_STRING}", re.DOTALL)
_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_SCALAR = re.compile(rf"{_STRING}|[^\s,\]}}]+", re.DOTALL)
_SPACE = re.compile(r"\s*")


class _Item(NamedTuple):
    """A member or an element: its name or number, its start, the start of its value, its end."""

    key: str | int
    start: int
    value: int
    end: int


def parse(text: str) -> Any:
    """Parse a text without comments. ValueError: it is not JSON, or an object has a name twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_with_comments(text: str) -> Any:
    """Parse a text that may have comments and trailing commas; {} if it has nothing else.

    Raises as `parse` does.
    """
    plain = _without_last_commas(_without_comments(text))
    return parse(plain) if plain.strip() else {}


def put(text: str, keys: Keys, value: Any) -> str:
    """Set the member at `keys`, creating missing objects on the way.

    Raises:
        ValueError: something on the way is not an object.
    """
    if not _without_comments(text).strip():
        text += "{}" if text.endswith("\n") or not text else "\n{}"
    plain = _without_last_commas(_without_comments(text))
    at = _space(plain, 0)
    for depth, key in enumerate(keys):
        items, close = _items(plain, at, keys[:depth])
        item = next((item for item in items if item.key == key), None)
        if item is None:
            for name in reversed(keys[depth + 1 :]):
                value = {name: value}
            return _inserted(text, at, items, close, f"{json.dumps(key)}: ", value)
        at = item.value
    inner = _dumped(value, text, _indent(text, at))
    return text[:at] + inner + text[_end(plain, at) :]


def append(text: str, keys: Keys, value: Any) -> str:
    """Add an element to the list at `keys`, which is created if missing; else as `put`."""
    held = parse_with_comments(text)
    for key in keys:
        if not isinstance(held, dict) or key not in held:
            return put(text, keys, [value])
        held = held[key]
    if not isinstance(held, list):
        raise ValueError(f"{_named(keys)} is not a list")
    at, items, close = _container(text, keys)
    return _inserted(text, at, items, close, "", value)


def delete(text: str, keys: Keys) -> str:
    """Remove the existing member or element at `keys`."""
    at, items, close = _container(text, keys[:-1])
    index = next(index for index, item in enumerate(items) if item.key == keys[-1])
    item, commas = items[index], _without_comments(text)
    comma = re.compile(r"\s*,").match(commas, item.end)
    end = comma.end() if comma else item.end
    before = len(text[: item.start].rstrip())
    line_ends = text[end:].partition("\n")[0].strip() == ""
    start = before if line_ends or "\n" not in text[before : item.start] else item.start
    if len(items) == 1 and before == at + 1 and not text[end:close].strip():
        return text[: at + 1] + text[close:]
    if comma or index == 0:
        return text[:start] + text[end:]
    spare = commas.index(",", items[index - 1].end)  # the comma after the item before, which becomes the last
    return text[:spare] + text[spare + 1 : start] + text[end:]


def _inserted(text: str, at: int, items: list[_Item], close: int, name: str, value: Any) -> str:
    """Return the text with another item at the end of the object or list that begins at `at`."""
    line = "\r\n" if "\r\n" in text else "\n"
    whole = text.strip()
    spread = "\n" in text[at:close] if items else "\n" in whole or whole in ("{}", "[]")
    last = len(text[:close].rstrip())  # after a comment, if one precedes the bracket
    outer = _indent(text, at)
    if not items:
        if not spread:
            return text[:last] + name + json.dumps(value) + text[last:]
        inner = outer + _step(text)
        return f"{text[:last]}{line}{inner}{name}{_dumped(value, text, inner)}{line}{outer}{text[close:]}"
    indent = _indent(text, items[-1].start)
    trailing = "," if "," in _without_comments(text)[items[-1].end : close] else ""
    front = text[: items[-1].end] + ("" if trailing else ",") + text[items[-1].end : last]
    between = f"{line}{indent}" if spread else " "
    shown = _dumped(value, text, indent) if spread else json.dumps(value)
    return f"{front}{between}{name}{shown}{trailing}{text[last:]}"


def _dumped(value: Any, text: str, indent: str) -> str:
    """Return a value as JSON in the style of the text; `indent` is that of the line it begins on."""
    if "\n" not in text.strip() and text.strip() != "{}":
        return json.dumps(value)
    line = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=_step(text)).replace("\n", line + indent)


def _step(text: str) -> str:
    """Return the indentation of the first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    """Return the white space at the beginning of the line that contains `at`."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))]


def _container(text: str, keys: Keys) -> tuple[int, list[_Item], int]:
    """Return the start of the object or list at `keys`, its items, and its end."""
    plain = _without_last_commas(_without_comments(text))
    at = _space(plain, 0)
    for depth, key in enumerate(keys):
        items, _ = _items(plain, at, keys[:depth])
        at = next(item.value for item in items if item.key == key)
    return at, *_items(plain, at, keys)


def _items(plain: str, at: int, keys: Keys) -> tuple[list[_Item], int]:
    """Return the items of the object or list that begins at `at`, and its end."""
    if plain[at] not in "{[":
        raise ValueError(f"{_named(keys)} is not an object")
    items: list[_Item] = []
    place = _space(plain, at + 1)
    while plain[place] not in "}]":
        start, key = place, len(items)
        if plain[at] == "{":
            colon = _end(plain, place)
            key = json.loads(plain[place:colon])
            place = _space(plain, _space(plain, colon) + 1)
        end = _end(plain, place)
        items.append(_Item(key, start, place, end))
        place = _space(plain, end)
        if plain[place] == ",":
            place = _space(plain, place + 1)
    return items, place


def _end(plain: str, at: int) -> int:
    """Return the end of the value that begins at `at` in a valid text."""
    if plain[at] not in "{[":
        scalar = _SCALAR.match(plain, at)
        assert scalar is not None, "the text is valid"
        return scalar.end()
    depth = 0
    for found in _BRACKET.finditer(plain, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    raise AssertionError("the text is valid")


def _space(plain: str, at: int) -> int:
    """Return the next position from `at` that is not white space."""
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: found[1] or found[2] or re.sub(r"[^\n]", " ", found[0]), text)


def _without_last_commas(text: str) -> str:
    return _LAST_COMMA.sub(lambda found: f"{found[1]} " if found[1] else found[0], text)


def _named(keys: Keys) -> str:
    return ".".join(map(str, keys)) or "the whole"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, refusing repeated names: it is unknown which value a host would use."""
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r} occurs twice in one object")
    return unique


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")
