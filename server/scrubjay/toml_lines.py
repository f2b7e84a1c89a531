"""Changing one value of a TOML text that a person wrote, so that their comments and other lines stay as they are.

Knows top-level keys, and values that JSON spells like TOML; does not know which keys there should be. Standard library only.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any


def with_value(text: str, key: str, value: object) -> str:
    """The valid TOML `text` with this top-level key set, or removed when the value is None; a comment behind it stays.

    `value` is a string, number, boolean, or a list or tuple of strings.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    written = "" if value is None else f"{key} = {_spelled(value)}"
    statements = _statements(text)
    for at, statement in enumerate(statements):
        if key in _parsed(statement):
            comment = _comment(statement)
            statements[at] = f"{written}{'  ' if comment else ''}{comment}{line_end}" if written else ""
            return "".join(statements)
    if not written:
        return text
    return f"{text}{line_end if text and not text.endswith(line_end) else ''}{written}{line_end}"


def _statements(text: str) -> list[str]:
    """The lines of the text, where a value over several lines is one; joined they are the text."""
    statements, pending = [], ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        pending += line
        if _parsed(pending) is not None:
            statements.append(pending)
            pending = ""
    return statements


def _parsed(statement: str) -> Any:
    try:
        return tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return None


def _comment(statement: str) -> str:
    """The comment behind the value: from the first # before which the value is already whole."""
    for at, char in enumerate(statement):
        if char == "#" and _parsed(statement[:at]) == _parsed(statement):
            return statement[at:].rstrip()
    return ""


def _spelled(value: object) -> str:
    """A value as TOML: JSON's spelling, but for DEL, which TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
