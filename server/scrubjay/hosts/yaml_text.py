"""Edits YAML: adds or removes one entry of a mapping at the top, and leaves every other character in place.

The caller compares the result with the expected value, so that an unusual text is refused.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any


def parse(text: str) -> Any:
    """Parse a text; return {} if it is empty. ValueError: it is not YAML."""
    from ruamel.yaml import YAML  # takes 60 ms, and only one host uses YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None
    return {} if value is None else value


def put(text: str, keys: Sequence[str], value: Mapping[str, Any]) -> str:
    """Add the mapping `value` at two `keys`: at the beginning of the outer mapping, which may be missing."""
    outer, name = keys
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    if not parse(text):
        lines = [line for line in lines if line.strip() != "{}"]  # as Goose writes an empty file
    place = _lines_of(lines, (outer,))
    if lines and not lines[-1].endswith("\n") and (place is None or place.start == len(lines) - 1):
        lines[-1] += newline
    if place is None:
        place = range(len(lines), len(lines) + 1)
        lines.append(f"{outer}:{newline}")
    first = lines[place.start]
    if "{" in first.partition(" #")[0]:
        rest = first[first.index("{") + 1 :]
        comma = "" if rest.lstrip().startswith("}") else ", "
        lines[place.start] = f"{first[: -len(rest)]}{json.dumps(name)}: {json.dumps(value)}{comma}{rest}"
        return "".join(lines)
    indents = (_indent(line) for line in lines[place.start + 1 : place.stop] if _has_content(line))
    indent = " " * next(indents, 2)
    members = [f"{indent * 2}{key}: {json.dumps(member)}{newline}" for key, member in value.items()]
    lines[place.start + 1 : place.start + 1] = [f"{indent}{name}:{newline}", *members]
    return "".join(lines)


def delete(text: str, keys: Sequence[str]) -> str:
    """Remove the existing member at `keys`; the mapping around it stays, if only as `{}`."""
    lines = text.splitlines(keepends=True)
    outer, place = _lines_of(lines, keys[:1]), _lines_of(lines, keys)
    if outer is None:
        raise ValueError(f"{keys[0]} is not at the beginning of a line")
    if place is None:
        own = rf"(?<=[{{ ])(?P<quote>['\"]?){re.escape(keys[-1])}(?P=quote): "
        value = r"\{(?:[^{}]|\{[^{}]*\})*\}"
        member = re.compile(rf"(?P<comma>, )?{own}{value}(?(comma)|(?:, )?)")
        return member.sub("", text, count=1)
    kept = [*lines[: place.start], *lines[place.stop :]]
    if len(keys) > 1 and not any(map(_has_content, kept[outer.start + 1 : outer.stop - len(place)])):
        first = lines[outer.start]
        kept[outer.start] = f"{keys[0]}: {{}}{first[len(first.rstrip()) :]}"
    return "".join(kept)


def _lines_of(lines: Sequence[str], keys: Sequence[str]) -> range | None:
    """Return the line numbers of a member of nested mappings in block style; None if it is missing."""
    start, stop, depth = -1, len(lines), -1
    for key in keys:
        inside = [number for number in range(start + 1, stop) if _has_content(lines[number])]
        depth = next((_indent(lines[number]) for number in inside), 0)
        name = re.compile(rf" {{{depth}}}(['\"]?){re.escape(key)}\1 *:(?=\s)")
        begin = next((number for number in inside if name.match(lines[number])), None)
        if begin is None:
            return None
        start = begin
        stop = next((each for each in inside if each > start and _indent(lines[each]) <= depth), stop)
        while stop > start + 1 and not _has_content(lines[stop - 1]):
            stop -= 1  # comments and empty lines after it stay
    return range(start, stop)


def _has_content(line: str) -> bool:
    return not line.lstrip().startswith(("#", "---")) and bool(line.strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
