"""Reads a line of JSON that may be damaged, cut off or hostile, in time linear in its length.

Values from others may have any type: `mapping`, `dicts` and `string` return an empty value for a wrong one.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import islice

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]

_LONG = 60_000  # bytes; readers of files may return only the beginning of a longer line
_TRIES = 9  # places of a line at which an object may begin, the first included
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*("?)|[\[{}\]]', re.DOTALL)  # strings and brackets of JSON


def mapping(value: Any) -> Fields:
    """Return a JSON object; for any other value, return an empty one."""
    return value if isinstance(value, dict) else {}


def dicts(value: Any) -> list[Fields]:
    """Return the objects in a list; for any other value, return an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return a text; for any other value, return ""."""
    return value if isinstance(value, str) else ""


def parsed(line: str | bytes) -> Any:
    """Parse a line of JSON, in which some bytes may not be UTF-8; return None for anything else.

    A line that was cut because a picture or a tool's output made it too long is parsed as if it ended there.
    """
    try:
        text = line.decode("utf-8-sig", "replace") if isinstance(line, bytes) else line
        return json.loads(text, parse_int=float)  # parsing a huge integer is quadratic
    except RecursionError:
        return None
    except ValueError:
        if not text.endswith("\n"):
            return None  # a line still being written has no newline
        return _parse_cut(text.rstrip("\n")) if len(line) > _LONG else _parse_last(text)


def _parse_last(text: str) -> Any:
    """Parse the object at the end of a line whose beginning is another that a crash cut off, or None.

    A host writes its keys in the same order, so both objects begin with the same key.
    """
    begin = re.match(r'\{"\w{1,40}":', text)
    for start in islice(re.finditer(re.escape(begin[0]), text), 1, _TRIES) if begin else ():
        with suppress(ValueError, RecursionError):
            return json.loads(text[start.start() :], parse_int=float)
    return None


def _parse_cut(text: str) -> Any:
    """Parse a JSON text that was cut, after closing its open strings, lists and objects."""
    quote, closing = "", []
    for mark in _MARKS.finditer(text):
        if mark[0] in ("[", "{"):
            closing.append("]" if mark[0] == "[" else "}")
        elif mark[0] in ("]", "}"):
            del closing[-1:]
        elif not mark[1]:
            quote = '"'
    try:
        return json.loads(text + quote + "".join(reversed(closing)), parse_int=float)
    except (ValueError, RecursionError):
        return None
