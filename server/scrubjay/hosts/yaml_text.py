"""Edits YAML: adds or removes one entry, and leaves every other character in place.

The library reports the positions; the text between them is never rewritten.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple


class _Span(NamedTuple):
    """The position of a value, without the comments after it."""

    start: int
    end: int
    flow: bool  # True for a value in brackets, or a scalar
    members: "dict[str, tuple[int, _Span]]"  # of a mapping: each name's start and value


def parse(text: str) -> Any:
    """Parse a text; return {} if it is empty. ValueError: it is not YAML."""
    from ruamel.yaml import YAML  # takes 60 ms, and only one host uses YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None
    return {} if value is None else value


def put(text: str, keys: Sequence[str], value: Any) -> str:
    """Set the member at `keys`, creating missing mappings on the way.

    Raises:
        ValueError: something on the way is not a mapping.
    """
    span = _span(text)
    if span is None:
        return _end_with_newline(text) + _block(keys, value, text, 0)
    for depth, key in enumerate(keys):
        if key not in span.members:
            return _insert(text, span, keys[depth:], value)
        _, span = span.members[key]
    return f"{text[: span.start].rstrip()} {json.dumps(value)}{text[span.end :]}"


def delete(text: str, keys: Sequence[str]) -> str:
    """Remove the existing member at `keys`."""
    span = _span(text)
    assert span is not None, "the member exists"
    for key in keys[:-1]:
        _, span = span.members[key]
    name_start, value = span.members[keys[-1]]
    if not span.flow:
        start, stop = text.rfind("\n", 0, name_start) + 1, _line_end(text, value.end)
        if len(span.members) == 1 and len(keys) > 1:
            colon_end = text.rfind(":", 0, start) + 1  # after the name of the mapping, which becomes empty
            return f"{text[:colon_end]} {{}}{text[colon_end:start]}{text[stop:]}"
        return text[:start] + text[stop:]
    names = list(span.members)
    index = names.index(keys[-1])
    if index + 1 < len(names):
        return text[:name_start] + text[span.members[names[index + 1]][0] :]
    start = span.members[names[index - 1]][1].end if index else name_start
    return text[:start] + text[value.end :]


def _insert(text: str, span: _Span, keys: Sequence[str], value: Any) -> str:
    """Return the text with another member in the mapping at `span`."""
    if span.members and not span.flow:
        first_name = min(begin for begin, _ in span.members.values())
        line_start = text.rfind("\n", 0, first_name) + 1
        # a last line without a line end could be a block scalar, which would include an entry after it
        end = _line_end(text, span.end)
        position = line_start if end == len(text) and not text.endswith("\n") else end
        return text[:position] + _block(keys, value, text, first_name - line_start) + text[position:]
    for name in reversed(keys[1:]):
        value = {name: value}
    member = f"{json.dumps(keys[0])}: {json.dumps(value)}"
    if span.members:
        last_end = max(child.end for _, child in span.members.values())
        return f"{text[:last_end]}, {member}{text[last_end:]}"
    if text[span.start : span.start + 1] == "{":
        return f"{text[: span.start]}{{{member}}}{text[span.end :]}"
    if text[span.start : span.end] not in ("", "~", "null"):
        raise ValueError(f"what should hold {keys[0]} is not a mapping")
    return f"{text[: span.start].rstrip(' ')} {{{member}}}{text[span.end :]}"


def _block(keys: Sequence[str], value: dict[str, Any], text: str, column: int) -> str:
    """Return lines with nested names, and below them the members of a mapping, whose values are JSON."""
    newline = "\r\n" if "\r\n" in text else "\n"
    indented = re.search(r"\n( +)\S", text)
    indent = indented[1] if indented else "  "
    rows = [f"{indent * depth}{name}:" for depth, name in enumerate(keys)]
    rows += [f"{indent * len(keys)}{name}: {json.dumps(each)}" for name, each in value.items()]
    return "".join(f"{' ' * column}{row}{newline}" for row in rows)


def _span(text: str) -> _Span | None:
    """Parse a text with one document, and return the position of its value; None if it is empty."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        events = list(YAML(typ="safe", pure=True).parse(text))
    except (YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from None
    kinds = [type(event).__name__ for event in events]
    if kinds.count("DocumentStartEvent") > 1:
        raise ValueError("it holds several documents")
    nodes = [event for event, kind in zip(events, kinds, strict=True) if kind in _NODES]
    if not nodes or (kinds.count("ScalarEvent") == len(nodes) and not nodes[0].value):
        return None
    return _read(nodes, 0)[0]


_NODES = (
    "ScalarEvent AliasEvent MappingStartEvent MappingEndEvent SequenceStartEvent SequenceEndEvent".split()
)


def _read(events: list[Any], at: int) -> tuple[_Span, int]:
    """Return the position of the value that begins with event `at`, and the index of the next event."""
    first = events[at]
    kind = type(first).__name__
    start, end, at = first.start_mark.index, first.end_mark.index, at + 1
    if kind in ("ScalarEvent", "AliasEvent"):
        return _Span(start, end, True, {}), at
    members: dict[str, tuple[int, _Span]] = {}
    while not type(events[at]).__name__.endswith("EndEvent"):
        name_event = events[at]
        if kind == "MappingStartEvent":
            _, at = _read(events, at)
        child, at = _read(events, at)
        end = max(end, child.end)
        if kind == "MappingStartEvent" and type(name_event).__name__ == "ScalarEvent":
            members[name_event.value] = (name_event.start_mark.index, child)
    if first.flow_style:
        end = events[at].end_mark.index
    return _Span(start, end, bool(first.flow_style), members), at + 1


def _end_with_newline(text: str) -> str:
    """Return the text with a line end after its last line."""
    return text if not text or text.endswith("\n") else text + ("\r\n" if "\r\n" in text else "\n")


def _line_end(text: str, at: int) -> int:
    """Return the position at which the next line starts; if a line starts at `at`, return `at`."""
    if text[:at].endswith("\n"):
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
