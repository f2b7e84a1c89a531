"""Edits YAML: adds or removes one entry, and leaves every other character in place.

The library reports the positions; the text between them is never rewritten.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple


class _Span(NamedTuple):
    """The position of a value: from its first character to after its last, without comments after it."""

    start: int
    end: int
    flow: bool  # True in brackets, or for a scalar
    members: "dict[str, tuple[int, _Span]]"  # in a mapping: the start of each name, and its value


def parse(text: str) -> Any:
    """Parse a text; {} if it is empty. ValueError: it is not YAML."""
    from ruamel.yaml import YAML  # takes 60 ms, for the only host that uses it
    from ruamel.yaml.error import YAMLError

    try:
        held = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None
    return {} if held is None else held


def put(text: str, keys: Sequence[str], value: Any) -> str:
    """Set the member at `keys`, creating missing mappings on the way.

    Raises:
        ValueError: something on the way is not a mapping.
    """
    span = _span(text)
    if span is None:
        return _ended(text) + _block(keys, value, text, 0)
    for depth, key in enumerate(keys):
        if key not in span.members:
            return _inserted(text, span, keys[depth:], value)
        _, span = span.members[key]
    return f"{text[: span.start].rstrip()} {json.dumps(value)}{text[span.end :]}"


def delete(text: str, keys: Sequence[str]) -> str:
    """Remove the existing member at `keys`."""
    span = _span(text)
    assert span is not None, "it is there"
    for key in keys[:-1]:
        _, span = span.members[key]
    begin, value = span.members[keys[-1]]
    if not span.flow:
        start, stop = text.rfind("\n", 0, begin) + 1, _line_end(text, value.end)
        if len(span.members) == 1 and len(keys) > 1:
            colon = text.rfind(":", 0, start) + 1  # after the name that held it
            return f"{text[:colon]} {{}}{text[colon:start]}{text[stop:]}"
        return text[:start] + text[stop:]
    names = list(span.members)
    at = names.index(keys[-1])
    if at + 1 < len(names):
        return text[:begin] + text[span.members[names[at + 1]][0] :]
    start = span.members[names[at - 1]][1].end if at else begin
    return text[:start] + text[value.end :]


def _inserted(text: str, span: _Span, keys: Sequence[str], value: Any) -> str:
    """Return the text with another member in the mapping at `span`."""
    if span.members and not span.flow:
        first = min(begin for begin, _ in span.members.values())
        line = text.rfind("\n", 0, first) + 1
        # nothing may follow a last line without an end, which could be a text that would then include it
        end = _line_end(text, span.end)
        place = line if end == len(text) and not text.endswith("\n") else end
        return text[:place] + _block(keys, value, text, first - line) + text[place:]
    for name in reversed(keys[1:]):
        value = {name: value}
    shown = f"{json.dumps(keys[0])}: {json.dumps(value)}"
    if span.members:
        last = max(member.end for _, member in span.members.values())
        return f"{text[:last]}, {shown}{text[last:]}"
    if text[span.start : span.start + 1] == "{":
        return f"{text[: span.start]}{{{shown}}}{text[span.end :]}"
    if text[span.start : span.end] not in ("", "~", "null"):
        raise ValueError(f"what should hold {keys[0]} is not a mapping")
    return f"{text[: span.start].rstrip(' ')} {{{shown}}}{text[span.end :]}"


def _block(keys: Sequence[str], value: dict[str, Any], text: str, column: int) -> str:
    """Return nested names with a mapping, each on its own line; the mapping's content as JSON."""
    line = "\r\n" if "\r\n" in text else "\n"
    step = re.search(r"\n( +)\S", text)
    indent = step[1] if step else "  "
    rows = [f"{indent * depth}{name}:" for depth, name in enumerate(keys)]
    rows += [f"{indent * len(keys)}{name}: {json.dumps(each)}" for name, each in value.items()]
    return "".join(f"{' ' * column}{row}{line}" for row in rows)


def _span(text: str) -> _Span | None:
    """Return the positions in a text of one document; None if it is empty."""
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
    """Return the value that begins with event `at`, and the number of the event after it."""
    first = events[at]
    kind = type(first).__name__
    start, end, at = first.start_mark.index, first.end_mark.index, at + 1
    if kind in ("ScalarEvent", "AliasEvent"):
        return _Span(start, end, True, {}), at
    members: dict[str, tuple[int, _Span]] = {}
    while not type(events[at]).__name__.endswith("EndEvent"):
        name = events[at]
        if kind == "MappingStartEvent":
            _, at = _read(events, at)
        child, at = _read(events, at)
        end = max(end, child.end)
        if kind == "MappingStartEvent" and type(name).__name__ == "ScalarEvent":
            members[name.value] = (name.start_mark.index, child)
    if first.flow_style:
        end = events[at].end_mark.index
    return _Span(start, end, bool(first.flow_style), members), at + 1


def _ended(text: str) -> str:
    """Return a text whose last line is ended."""
    return text if not text or text.endswith("\n") else text + ("\r\n" if "\r\n" in text else "\n")


def _line_end(text: str, at: int) -> int:
    """Return the position after the line that contains `at`; `at` itself at the start of a line."""
    if text[:at].endswith("\n"):
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
