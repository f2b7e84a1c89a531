"""Reads a line of JSON that may be damaged, cut off or hostile, in time linear in its length.

What others wrote may have values of any type: `mapping`, `dicts` and `string` make an empty value of others.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]


_LONG = 60_000  # bytes: of a longer line, a reader of files may return only the beginning
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*("?)|[\[{}\]]', re.DOTALL)  # strings and brackets of JSON


def mapping(value: Any) -> Fields:
    """Return an object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def dicts(value: Any) -> list[Fields]:
    """Return the objects in a list; none for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def parsed(line: str | bytes) -> Any:
    """Parse a line of JSON, which may contain bytes that are not UTF-8; return None for anything else.

    A line that was too long to be read, because of a picture or a tool's output, is parsed as if it ended
    where it was cut.
    """
    try:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        return json.loads(text, parse_int=float)  # parsing a huge integer is quadratic
    except RecursionError:
        return None
    except ValueError:
        is_beginning = len(line) > _LONG and text.endswith("\n")  # a line still being written has no newline
        return _mended(text.rstrip("\n")) if is_beginning else None


def _mended(text: str) -> Any:
    """Parse the beginning of a JSON text after closing its open strings, lists and objects."""
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
