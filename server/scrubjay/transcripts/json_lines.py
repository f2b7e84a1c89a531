"""Reads a line of JSON that may be damaged, cut off or hostile, in time linear in its length."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any


_LONG = 60_000  # bytes: of longer lines a reader of files may give the beginning alone
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*("?)|[\[{}\]]', re.DOTALL)  # strings and brackets of JSON


def parsed(line: str | bytes) -> Any:
    """Parse a line of JSON, in which a byte may not be of UTF-8; None for anything else.

    Of a line that was too long to be read, which ends in a picture or in what a tool gave, the beginning is
    parsed as if it ended there.
    """
    try:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        return json.loads(text, parse_int=float)  # parsing a huge integer is quadratic
    except RecursionError:
        return None
    except ValueError:
        is_beginning = len(line) > _LONG and text.endswith("\n")  # what is being written now ends otherwise
        return _mended(text.rstrip("\n")) if is_beginning else None


def _mended(text: str) -> Any:
    """Parse the beginning of a JSON text, with what is open in it closed."""
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
